/** Reads response event streams and whole responses into events. Items are known by their place, for ids may change between events. */

import type { ChatEvent, Citation, FinishReason } from '../canonical.ts';
import type { FrameKind, StreamReader } from '../codec.ts';
import { hasOpenAiTotals } from '../openai-chat/usage.ts';
import { openAiDiagnostics } from '../shared/cache-diagnosis.ts';
import { readAnnotations } from '../shared/citations.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { StatedUsage } from '../shared/merge-usage.ts';
import { omitted } from '../shared/omitted.ts';
import type { SseFrame } from '../shared/sse.ts';
import { hostedCall } from '../shared/tool-usage.ts';
import { bundled } from '../shared/tools.ts';
import { decodeError } from './errors.ts';
import { readResponseUsage, statedIn } from './usage.ts';

/** Everything but the small steps of an item. */
export const markers = new Markers([
  { word: 'response.completed' },
  { word: 'response.incomplete' },
  { word: 'response.failed' },
  { word: '"error"' },
  { word: 'response.created' },
  { word: '"usage"', unless: [':null', ': null'] },
]);

/** Small steps of items that come whole at their end. */
const repeated = /^response\.(?:mcp_call_arguments|code_interpreter_call_code|web_search_call|file_search_call)\./;

interface Block {
  readonly index: number;
  readonly kind: 'text' | 'reasoning' | 'tool-call';
  isSent: boolean;
  open: boolean;
}

class ResponsesReader implements StreamReader {
  progress: 'going' | 'paused' | 'stopped' = 'going';
  frameKind: FrameKind = 'plain';
  /** By place: `output:part`. */
  private readonly blocks = new Map<string, Block>();
  /** Places of the items that have blocks, or came whole. */
  private readonly seen = new Set<number>();
  private next = 0;
  private called = false;
  private rejected = false;
  /** A piece of a kind that is not known came in steps: its item repeats them. */
  private isStreamed = false;
  private ended = false;
  private started = false;
  private stated: StatedUsage | null = null;
  private whole: unknown = null;

  private setBlock(key: string, block: Block): void {
    this.blocks.set(key, block);
    this.seen.add(Number.parseFloat(key));
  }

  private openBlock(key: string, kind: Block['kind'], events: ChatEvent[], more: Record<string, unknown> = {}): Block {
    const known = this.blocks.get(key);
    if (known !== undefined) return known;
    const block: Block = { index: this.next++, kind, isSent: false, open: true };
    this.setBlock(key, block);
    events.push({ type: `${kind}-start`, index: block.index, ...more } as ChatEvent);
    return block;
  }

  private endText(key: string, events: ChatEvent[], citations: readonly Citation[]): void {
    const block = this.blocks.get(key);
    if (block?.open !== true) return;
    block.open = false;
    events.push({ type: 'text-end', index: block.index, ...(citations.length === 0 ? {} : { citations }) });
  }

