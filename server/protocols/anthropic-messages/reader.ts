/** Reads Anthropic message streams and whole messages into events. */

import type { ChatEvent, Citation, DeliveredPart, FinishReason, Media, UnifiedFinish } from '../canonical.ts';
import type { FrameKind, StreamReader } from '../codec.ts';
import { anthropicDiagnostics } from '../shared/cache-diagnosis.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { guardedLookup, number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { deliveredPart } from '../shared/media.ts';
import { StatedUsage } from '../shared/merge-usage.ts';
import { omitted } from '../shared/omitted.ts';
import type { SseFrame } from '../shared/sse.ts';
import { readCitations } from './citations.ts';
import { decodeError } from './errors.ts';
import { hasAnthropicTotals, readAnthropicUsage } from './usage.ts';

export const finishReasons: Readonly<Record<string, UnifiedFinish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'refusal',
  // The turn is not over: other dialects have no nearer word. Source: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
  pause_turn: 'length',
  compaction: 'other',
};

const finishReason = (raw: string): FinishReason => ({ unified: guardedLookup(finishReasons, raw) ?? 'other', raw });

/** Usage comes with message_start and message_delta; ends and errors name themselves. Pings and unknown events say nothing. */
export const markers = new Markers([{ word: 'message_' }, { word: '"error"' }, { word: '"usage"' }]);

interface Block {
  readonly kind: 'text' | 'reasoning' | 'tool-call' | 'other';
  /** The block as it began. */
  readonly raw: Record<string, unknown>;
  citations: Citation[];
  signature: string | null;
  /** JSON text of a tool's input. A call's chunks are emitted as they come; this is what its start brought, used if none follow. */
  input: string;
  isSent: boolean;
}

const kinds: Readonly<Record<string, Block['kind']>> = {
  text: 'text',
  thinking: 'reasoning',
  tool_use: 'tool-call',
};

/** Reads events, and whole messages by the same rules. */
class AnthropicReader implements StreamReader {
  frameKind: FrameKind = 'plain';
  progress: 'going' | 'paused' | 'stopped' = 'going';

  private readonly blocks = new Map<number, Block>();
  private readonly stated = new StatedUsage();
  private reason: FinishReason | null = null;
  private refusal: string | null = null;
  private container: unknown = null;
  private started = false;
  private ended = false;

  feed({ event: name, data }: SseFrame): ChatEvent[] {
    this.frameKind = name === 'message_stop' ? 'terminal' : 'plain';
    if (data === '') return [];
    // The small steps of a block are texts.
    const parsed = data.includes('_delta"') ? parseJson(data) : parseExact(data);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return [];
    const event = parsed as Record<string, unknown>;
    if (event.type === 'message_stop') this.frameKind = 'terminal';
    const events: ChatEvent[] = [];
    this.take(event, events);
    return events;
  }

  end(): ChatEvent[] {
    const events: ChatEvent[] = [];
    this.finish(false, events);
    return events;
  }

  held(): readonly ChatEvent[] {
    const events: ChatEvent[] = [];
    for (const [index, block] of this.blocks)
      if (block.kind === 'tool-call' && !block.isSent)
        events.push({ type: 'tool-call-delta', index, arguments: block.input });
      else if (block.kind === 'other' && block.raw.type !== 'redacted_thinking') events.push(eventOf(block));
    return events;
  }

  answer(): unknown {
    return this.container === null ? null : { container: this.container };
  }

