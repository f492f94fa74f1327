/** Reads Cohere's answers, whole and streamed: blocks of thoughts and words, a plan before calls, sources behind the words. */

import type { ChatEvent, Citation, UnifiedFinish } from '../canonical.ts';
import type { FrameKind, StreamReader } from '../codec.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { guardedLookup, number, parseExact, record, records, text } from '../shared/json.ts';
import { Markers } from '../shared/markers.ts';
import { mediaFrom } from '../shared/media.ts';
import { StatedUsage } from '../shared/merge-usage.ts';
import { omitted } from '../shared/omitted.ts';
import type { SseFrame } from '../shared/sse.ts';
import { readUsage } from './usage.ts';

type Item = Record<string, unknown>;

export const finishReasons: Readonly<Record<string, UnifiedFinish>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  ERROR_LIMIT: 'length',
  TOOL_CALL: 'tool_calls',
  ERROR_TOXIC: 'content_filter',
};

/** One mark for each source of the cited words. */
function citationsIn(raw: Item): Citation[] {
  return records(raw.sources).map((source) => {
    const document = record(source.document) ?? record(source.tool_output) ?? {};
    return {
      url: text(document.url),
      title: text(document.title),
      quote: text(document.text) ?? text(document.snippet),
      start: number(raw.start),
      end: number(raw.end),
      dialect: 'cohere-chat',
      raw,
    };
  });
}

const contentKinds: ReadonlySet<string> = new Set(['text', 'thinking', 'image_url']);

type Kind = 'text' | 'reasoning' | 'tool-call';

const last = 'message-end';

