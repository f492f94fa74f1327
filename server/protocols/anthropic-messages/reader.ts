/** Reads Anthropic message streams and whole messages into events. */
import type { ChatEvent, FinishReason, UnifiedFinish } from '../canonical.ts';
import type { LazyFrame, StreamReader } from '../codec.ts';
import { type Json, list, number, parseJson, record, records, text } from '../shared/json.ts';
import { decodeError } from './errors.ts';
import { mergeUsage, readAnthropicUsage } from './usage.ts';

const finishes: Readonly<Record<string, UnifiedFinish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'refusal',
  pause_turn: 'other',
};

const finishReason = (raw: string): FinishReason => ({ unified: finishes[raw] ?? 'other', raw });

export const isTerminal = (frame: LazyFrame): boolean => {
  const raw = frame.text();
  return (
    raw.includes('message_stop') &&
    (frame.event() === 'message_stop' || record(parseJson(frame.data()))?.type === 'message_stop')
  );
};

/** Usage comes with the start and with message_delta; ends and errors name themselves. */
export const mayMatter = (raw: string): boolean => !raw.includes('content_block_') || raw.includes('"usage"');

type Block = 'text' | 'reasoning' | 'tool-call' | 'other';

export function createReader(): StreamReader {
  const blocks = new Map<number, { kind: Block; citations: unknown[]; signature: string | null; told: boolean }>();
  let usage: Json | null = null;
  let finish: FinishReason | null = null;
  let started = false;
  let ended = false;

  const conclude = (): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    const counted = readAnthropicUsage(usage);
    const told: ChatEvent[] = counted === null ? [] : [{ type: 'usage', usage: counted }];
    if (finish !== null) return [...told, { type: 'finish', reason: finish }];
    const error = { status: null, type: null, code: null, message: 'the stream ended early' };
    return [...told, { type: 'error', error }];
  };

  const start = (index: number, block: Record<string, unknown>): ChatEvent[] => {
    const entry = { kind: 'other' as Block, citations: list(block.citations).slice(), signature: null, told: false };
    blocks.set(index, entry);
    switch (block.type) {
      case 'text': {
        entry.kind = 'text';
        const words = text(block.text);
        const events: ChatEvent[] = [{ type: 'text-start', index }];
        if (words !== null) events.push({ type: 'text-delta', index, text: words });
        return events;
      }
      case 'thinking': {
        entry.kind = 'reasoning';
        const words = text(block.thinking);
        const events: ChatEvent[] = [{ type: 'reasoning-start', index }];
        if (words !== null) events.push({ type: 'reasoning-delta', index, text: words });
        blocks.set(index, { ...entry, signature: text(block.signature) });
        return events;
      }
      case 'redacted_thinking':
        return [
          { type: 'reasoning-start', index },
          {
            type: 'reasoning-end',
            index,
            signature: null,
            redacted: text(block.data) ?? '',
            origin: 'anthropic-messages',
          },
        ];
      case 'tool_use': {
        entry.kind = 'tool-call';
        const input = record(block.input) ?? {};
        const events: ChatEvent[] = [
          { type: 'tool-call-start', index, id: text(block.id) ?? `toolu_${index}`, name: text(block.name) ?? '' },
        ];
        if (Object.keys(input).length > 0) {
          entry.told = true;
          events.push({ type: 'tool-call-delta', index, arguments: JSON.stringify(input) });
        }
        return events;
      }
      default:
        return [{ type: 'unknown', dialect: 'anthropic-messages', raw: block }];
    }
  };

  const delta = (index: number, change: Record<string, unknown>): ChatEvent[] => {
    const entry = blocks.get(index);
    if (entry === undefined) return [];
    switch (change.type) {
      case 'text_delta':
        return [{ type: 'text-delta', index, text: String(change.text ?? '') }];
      case 'thinking_delta': {
        const words = text(change.thinking);
        return words === null ? [] : [{ type: 'reasoning-delta', index, text: words }];
      }
      case 'signature_delta':
        entry.signature = (entry.signature ?? '') + String(change.signature ?? '');
        return [];
      case 'input_json_delta': {
        const words = text(change.partial_json);
        if (words === null) return [];
        entry.told = true;
        return [{ type: 'tool-call-delta', index, arguments: words }];
      }
      case 'citations_delta':
        entry.citations.push(change.citation);
        return [];
      default:
        return [];
    }
  };

  const stop = (index: number): ChatEvent[] => {
    const entry = blocks.get(index);
    blocks.delete(index);
    switch (entry?.kind) {
      case 'text':
        return [{ type: 'text-end', index, ...(entry.citations.length === 0 ? {} : { citations: entry.citations }) }];
      case 'reasoning':
        return [
          {
            type: 'reasoning-end',
            index,
            signature: entry.signature,
            redacted: null,
            origin: 'anthropic-messages',
          },
        ];
      case 'tool-call': {
        const events: ChatEvent[] = [];
        if (!entry.told) events.push({ type: 'tool-call-delta', index, arguments: '{}' });
        events.push({ type: 'tool-call-end', index });
        return events;
      }
      default:
        return [];
    }
  };

  const take = (event: Record<string, unknown>, raw: string): ChatEvent[] => {
    const index = number(event.index) ?? 0;
    switch (event.type) {
      case 'message_start': {
        // Proxies double it; the first one counts.
        if (started) return [];
        started = true;
        const message = record(event.message) ?? {};
        usage = mergeUsage(usage, record(message.usage));
        const counted = readAnthropicUsage(usage);
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
        return stop(index);
      case 'message_delta': {
        usage = mergeUsage(usage, record(event.usage));
        const reason = text(record(event.delta)?.stop_reason);
        if (reason !== null) finish ??= finishReason(reason);
        const counted = readAnthropicUsage(usage);
        return counted === null ? [] : [{ type: 'usage', usage: counted }];
      }
      case 'message_stop':
        return conclude();
      case 'error':
        ended = true;
        return [{ type: 'error', error: { ...decodeError(0, raw), status: null } }];
      default:
        return [];
    }
  };

  return {
    feed(frame) {
      if (ended || frame.data === '') return [];
      const event = record(parseJson(frame.data));
      return event === null ? [] : take(event, frame.data);
    },
    end: conclude,
  };
}

/** A whole message, as if it had been streamed block by block. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const message = record(body);
  if (message === null) return [];
  const reader = createReader();
  const feed = (event: Record<string, unknown>) => reader.feed({ event: '', data: JSON.stringify(event) });
  return [
    ...feed({ type: 'message_start', message }),
    ...records(message.content).flatMap((block, index) => [
      ...feed({ type: 'content_block_start', index, content_block: block }),
      ...feed({ type: 'content_block_stop', index }),
    ]),
    ...feed({ type: 'message_delta', delta: { stop_reason: message.stop_reason ?? 'end_turn' } }),
    ...reader.end(),
  ];
}
