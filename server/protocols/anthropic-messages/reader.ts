/** Reads Anthropic message streams and whole messages into events. */

import type { ChatEvent, Citation, FinishReason, UnifiedFinish } from '../canonical.ts';
import type { LazyFrame, StreamReader } from '../codec.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { type Json, lookUp, number, parseExact, parseJson, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { readCitations } from './citations.ts';
import { decodeError } from './errors.ts';
import { mergeUsage, readAnthropicUsage } from './usage.ts';

export const finishes: Readonly<Record<string, UnifiedFinish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'refusal',
  pause_turn: 'other',
  compaction: 'other',
};

const finishReason = (raw: string): FinishReason => ({ unified: lookUp(finishes, raw) ?? 'other', raw });

export const isTerminal = (frame: LazyFrame): boolean => {
  const raw = frame.text();
  return (
    raw.includes('message_stop') &&
    (frame.event() === 'message_stop' || record(parseJson(frame.data()))?.type === 'message_stop')
  );
};

/** Usage comes with message_start and message_delta; ends and errors name themselves. Pings and unknown events say nothing. */
export const markers = new Markers([{ word: 'message_' }, { word: '"error"' }, { word: '"usage"' }]);

interface Block {
  readonly kind: 'text' | 'reasoning' | 'tool-call' | 'other';
  /** As the block began. */
  readonly raw: Record<string, unknown>;
  citations: Citation[];
  signature: string | null;
  /** JSON text of a tool's input. A call tells its pieces as they come; here is what its start brought, which counts if none do. */
  input: string;
  told: boolean;
}

const kinds: Readonly<Record<string, Block['kind']>> = {
  text: 'text',
  thinking: 'reasoning',
  tool_use: 'tool-call',
};