export function createReader(): StreamReader {
  let next = 0;
  let open: { readonly kind: Kind; readonly index: number; silent: boolean } | null = null;
  /** Sources are emitted after the words they belong to. */
  let closing: number | null = null;
  let citations: Citation[] = [];
  let ended = false;
  const stated = new StatedUsage();

  const settle = (events: ChatEvent[]) => {
    if (closing === null) return;
    events.push({ type: 'text-end', index: closing, ...(citations.length === 0 ? {} : { citations }) });
    closing = null;
    citations = [];
  };
  const close = (events: ChatEvent[]) => {
    if (open === null) return;
    const { kind, index, silent } = open;
    open = null;
    if (kind === 'text') closing = index;
    else if (kind === 'reasoning') events.push({ type: 'reasoning-end', index, signature: null, redacted: null });
    else {
      if (silent) events.push({ type: 'tool-call-delta', index, arguments: '{}' });
      events.push({ type: 'tool-call-end', index });
    }
  };
  const start = (kind: Kind, events: ChatEvent[]): number => {
    close(events);
    settle(events);
    open = { kind, index: next++, silent: true };
    return open.index;
  };
  const emit = (kind: 'text' | 'reasoning', words: string | null, events: ChatEvent[]) => {
    if (words === null) return;
    if (open?.kind !== kind) events.push({ type: `${kind}-start`, index: start(kind, events) });
    events.push({ type: `${kind}-delta`, index: open?.index ?? 0, text: words });
  };
  const content = (block: Item | null, events: ChatEvent[]) => {
    emit('reasoning', text(block?.thinking), events);
    emit('text', text(block?.text), events);
    const url = text(record(block?.image_url)?.url);
    const kind = text(block?.type);
    if (url === null && kind !== null && !contentKinds.has(kind)) events.push(omitted(kind, block));
    if (url === null) return;
    close(events);
    settle(events);
    events.push({ type: 'media', part: { type: 'image', source: mediaFrom(url, 'image/png') } });
  };
  const call = (found: Item | null, events: ChatEvent[]) => {
    const name = text(record(found?.function)?.name) ?? '';
    const index = start('tool-call', events);
    events.push({ type: 'tool-call-start', index, id: text(found?.id) ?? `call_${index}_${name}`, name });
    addArguments(found, events);
  };
  const addArguments = (found: Item | null, events: ChatEvent[]) => {
    const chunk = text(record(found?.function)?.arguments);
    if (chunk === null || open?.kind !== 'tool-call') return;
    // A tool without arguments is called with `null`.
    if (open.silent && chunk.trim() === 'null') return;
    open.silent = false;
    events.push({ type: 'tool-call-delta', index: open.index, arguments: chunk });
  };
  const state = (usage: unknown, isFinal: boolean, events: ChatEvent[]) => {
    if (!stated.add(usage, isFinal)) return;
    const counted = readUsage(stated.members, stated);
    if (counted !== null) events.push({ type: 'usage', usage: counted });
  };
  const finish = (delta: Item, events: ChatEvent[]) => {
    ended = true;
    close(events);
    settle(events);
    state(delta.usage, true, events);
    const raw = text(delta.finish_reason) ?? 'COMPLETE';
    const failed = text(delta.error) ?? (raw === 'ERROR' || raw === 'TIMEOUT' ? 'the model failed' : null);
    events.push(
      failed === null
        ? { type: 'finish', reason: { unified: guardedLookup(finishReasons, raw) ?? 'other', raw } }
        : { type: 'error', error: { status: null, type: null, code: raw, message: failed } },
    );
  };

  const reader = {
    frameKind: 'plain' as FrameKind,
    feed(frame: SseFrame): ChatEvent[] {
      const body = record(parseExact(frame.data));
      const type = text(body?.type) ?? frame.event;
      reader.frameKind = type === last ? 'terminal' : 'plain';
      if (body === null) return [];
      const delta = record(body.delta) ?? {};
      const events: ChatEvent[] = [];
      // What it cost may be reported before the end, or behind it.
      if (type !== last || ended) state(delta.usage ?? body.usage, ended, events);
      if (ended) return events;
      const message = record(delta.message);
      switch (type) {
        case 'message-start':
          events.push({ type: 'response-start', id: text(body.id), model: null, created: null });
          break;
        case 'content-start':
        case 'content-delta':
          content(record(message?.content), events);
          break;
        case 'tool-plan-delta':
          emit('text', text(message?.tool_plan), events);
          break;
        case 'tool-call-start':
          call(record(message?.tool_calls), events);
          break;
        case 'tool-call-delta':
          addArguments(record(message?.tool_calls), events);
          break;
        case 'content-end':
        case 'tool-call-end':
          close(events);
          break;
        case 'citation-start': {
          const found = record(message?.citations);
          if (found !== null) for (const citation of citationsIn(found)) citations.push(citation);
          break;
        }
        case 'message-end':
          finish(delta, events);
          break;
      }
      return events;
    },
    end(): ChatEvent[] {
      if (ended) return [];
      ended = true;
      return [{ type: 'error', error: endedEarly }];
    },
  };
  return reader;
}

/** A whole answer, as if it had been streamed. */
export function decodeResponse(body: unknown): ChatEvent[] {
  const answer = record(body) ?? {};
  const message = record(answer.message);
  const reader = createReader();
  const feed = (type: string, members: Item) =>
    reader.feed({ event: '', data: JSON.stringify({ type, id: answer.id, delta: members }) });
  const found = (members: Item) => ({ message: members });
  // What has neither words nor an end is no answer.
  if (message === null) return [];
  return [
    ...feed('message-start', {}),
    ...feed('tool-plan-delta', found({ tool_plan: message.tool_plan })),
    ...records(message.content).flatMap((content) => [
      ...feed('content-start', found({ content })),
      ...feed('content-end', {}),
    ]),
    ...records(message.citations).flatMap((citations) => feed('citation-start', found({ citations }))),
    ...records(message.tool_calls).flatMap((tool_calls) => [
      ...feed('tool-call-start', found({ tool_calls })),
      ...feed('tool-call-end', {}),
    ]),
    ...feed('message-end', answer),
  ];
}

/** No other frame says how it ended or what went wrong. */
export const markers = new Markers([{ word: last }, { word: '"usage"', unless: [':null', ': null'] }]);