  take(event: Record<string, unknown>, events: ChatEvent[]): void {
    if (this.ended) {
      if (event.usage !== undefined) this.state(event.usage, true, events);
      return;
    }
    const { index: at } = event;
    const index = Number.isSafeInteger(at) ? (at as number) : (number(at) ?? 0);
    switch (event.type) {
      case 'message_start':
        // Proxies double it; of the second one its usage counts.
        if (this.started) this.state(record(event.message)?.usage, false, events);
        else this.start(record(event.message) ?? {}, events);
        return;
      case 'content_block_start':
        this.startBlock(index, record(event.content_block) ?? {}, events);
        return;
      case 'content_block_delta': {
        const { delta } = event;
        const block = this.blocks.get(index);
        if (block !== undefined && typeof delta === 'object' && delta !== null)
          this.changeBlock(index, block, delta as Record<string, unknown>, events);
        return;
      }
      case 'content_block_stop':
        this.stopBlock(index, events);
        if (this.reason === null) this.progress = this.blocks.size === 0 ? 'paused' : 'going';
        return;
      case 'message_delta':
        this.changeMessage(event, events);
        return;
      case 'message_stop':
        this.finish(true, events);
        return;
      case 'error':
        this.ended = true;
        this.progress = 'stopped';
        this.stopBlocks(events);
        events.push({ type: 'error', error: { ...decodeError(0, JSON.stringify(event)), status: null } });
        return;
    }
  }

  private start(message: Record<string, unknown>, events: ChatEvent[]): void {
    this.started = true;
    this.container = message.container;
    const diagnosis = message.diagnostics == null ? null : anthropicDiagnostics.read(message.diagnostics);
    events.push({
      type: 'response-start',
      id: text(message.id),
      model: text(message.model),
      created: null,
      ...(diagnosis === null ? {} : { diagnosis }),
    });
    this.state(message.usage, false, events);
  }

  private changeMessage(event: Record<string, unknown>, events: ChatEvent[]): void {
    const change = record(event.delta);
    this.container = change?.container ?? this.container;
    const reason = text(change?.stop_reason);
    this.refusal ??= text(record(change?.stop_details)?.explanation);
    if (reason !== null) {
      this.reason ??= finishReason(reason);
      this.progress = 'stopped';
    }
    this.state(event.usage, this.reason !== null, events);
  }

  /** @param isFinal the message has said why it stops. */
  private state(usage: unknown, isFinal: boolean, events: ChatEvent[]): void {
    const { stated } = this;
    // A message begins with one token of output, whatever follows: nothing was written where its end says so.
    const written = isFinal ? record(usage)?.output_tokens : undefined;
    if (written === 0 && stated.members?.output_tokens === 1) stated.members = { ...stated.members, output_tokens: 0 };
    stated.add(usage, isFinal);
    const counted = readAnthropicUsage(stated.members, this.container, stated);
    if (counted === null) return;
    const repeated = hasAnthropicTotals(usage) ? {} : { repeated: true as const };
    events.push({ type: 'usage', usage: counted, ...repeated });
  }

  /** @param isMeant the upstream said that this is the end, though perhaps not why. */
  private finish(isMeant: boolean, events: ChatEvent[]): void {
    if (this.ended) return;
    this.ended = true;
    this.progress = 'stopped';
    this.stopBlocks(events);
    if (this.refusal !== null) events.push({ type: 'refusal-delta', text: this.refusal });
    if (this.reason !== null || isMeant)
      events.push({ type: 'finish', reason: this.reason ?? finishReason('end_turn') });
    else events.push({ type: 'error', error: endedEarly });
  }

  private startBlock(index: number, raw: Record<string, unknown>, events: ChatEvent[]): void {
    const kind = guardedLookup(kinds, text(raw.type) ?? '') ?? 'other';
    const block: Block = {
      kind,
      raw,
      citations: readCitations(raw.citations),
      signature: text(raw.signature),
      input: '',
      isSent: false,
    };
    this.blocks.set(index, block);
    if (this.reason === null) this.progress = 'going';
    switch (kind) {
      case 'text': {
        const words = text(raw.text);
        events.push({ type: 'text-start', index });
        if (words !== null) events.push({ type: 'text-delta', index, text: words });
        return;
      }
      case 'reasoning': {
        const words = text(raw.thinking);
        events.push({ type: 'reasoning-start', index });
        if (words !== null) events.push({ type: 'reasoning-delta', index, text: words });
        return;
      }
      case 'tool-call':
        block.input = JSON.stringify(record(raw.input) ?? {});
        events.push({
          type: 'tool-call-start',
          index,
          id: text(raw.id) ?? `toolu_${index}`,
          name: text(raw.name) ?? '',
        });
        return;
      case 'other':
        if (raw.type === 'redacted_thinking') events.push({ type: 'reasoning-start', index });
    }
  }