  private endItem(output: number, item: Record<string, unknown>, events: ChatEvent[]): void {
    this.seen.add(output);
    const key = String(output);
    switch (item.type) {
      case 'message':
        for (const [at, part] of records(item.content).entries()) {
          const place = `${output}:${at}`;
          if (part.type === 'refusal' && !this.blocks.has(place))
            this.chunkOf(place, 'refusal', text(part.refusal), events);
          if (part.type !== 'output_text') {
            if (part.type !== 'refusal')
              events.push(omitted(text(part.type) ?? 'a part', this.isStreamed ? null : part));
            continue;
          }
          const block = this.openBlock(place, 'text', events);
          if (!block.isSent && text(part.text) !== null) this.chunkOf(place, 'text', text(part.text), events);
          this.endText(place, events, readAnnotations(part.annotations, 'openai-responses'));
        }
        return;
      case 'reasoning': {
        const sealed = text(item.encrypted_content);
        const words = [...records(item.summary), ...records(item.content)].map((part) => text(part.text) ?? '');
        const id = text(item.id);
        const block = this.openBlock(key, 'reasoning', events, id === null ? {} : { id });
        if (!block.isSent && words.join('') !== '')
          events.push({ type: 'reasoning-delta', index: block.index, text: words.join('\n\n') });
        if (!block.open) return;
        block.open = false;
        events.push({
          type: 'reasoning-end',
          index: block.index,
          signature: null,
          redacted: sealed,
          origin: 'openai-responses',
        });
        return;
      }
      case 'function_call':
      case 'custom_tool_call': {
        const block = this.startCall(key, item, events);
        const words = text(item.arguments) ?? text(item.input);
        if (!block.isSent && words !== null)
          events.push({ type: 'tool-call-delta', index: block.index, arguments: words });
        if (!block.open) return;
        block.open = false;
        events.push({ type: 'tool-call-end', index: block.index });
        return;
      }
      case 'image_generation_call': {
        const data = text(item.result);
        const mimeType = `image/${text(item.output_format) ?? 'png'}`;
        if (data === null) events.push({ type: 'unknown', dialect: 'openai-responses', raw: item });
        else {
          const part = { type: 'image', source: { kind: 'base64', data, mimeType } } as const;
          events.push({ type: 'media', part, hosted: hostedCall(item) });
        }
        return;
      }
      default:
        events.push({ type: 'unknown', dialect: 'openai-responses', raw: item });
    }
  }

  private startItem(key: string, item: Record<string, unknown>, events: ChatEvent[]): void {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') this.startCall(key, item, events);
    if (item.type !== 'reasoning') return;
    const id = text(item.id);
    this.openBlock(key, 'reasoning', events, id === null ? {} : { id });
  }

  private startCall(key: string, item: Record<string, unknown>, events: ChatEvent[]): Block {
    this.called = true;
    const space = text(item.namespace);
    const name = text(item.name) ?? '';
    return this.openBlock(key, 'tool-call', events, {
      id: text(item.call_id) ?? text(item.id) ?? `call_${key}`,
      name: bundled(space, name),
      ...(item.type === 'custom_tool_call' ? { custom: true } : {}),
    });
  }

  private chunkOf(
    key: string,
    kind: 'text' | 'reasoning' | 'refusal' | 'tool-call',
    words: string | null,
    events: ChatEvent[],
  ): void {
    if (words === null) return;
    if (kind === 'refusal') {
      this.rejected = true;
      // It may name no place of its own: what was said there before is over.
      this.endText(key, events, []);
      // Marked as emitted, so that the finished item does not emit it again.
      this.setBlock(key, { index: -1, kind: 'text', isSent: true, open: false });
      events.push({ type: 'refusal-delta', text: words });
      return;
    }
    const block = this.openBlock(key, kind, events);
    block.isSent = true;
    events.push(
      kind === 'tool-call'
        ? { type: 'tool-call-delta', index: block.index, arguments: words }
        : { type: `${kind}-delta`, index: block.index, text: words },
    );
  }

  private start(response: Record<string, unknown>, events: ChatEvent[]): void {
    if (this.started) return;
    this.started = true;
    events.push({
      type: 'response-start',
      id: text(response.id),
      model: text(response.model),
      created: number(response.created_at),
    });
  }

  /** A response in any event, or the last event itself, may say what it cost so far. */
  private state(response: Record<string, unknown>, isFinal: boolean, events: ChatEvent[]): void {
    if ((response.usage ?? response.tool_usage ?? null) === null) return;
    this.stated ??= new StatedUsage();
    const changes = this.stated.add(statedIn(response), isFinal);
    const isTotal = hasOpenAiTotals(response.usage);
    const usage = changes || isTotal ? readResponseUsage(response, this.stated) : null;
    if (usage !== null) events.push({ type: 'usage', usage, ...(isTotal ? {} : { repeated: true }) });
  }

