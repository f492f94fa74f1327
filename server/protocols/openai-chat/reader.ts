/** Reads OpenAI chat completion streams and answers into events. */
import type { ChatEvent, FinishReason, UnifiedFinish } from '../canonical.ts';
import type { LazyFrame, StreamReader } from '../codec.ts';
import { record } from '../shared/json.ts';
import { decodeError } from './errors.ts';
import { readOpenAiUsage } from './usage.ts';

const finishes: Readonly<Record<string, UnifiedFinish>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
};

export const finishReason = (raw: string): FinishReason => ({ unified: finishes[raw] ?? 'other', raw });

const isDone = (data: string): boolean => data.trim() === '[DONE]';

export const isTerminal = (frame: LazyFrame): boolean => frame.text().includes('[DONE]') && isDone(frame.data());

/** With include_usage the last chunk has an empty list of choices. */
export const isUsageOnly = (frame: LazyFrame): boolean => {
  const raw = frame.text();
  if (!raw.includes('"usage"') || !/"choices"\s*:\s*\[\s*\]/.test(raw)) return false;
  return record(record(parse(frame.data()))?.usage) !== null;
};

/** Usage, an end or an error each bring one of these words; a `null` finish reason does not count. */
export const mayMatter = (raw: string): boolean =>
  (raw.includes('"usage"') && !raw.includes('"usage":null')) ||
  (raw.includes('finish_reason') && !raw.includes('"finish_reason":null')) ||
  raw.includes('"error"');

/** Blocks of one choice: text, reasoning and tool calls each have an index of their own, given in order of appearance. */
interface Blocks {
  next: number;
  text: number | null;
  reasoning: number | null;
  readonly tools: Map<number, { readonly index: number; open: boolean }>;
}

export function createReader(): StreamReader {
  const blocks: Blocks = { next: 0, text: null, reasoning: null, tools: new Map() };
  let started = false;
  let finish: FinishReason | null = null;
  let ended = false;

  const closeAll = (): ChatEvent[] => {
    const events: ChatEvent[] = [];
    if (blocks.reasoning !== null)
      events.push({ type: 'reasoning-end', index: blocks.reasoning, signature: null, redacted: null });
    if (blocks.text !== null) events.push({ type: 'text-end', index: blocks.text });
    for (const tool of blocks.tools.values()) if (tool.open) events.push({ type: 'tool-call-end', index: tool.index });
    blocks.reasoning = null;
    blocks.text = null;
    blocks.tools.clear();
    return events;
  };

  const conclude = (): ChatEvent[] => {
    if (ended) return [];
    ended = true;
    const reason = finish;
    if (reason !== null) return [...closeAll(), { type: 'finish', reason }];
    return [
      ...closeAll(),
      { type: 'error', error: { status: null, type: null, code: null, message: 'the stream ended early' } },
    ];
  };

  return {
    feed(frame) {
      if (ended || frame.data === '') return [];
      if (isDone(frame.data)) return conclude();
      const chunk = record(parse(frame.data));
      if (chunk === null) return [];
      if (chunk.error !== undefined && chunk.error !== null) {
        ended = true;
        return [...closeAll(), { type: 'error', error: { ...decodeError(0, frame.data), status: null } }];
      }
      const events: ChatEvent[] = [];
      if (!started) {
        started = true;
        events.push(startEvent(chunk));
      }
      const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
      for (const item of choices) {
        const choice = record(item);
        if (choice === null) continue;
        const delta = record(choice.delta) ?? record(choice.message);
        if (delta !== null) events.push(...readDelta(delta, blocks));
        if (typeof choice.text === 'string' && choice.text !== '') events.push(...textDelta(choice.text, blocks));
        if (typeof choice.finish_reason === 'string') finish ??= finishReason(choice.finish_reason);
      }
      const usage = readOpenAiUsage(chunk.usage);
      if (usage !== null) events.push({ type: 'usage', usage });
      return events;
    },
    end: conclude,
  };
}

const startEvent = (body: Record<string, unknown>): ChatEvent => ({
  type: 'response-start',
  id: typeof body.id === 'string' ? body.id : null,
  model: typeof body.model === 'string' ? body.model : null,
  created: typeof body.created === 'number' ? body.created : null,
});

function textDelta(text: string, blocks: Blocks): ChatEvent[] {
  const events: ChatEvent[] = [];
  if (blocks.text === null) {
    blocks.text = blocks.next++;
    events.push({ type: 'text-start', index: blocks.text });
  }
  events.push({ type: 'text-delta', index: blocks.text, text });
  return events;
}

function readDelta(delta: Record<string, unknown>, blocks: Blocks): ChatEvent[] {
  const events: ChatEvent[] = [];
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (typeof reasoning === 'string' && reasoning !== '') {
    if (blocks.reasoning === null) {
      blocks.reasoning = blocks.next++;
      events.push({ type: 'reasoning-start', index: blocks.reasoning });
    }
    events.push({ type: 'reasoning-delta', index: blocks.reasoning, text: reasoning });
  }
  if (typeof delta.content === 'string' && delta.content !== '') events.push(...textDelta(delta.content, blocks));
  if (typeof delta.refusal === 'string' && delta.refusal !== '')
    events.push({ type: 'refusal-delta', text: delta.refusal });
  for (const item of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
    const call = record(item);
    if (call !== null) events.push(...readToolCall(call, blocks));
  }
  return events;
}

function readToolCall(call: Record<string, unknown>, blocks: Blocks): ChatEvent[] {
  const events: ChatEvent[] = [];
  const position = typeof call.index === 'number' ? call.index : blocks.tools.size;
  const fn = record(call.function) ?? {};
  let tool = blocks.tools.get(position);
  if (tool === undefined) {
    tool = { index: blocks.next++, open: true };
    blocks.tools.set(position, tool);
    events.push({
      type: 'tool-call-start',
      index: tool.index,
      id: typeof call.id === 'string' ? call.id : `call_${position}`,
      name: typeof fn.name === 'string' ? fn.name : '',
    });
  }
  if (typeof fn.arguments === 'string' && fn.arguments !== '') {
    events.push({ type: 'tool-call-delta', index: tool.index, arguments: fn.arguments });
  }
  return events;
}

/** A whole answer, as if it had been streamed in one piece. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const reader = createReader();
  const events = reader.feed({ event: '', data: JSON.stringify(body) });
  return [...events, ...reader.end()];
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