  private changeBlock(index: number, block: Block, change: Record<string, unknown>, events: ChatEvent[]): void {
    switch (change.type) {
      case 'text_delta':
        if (block.kind === 'text' && typeof change.text === 'string' && change.text !== '')
          events.push({ type: 'text-delta', index, text: change.text });
        return;
      case 'thinking_delta':
        if (block.kind === 'reasoning' && typeof change.thinking === 'string' && change.thinking !== '')
          events.push({ type: 'reasoning-delta', index, text: change.thinking });
        return;
      case 'signature_delta':
        block.signature = (block.signature ?? '') + (text(change.signature) ?? '');
        return;
      case 'input_json_delta': {
        const chunk = text(change.partial_json);
        if (chunk === null) return;
        block.isSent = true;
        if (block.kind === 'tool-call') events.push({ type: 'tool-call-delta', index, arguments: chunk });
        else block.input += chunk;
        return;
      }
      case 'citations_delta':
        for (const citation of readCitations([change.citation])) block.citations.push(citation);
        return;
      default:
        events.push(omitted(text(change.type) ?? 'a delta', change));
    }
  }

  private stopBlock(index: number, events: ChatEvent[]): void {
    const block = this.blocks.get(index);
    if (block === undefined) return;
    this.blocks.delete(index);
    switch (block.kind) {
      case 'text': {
        const { citations } = block;
        events.push({ type: 'text-end', index, ...(citations.length === 0 ? {} : { citations }) });
        return;
      }
      case 'reasoning': {
        const { signature } = block;
        events.push({ type: 'reasoning-end', index, signature, redacted: null, origin: 'anthropic-messages' });
        return;
      }
      case 'tool-call':
        if (!block.isSent) events.push({ type: 'tool-call-delta', index, arguments: block.input });
        events.push({ type: 'tool-call-end', index });
        return;
      case 'other':
        if (block.raw.type === 'redacted_thinking') {
          const redacted = text(block.raw.data) ?? '';
          events.push({ type: 'reasoning-end', index, signature: null, redacted, origin: 'anthropic-messages' });
        } else events.push(eventOf(block));
    }
  }

  private stopBlocks(events: ChatEvent[]): void {
    for (const index of this.blocks.keys()) this.stopBlock(index, events);
  }
}

/** A block that is neither words, thoughts nor a call of the client's. Of input that is not whole its text counts. */
function eventOf({ raw, input }: Pick<Block, 'raw' | 'input'>): ChatEvent {
  const part = mediaIn(raw);
  if (part !== null) return { type: 'media', part };
  const read = input === '' ? undefined : (parseExact(input) ?? input);
  return { type: 'unknown', dialect: 'anthropic-messages', raw: read === undefined ? raw : { ...raw, input: read } };
}

/** Models of the maker draw nothing; relatives that speak its dialect may. */
function mediaIn({ type, source: given }: Record<string, unknown>): DeliveredPart | null {
  const from = type === 'image' || type === 'document' ? record(given) : null;
  const mimeType = text(from?.media_type) ?? (type === 'image' ? 'image/png' : 'application/pdf');
  const data = text(from?.data);
  const url = text(from?.url);
  const source: Media | null =
    data !== null ? { kind: 'base64', data, mimeType } : url === null ? null : { kind: 'url', url, mimeType };
  return source === null ? null : deliveredPart(source, mimeType);
}

export const createReader = (): StreamReader => new AnthropicReader();

/** A whole message, as if it had been streamed block by block. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const message = record(body);
  if (message === null) return [];
  const reader = new AnthropicReader();
  const events: ChatEvent[] = [];
  if (message.type === 'error') {
    reader.take(message, events);
    return events;
  }
  reader.take({ type: 'message_start', message }, events);
  for (const [index, block] of records(message.content).entries()) {
    reader.take({ type: 'content_block_start', index, content_block: block }, events);
    reader.take({ type: 'content_block_stop', index }, events);
  }
  const delta = { stop_reason: message.stop_reason ?? 'end_turn', stop_details: message.stop_details };
  reader.take({ type: 'message_delta', delta }, events);
  return [...events, ...reader.end()];
}
