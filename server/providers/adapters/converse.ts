/** Bedrock's Converse wire, for the models that are not Claude. */

import type { ChatEvent, UnifiedFinish, Usage } from '../../protocols/canonical.ts';
import type { StreamReader, UpstreamHalf } from '../../protocols/codec.ts';
import { endedEarly } from '../../protocols/shared/ended-early.ts';
import { guardedLookup, number, parseExact, parseJson, record, records, text } from '../../protocols/shared/json.ts';
import { StatedUsage } from '../../protocols/shared/merge-usage.ts';
import { detailCount, emptyUsage, tokenCounts } from '../../protocols/shared/usage.ts';
import type { Wire } from '../adapter.ts';
import { encodeRequest } from './converse-request.ts';

type Block = Record<string, unknown>;

const finishReasons: Readonly<Record<string, UnifiedFinish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
};

function readUsage(value: unknown, stated?: StatedUsage): Usage | null {
  const usage = record(value);
  const counts = tokenCounts([usage?.inputTokens, usage?.outputTokens]);
  if (usage === null || counts === null) return null;
  const [input, output] = counts;
  const cacheRead = detailCount(usage.cacheReadInputTokens);
  const cacheWrite5m = detailCount(usage.cacheWriteInputTokens);
  if (input + output + cacheRead + cacheWrite5m === 0) return null;
  return { ...emptyUsage, input, output, cacheRead, cacheWrite5m, ...stated?.mark(), raw: value };
}

function createReader(): StreamReader {
  const open = new Map<number, 'text' | 'reasoning' | 'tool-call'>();
  const signatures = new Map<number, string>();
  const stated = new StatedUsage();
  let stopped: string | null = null;
  let ended = false;
  const start = (index: number, kind: 'text' | 'reasoning', events: ChatEvent[]) => {
    if (open.has(index)) return;
    open.set(index, kind);
    events.push({ type: `${kind}-start`, index });
  };
  const delta = (index: number, change: Block): ChatEvent[] => {
    const events: ChatEvent[] = [];
    const thought = record(change.reasoningContent);
    const words = text(change.text);
    if (words !== null) {
      start(index, 'text', events);
      events.push({ type: 'text-delta', index, text: words });
    }
    if (thought !== null) {
      start(index, 'reasoning', events);
      const content = text(thought.text);
      if (content !== null) events.push({ type: 'reasoning-delta', index, text: content });
      const signature = text(thought.signature);
      if (signature !== null) signatures.set(index, signature);
    }
    const input = text(record(change.toolUse)?.input);
    if (input !== null) events.push({ type: 'tool-call-delta', index, arguments: input });
    return events;
  };
  const stop = (index: number): ChatEvent[] => {
    const kind = open.get(index);
    if (kind === undefined) return [];
    open.delete(index);
    if (kind === 'reasoning')
      return [{ type: 'reasoning-end', index, signature: signatures.get(index) ?? null, redacted: null }];
    return [{ type: `${kind}-end`, index }];
  };
  const finish = (): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    if (stopped !== null)
      return [{ type: 'finish', reason: { unified: guardedLookup(finishReasons, stopped) ?? 'other', raw: stopped } }];
    return [{ type: 'error', error: endedEarly }];
  };
  return {
    feed(frame) {
      const event = ended ? null : record(parseExact(frame.data));
      if (event === null) return [];
      const index = number(event.contentBlockIndex) ?? 0;
      switch (frame.event || event.type) {
        case 'messageStart':
          return [{ type: 'response-start', id: null, model: null, created: null }];
        case 'contentBlockStart': {
          const call = record(record(event.start)?.toolUse);
          if (call === null) return [];
          open.set(index, 'tool-call');
          return [
            {
              type: 'tool-call-start',
              index,
              id: text(call.toolUseId) ?? `call_${index}`,
              name: text(call.name) ?? '',
            },
          ];
        }
        case 'contentBlockDelta':
          return delta(index, record(event.delta) ?? {});
        case 'contentBlockStop':
          return stop(index);
        case 'messageStop':
          stopped = text(event.stopReason) ?? 'end_turn';
          return [];
        case 'metadata': {
          if (!stated.add(event.usage, stopped !== null)) return [];
          const usage = readUsage(stated.members, stated);
          return usage === null ? [] : [{ type: 'usage', usage }];
        }
        case 'error': {
          ended = true;
          const error = record(event.error) ?? event;
          const message = text(error.message) ?? 'the model failed';
          return [{ type: 'error', error: { status: null, type: text(error.type), code: null, message } }];
        }
        default:
          return [];
      }
    },
    end: finish,
  };
}

function decodeResponse(body: unknown): ChatEvent[] {
  const answer = record(body) ?? {};
  const reader = createReader();
  const feed = (event: string, value: unknown) => reader.feed({ event, data: JSON.stringify(value) });
  const blocks = records(record(record(answer.output)?.message)?.content);
  return [
    ...feed('messageStart', {}),
    ...blocks.flatMap((block, contentBlockIndex) => {
      const call = record(block.toolUse);
      const thought = record(record(block.reasoningContent)?.reasoningText);
      const change =
        call !== null
          ? { toolUse: { input: JSON.stringify(call.input ?? {}) } }
          : thought !== null
            ? { reasoningContent: thought }
            : block;
      return [
        ...(call === null ? [] : feed('contentBlockStart', { contentBlockIndex, start: { toolUse: call } })),
        ...feed('contentBlockDelta', { contentBlockIndex, delta: change }),
        ...feed('contentBlockStop', { contentBlockIndex }),
      ];
    }),
    ...feed('metadata', { usage: answer.usage }),
    ...(text(answer.stopReason) === null ? [] : feed('messageStop', { stopReason: answer.stopReason })),
    ...reader.end(),
  ];
}

const upstream: UpstreamHalf = {
  decodeResponse,
  reader: createReader,
  decodeError: (status, body) => {
    const error = record(parseJson(body));
    return {
      status,
      type: text(error?.__type),
      code: null,
      message: text(error?.message) ?? text(error?.Message) ?? `bad response status code ${status}`,
    };
  },
  readUsage: (body) => readUsage(record(body)?.usage),
  markers: null,
};

export const converse: Wire = { upstream, encodeRequest };