  private finish(type: string, response: Record<string, unknown>, raw: string, events: ChatEvent[]): void {
    this.start(response, events);
    this.whole = response;
    // A whole response, or one whose items were never streamed.
    for (const [at, item] of records(response.output).entries()) if (!this.seen.has(at)) this.endItem(at, item, events);
    this.state(response, true, events);
    this.ended = true;
    if (type === 'response.failed') events.push({ type: 'error', error: { ...decodeError(0, raw), status: null } });
    else {
      const said = response.prompt_cache_diagnostics;
      const diagnosis = said == null ? null : openAiDiagnostics.read(said);
      events.push({
        type: 'finish',
        reason: this.reasonOf(type, response),
        ...(diagnosis === null ? {} : { diagnosis }),
      });
    }
  }

  private reasonOf(type: string, response: Record<string, unknown>): FinishReason {
    const reason = text(record(response.incomplete_details)?.reason);
    if (type === 'response.incomplete' || response.status === 'incomplete') {
      return { unified: reason === 'content_filter' ? 'content_filter' : 'length', raw: reason };
    }
    return { unified: this.called ? 'tool_calls' : this.rejected ? 'refusal' : 'stop', raw: text(response.status) };
  }

  feed(frame: SseFrame): ChatEvent[] {
    this.frameKind = 'plain';
    if (frame.data === '' || frame.data === '[DONE]') return [];
    // The small steps of an item are texts.
    const event = record(frame.data.includes('.delta"') ? parseJson(frame.data) : parseExact(frame.data));
    if (event === null) return [];
    const events: ChatEvent[] = [];
    // What it cost may be reported behind the end, or behind an error.
    if (this.ended) {
      this.state(record(event.response) ?? {}, true, events);
      return events;
    }
    const type = text(event.type) ?? frame.event;
    // The last word was that something is whole, or not.
    this.progress = type.endsWith('.done') ? 'paused' : 'going';
    const output = number(event.output_index) ?? 0;
    const place = `${output}:${number(event.content_index) ?? 0}`;
    const item = record(event.item) ?? {};
    switch (type) {
      case 'response.created':
      case 'response.in_progress': {
        const response = record(event.response) ?? {};
        this.start(response, events);
        this.state(response, false, events);
        break;
      }
      case 'response.output_item.added':
        this.startItem(String(output), item, events);
        break;
      case 'response.output_text.delta':
        this.chunkOf(place, 'text', text(event.delta), events);
        break;
      case 'response.refusal.delta':
        this.chunkOf(place, 'refusal', text(event.delta), events);
        break;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.chunkOf(String(output), 'reasoning', text(event.delta), events);
        break;
      case 'response.reasoning_summary_part.added':
        // Parts of one thought are separated by a blank line.
        if ((number(event.summary_index) ?? 0) > 0) this.chunkOf(String(output), 'reasoning', '\n\n', events);
        break;
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.chunkOf(String(output), 'tool-call', text(event.delta), events);
        break;
      case 'response.image_generation_call.partial_image': {
        const data = text(event.partial_image_b64);
        const source = { kind: 'base64', data: data ?? '', mimeType: 'image/png' } as const;
        if (data !== null) events.push({ type: 'media-draft', part: { type: 'image', source } });
        break;
      }
      case 'response.output_item.done':
        this.endItem(output, item, events);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        if (event.type === type) this.frameKind = 'terminal';
        this.progress = 'stopped';
        this.finish(type, record(event.response) ?? {}, frame.data, events);
        break;
      case 'error':
        this.ended = true;
        this.progress = 'stopped';
        events.push({
          type: 'error',
          error: { ...decodeError(0, JSON.stringify(event.error ?? event)), status: null },
        });
        break;
      default:
        if (!type.endsWith('.delta') || repeated.test(type)) break;
        this.isStreamed = true;
        events.push(omitted(type, event.delta));
    }
    return events;
  }

  answer(): unknown {
    return this.whole;
  }

  end(): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    this.progress = 'stopped';
    return [{ type: 'error', error: endedEarly }];
  }
}

export const createReader = (): StreamReader => new ResponsesReader();

/** A whole response, as if its last event alone had been streamed. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const status = record(body)?.status;
  const type =
    status === 'failed' ? 'response.failed' : status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return createReader().feed({ event: type, data: JSON.stringify({ type, response: body }) });
}
