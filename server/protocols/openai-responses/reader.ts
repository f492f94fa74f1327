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

export function createReader(): StreamReader {
  /** By place: `output:part`. */
  const blocks = new Map<string, Block>();
  /** Places of the items that have blocks, or came whole. */
  const seen = new Set<number>();
  let next = 0;
  let called = false;
  let rejected = false;
  /** A piece of a kind that is not known came in steps: its item repeats them. */
  let isStreamed = false;
  let ended = false;
  let started = false;
  let stated: StatedUsage | null = null;
  let answer: unknown = null;

  const setBlock = (key: string, block: Block) => {
    blocks.set(key, block);
    seen.add(Number.parseFloat(key));
  };
  const openBlock = (
    key: string,
    kind: Block['kind'],
    events: ChatEvent[],
    more: Record<string, unknown> = {},
  ): Block => {
    const known = blocks.get(key);
    if (known !== undefined) return known;
    const block: Block = { index: next++, kind, isSent: false, open: true };
    setBlock(key, block);
    events.push({ type: `${kind}-start`, index: block.index, ...more } as ChatEvent);
    return block;
  };
  const endText = (key: string, events: ChatEvent[], citations: readonly Citation[]) => {
    const block = blocks.get(key);
    if (block?.open !== true) return;
    block.open = false;
    events.push({ type: 'text-end', index: block.index, ...(citations.length === 0 ? {} : { citations }) });
  };
  const endItem = (output: number, item: Record<string, unknown>, events: ChatEvent[]) => {
    seen.add(output);
    const key = String(output);
    switch (item.type) {
      case 'message':
        for (const [at, part] of records(item.content).entries()) {
          const place = `${output}:${at}`;
          if (part.type === 'refusal' && !blocks.has(place)) chunkOf(place, 'refusal', text(part.refusal), events);
          if (part.type !== 'output_text') {
            if (part.type !== 'refusal') events.push(omitted(text(part.type) ?? 'a part', isStreamed ? null : part));
            continue;
          }
          const block = openBlock(place, 'text', events);
          if (!block.isSent && text(part.text) !== null) chunkOf(place, 'text', text(part.text), events);
          endText(place, events, readAnnotations(part.annotations, 'openai-responses'));
        }
        return;
      case 'reasoning': {
        const sealed = text(item.encrypted_content);
        const words = [...records(item.summary), ...records(item.content)].map((part) => text(part.text) ?? '');
        const id = text(item.id);
        const block = openBlock(key, 'reasoning', events, id === null ? {} : { id });
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
        const block = startCall(key, item, events);
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
  };
  const startItem = (key: string, item: Record<string, unknown>, events: ChatEvent[]) => {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') startCall(key, item, events);
    if (item.type !== 'reasoning') return;
    const id = text(item.id);
    openBlock(key, 'reasoning', events, id === null ? {} : { id });
  };
  const startCall = (key: string, item: Record<string, unknown>, events: ChatEvent[]): Block => {
    called = true;
    const space = text(item.namespace);
    const name = text(item.name) ?? '';
    return openBlock(key, 'tool-call', events, {
      id: text(item.call_id) ?? text(item.id) ?? `call_${key}`,
      name: bundled(space, name),
      ...(item.type === 'custom_tool_call' ? { custom: true } : {}),
    });
  };
  const chunkOf = (
    key: string,
    kind: 'text' | 'reasoning' | 'refusal' | 'tool-call',
    words: string | null,
    events: ChatEvent[],
  ) => {
    if (words === null) return;
    if (kind === 'refusal') {
      rejected = true;
      // It may name no place of its own: what was said there before is over.
      endText(key, events, []);
      // Marked as emitted, so that the finished item does not emit it again.
      setBlock(key, { index: -1, kind: 'text', isSent: true, open: false });
      events.push({ type: 'refusal-delta', text: words });
      return;
    }
    const block = openBlock(key, kind, events);
    block.isSent = true;
    events.push(
      kind === 'tool-call'
        ? { type: 'tool-call-delta', index: block.index, arguments: words }
        : { type: `${kind}-delta`, index: block.index, text: words },
    );
  };
  const start = (response: Record<string, unknown>, events: ChatEvent[]) => {
    if (started) return;
    started = true;
    events.push({
      type: 'response-start',
      id: text(response.id),
      model: text(response.model),
      created: number(response.created_at),
    });
  };
  /** A response in any event, or the last event itself, may say what it cost so far. */
  const state = (response: Record<string, unknown>, isFinal: boolean, events: ChatEvent[]) => {
    if ((response.usage ?? response.tool_usage ?? null) === null) return;
    stated ??= new StatedUsage();
    const changes = stated.add(statedIn(response), isFinal);
    const isTotal = hasOpenAiTotals(response.usage);
    const usage = changes || isTotal ? readResponseUsage(response, stated) : null;
    if (usage !== null) events.push({ type: 'usage', usage, ...(isTotal ? {} : { repeated: true }) });
  };
  const finish = (type: string, response: Record<string, unknown>, raw: string, events: ChatEvent[]) => {
    start(response, events);
    answer = response;
    // A whole response, or one whose items were never streamed.
    for (const [at, item] of records(response.output).entries()) if (!seen.has(at)) endItem(at, item, events);
    state(response, true, events);
    ended = true;
    if (type === 'response.failed') events.push({ type: 'error', error: { ...decodeError(0, raw), status: null } });
    else {
      const said = response.prompt_cache_diagnostics;
      const diagnosis = said == null ? null : openAiDiagnostics.read(said);
      events.push({ type: 'finish', reason: reasonOf(type, response), ...(diagnosis === null ? {} : { diagnosis }) });
    }
  };
  const reasonOf = (type: string, response: Record<string, unknown>): FinishReason => {
    const reason = text(record(response.incomplete_details)?.reason);
    if (type === 'response.incomplete' || response.status === 'incomplete') {
      return { unified: reason === 'content_filter' ? 'content_filter' : 'length', raw: reason };
    }
    return { unified: called ? 'tool_calls' : rejected ? 'refusal' : 'stop', raw: text(response.status) };
  };

  const reader = {
    frameKind: 'plain' as FrameKind,
    progress: 'going' as 'going' | 'paused' | 'stopped',
    feed(frame: SseFrame): ChatEvent[] {
      reader.frameKind = 'plain';
      if (frame.data === '' || frame.data === '[DONE]') return [];
      // The small steps of an item are texts.
      const event = record(frame.data.includes('.delta"') ? parseJson(frame.data) : parseExact(frame.data));
      if (event === null) return [];
      const events: ChatEvent[] = [];
      // What it cost may be reported behind the end, or behind an error.
      if (ended) {
        state(record(event.response) ?? {}, true, events);
        return events;
      }
      const type = text(event.type) ?? frame.event;
      // The last word was that something is whole, or not.
      reader.progress = type.endsWith('.done') ? 'paused' : 'going';
      const output = number(event.output_index) ?? 0;
      const place = `${output}:${number(event.content_index) ?? 0}`;
      const item = record(event.item) ?? {};
      switch (type) {
        case 'response.created':
        case 'response.in_progress': {
          const response = record(event.response) ?? {};
          start(response, events);
          state(response, false, events);
          break;
        }
        case 'response.output_item.added':
          startItem(String(output), item, events);
          break;
        case 'response.output_text.delta':
          chunkOf(place, 'text', text(event.delta), events);
          break;
        case 'response.refusal.delta':
          chunkOf(place, 'refusal', text(event.delta), events);
          break;
        case 'response.reasoning_summary_text.delta':
        case 'response.reasoning_text.delta':
          chunkOf(String(output), 'reasoning', text(event.delta), events);
          break;
        case 'response.reasoning_summary_part.added':
          // Parts of one thought are separated by a blank line.
          if ((number(event.summary_index) ?? 0) > 0) chunkOf(String(output), 'reasoning', '\n\n', events);
          break;
        case 'response.function_call_arguments.delta':
        case 'response.custom_tool_call_input.delta':
          chunkOf(String(output), 'tool-call', text(event.delta), events);
          break;
        case 'response.image_generation_call.partial_image': {
          const data = text(event.partial_image_b64);
          const source = { kind: 'base64', data: data ?? '', mimeType: 'image/png' } as const;
          if (data !== null) events.push({ type: 'media-draft', part: { type: 'image', source } });
          break;
        }
        case 'response.output_item.done':
          endItem(output, item, events);
          break;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.failed':
          if (event.type === type) reader.frameKind = 'terminal';
          reader.progress = 'stopped';
          finish(type, record(event.response) ?? {}, frame.data, events);
          break;
        case 'error':
          ended = true;
          reader.progress = 'stopped';
          events.push({
            type: 'error',
            error: { ...decodeError(0, JSON.stringify(event.error ?? event)), status: null },
          });
          break;
        default:
          if (!type.endsWith('.delta') || repeated.test(type)) break;
          isStreamed = true;
          events.push(omitted(type, event.delta));
      }
      return events;
    },
    answer: () => answer,
    end(): ChatEvent[] {
      if (ended) return [];
      ended = true;
      reader.progress = 'stopped';
      return [{ type: 'error', error: endedEarly }];
    },
  };
  return reader;
}

/** A whole response, as if its last event alone had been streamed. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const status = record(body)?.status;
  const type =
    status === 'failed' ? 'response.failed' : status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return createReader().feed({ event: type, data: JSON.stringify({ type, response: body }) });
}