/** The reader proper: events already parsed, so that a whole message is read by the same rules. */
function createEventReader() {
  const blocks = new Map<number, Block>();
  let usage: Json | null = null;
  let finish: FinishReason | null = null;
  let refusal: string | null = null;
  let container: unknown = null;
  let started = false;
  let ended = false;
  /** A block was told to its end and no other one began. */
  let between = false;

  /** @param meant the upstream said that this is the end, though perhaps not why. */
  const conclude = (meant: boolean): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    const told = stopAll();
    if (refusal !== null) told.push({ type: 'refusal-delta', text: refusal });
    if (finish !== null || meant) return [...told, { type: 'finish', reason: finish ?? finishReason('end_turn') }];
    return [...told, { type: 'error', error: endedEarly }];
  };

  const start = (index: number, raw: Record<string, unknown>): ChatEvent[] => {
    const kind = lookUp(kinds, text(raw.type) ?? '') ?? 'other';
    const block: Block = {
      kind,
      raw,
      citations: readCitations(raw.citations),
      signature: text(raw.signature),
      input: '',
      told: false,
    };
    blocks.set(index, block);
    between = false;
    switch (kind) {
      case 'text':
        return [{ type: 'text-start', index }, ...words('text-delta', index, text(raw.text))];
      case 'reasoning':
        return [{ type: 'reasoning-start', index }, ...words('reasoning-delta', index, text(raw.thinking))];
      case 'tool-call': {
        block.input = JSON.stringify(record(raw.input) ?? {});
        return [{ type: 'tool-call-start', index, id: text(raw.id) ?? `toolu_${index}`, name: text(raw.name) ?? '' }];
      }
      case 'other':
        return raw.type === 'redacted_thinking' ? [{ type: 'reasoning-start', index }] : [];
    }
  };

  const delta = (index: number, change: Record<string, unknown>): ChatEvent[] => {
    const block = blocks.get(index);
    if (block === undefined) return [];
    switch (change.type) {
      case 'text_delta':
        return block.kind === 'text' ? words('text-delta', index, text(change.text)) : [];
      case 'thinking_delta':
        return block.kind === 'reasoning' ? words('reasoning-delta', index, text(change.thinking)) : [];
      case 'signature_delta':
        block.signature = (block.signature ?? '') + (text(change.signature) ?? '');
        return [];
      case 'input_json_delta': {
        const piece = text(change.partial_json);
        if (piece === null) return [];
        block.told = true;
        if (block.kind === 'tool-call') return [{ type: 'tool-call-delta', index, arguments: piece }];
        block.input += piece;
        return [];
      }
      case 'citations_delta':
        block.citations.push(...readCitations([change.citation]));
        return [];
      default:
        return [];
    }
  };

  const stop = (index: number, block: Block | undefined): ChatEvent[] => {
    blocks.delete(index);
    between = blocks.size === 0;
    switch (block?.kind) {
      case 'text':
        return [{ type: 'text-end', index, ...(block.citations.length === 0 ? {} : { citations: block.citations }) }];
      case 'reasoning': {
        const { signature } = block;
        return [{ type: 'reasoning-end', index, signature, redacted: null, origin: 'anthropic-messages' }];
      }
      case 'tool-call':
        return [
          ...(block.told ? [] : [{ type: 'tool-call-delta' as const, index, arguments: block.input }]),
          { type: 'tool-call-end', index },
        ];
      case 'other': {
        if (block.raw.type === 'redacted_thinking') {
          const redacted = text(block.raw.data) ?? '';
          return [{ type: 'reasoning-end', index, signature: null, redacted, origin: 'anthropic-messages' }];
        }
        const input = block.input === '' ? undefined : parseExact(block.input);
        const raw = input === undefined ? block.raw : { ...block.raw, input };
        return [{ type: 'unknown', dialect: 'anthropic-messages', raw }];
      }
      default:
        return [];
    }
  };
  const stopAll = (): ChatEvent[] => [...blocks].flatMap(([index, block]) => stop(index, block));

  const take = (event: Record<string, unknown>): ChatEvent[] => {
    if (ended) {
      const late = record(event.usage);
      if (late === null) return [];
      usage = mergeUsage(usage, late);
      const counted = readAnthropicUsage(usage, container);
      return counted === null ? [] : [{ type: 'usage', usage: counted }];
    }
    const index = number(event.index) ?? 0;
    switch (event.type) {
      case 'message_start': {
        // Proxies double it; the first one counts.
        if (started) return [];
        started = true;
        const message = record(event.message) ?? {};
        usage = mergeUsage(usage, record(message.usage));
        container = message.container;
        const counted = readAnthropicUsage(usage, container);
        return [
          { type: 'response-start', id: text(message.id), model: text(message.model), created: null },
          ...(counted === null ? [] : [{ type: 'usage' as const, usage: counted }]),
        ];
      }
      case 'content_block_start':
        return start(index, record(event.content_block) ?? {});
      case 'content_block_delta':
        return delta(index, record(event.delta) ?? {});
      case 'content_block_stop':
        return stop(index, blocks.get(index));
      case 'message_delta': {
        usage = mergeUsage(usage, record(event.usage));
        const change = record(event.delta);
        container = change?.container ?? container;
        const reason = text(change?.stop_reason);
        refusal ??= text(record(change?.stop_details)?.explanation);
        if (reason !== null) finish ??= finishReason(reason);
        const counted = readAnthropicUsage(usage, container);
        if (counted === null) return [];
        return [{ type: 'usage', usage: counted, ...(record(event.usage) === null ? { repeated: true } : {}) }];
      }
      case 'message_stop':
        return conclude(true);
      case 'error':
        ended = true;
        return [...stopAll(), { type: 'error', error: { ...decodeError(0, JSON.stringify(event)), status: null } }];
      default:
        return [];
    }
  };

  const standing = () => {
    if (finish !== null || ended) return 'stopped' as const;
    return between ? ('paused' as const) : ('going' as const);
  };

  return { take, standing, answer: () => (container === null ? null : { container }), end: () => conclude(false) };
}

const words = (type: 'text-delta' | 'reasoning-delta', index: number, said: string | null): ChatEvent[] =>
  said === null ? [] : [{ type, index, text: said }];

export function createReader(): StreamReader {
  const reader = createEventReader();
  return {
    feed(frame) {
      if (frame.data === '') return [];
      // The small steps of a block are texts.
      const event = record(frame.data.includes('_delta"') ? parseJson(frame.data) : parseExact(frame.data));
      return event === null ? [] : reader.take(event);
    },
    standing: reader.standing,
    answer: reader.answer,
    end: reader.end,
  };
}

/** A whole message, as if it had been streamed block by block. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const message = record(body);
  if (message === null) return [];
  const { take, end } = createEventReader();
  if (message.type === 'error') return take(message);
  const delta = { stop_reason: message.stop_reason ?? 'end_turn', stop_details: message.stop_details };
  return [
    ...take({ type: 'message_start', message }),
    ...records(message.content).flatMap((block, index) => [
      ...take({ type: 'content_block_start', index, content_block: block }),
      ...take({ type: 'content_block_stop', index }),
    ]),
    ...take({ type: 'message_delta', delta }),
    ...end(),
  ];
}
