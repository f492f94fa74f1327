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

class CohereReader implements StreamReader {
  frameKind: FrameKind = 'plain';
  private next = 0;
  private open: { readonly kind: Kind; readonly index: number; silent: boolean } | null = null;
  /** Sources are emitted after the words they belong to. */
  private closing: number | null = null;
  private citations: Citation[] = [];
  private ended = false;
  private readonly stated = new StatedUsage();

  private settle(events: ChatEvent[]): void {
    if (this.closing === null) return;
    events.push({
      type: 'text-end',
      index: this.closing,
      ...(this.citations.length === 0 ? {} : { citations: this.citations }),
    });
    this.closing = null;
    this.citations = [];
  }

  private close(events: ChatEvent[]): void {
    if (this.open === null) return;
    const { kind, index, silent } = this.open;
    this.open = null;
    if (kind === 'text') this.closing = index;
    else if (kind === 'reasoning') events.push({ type: 'reasoning-end', index, signature: null, redacted: null });
    else {
      if (silent) events.push({ type: 'tool-call-delta', index, arguments: '{}' });
      events.push({ type: 'tool-call-end', index });
    }
  }

  private start(kind: Kind, events: ChatEvent[]): number {
    this.close(events);
    this.settle(events);
    this.open = { kind, index: this.next++, silent: true };
    return this.open.index;
  }

  private emit(kind: 'text' | 'reasoning', words: string | null, events: ChatEvent[]): void {
    if (words === null) return;
    if (this.open?.kind !== kind) events.push({ type: `${kind}-start`, index: this.start(kind, events) });
    events.push({ type: `${kind}-delta`, index: this.open?.index ?? 0, text: words });
  }

  private content(block: Item | null, events: ChatEvent[]): void {
    this.emit('reasoning', text(block?.thinking), events);
    this.emit('text', text(block?.text), events);
    const url = text(record(block?.image_url)?.url);
    const kind = text(block?.type);
    if (url === null && kind !== null && !contentKinds.has(kind)) events.push(omitted(kind, block));
    if (url === null) return;
    this.close(events);
    this.settle(events);
    events.push({ type: 'media', part: { type: 'image', source: mediaFrom(url, 'image/png') } });
  }

  private call(found: Item | null, events: ChatEvent[]): void {
    const name = text(record(found?.function)?.name) ?? '';
    const index = this.start('tool-call', events);
    events.push({ type: 'tool-call-start', index, id: text(found?.id) ?? `call_${index}_${name}`, name });
    this.addArguments(found, events);
  }

  private addArguments(found: Item | null, events: ChatEvent[]): void {
    const chunk = text(record(found?.function)?.arguments);
    if (chunk === null || this.open?.kind !== 'tool-call') return;
    // A tool without arguments is called with `null`.
    if (this.open.silent && chunk.trim() === 'null') return;
    this.open.silent = false;
    events.push({ type: 'tool-call-delta', index: this.open.index, arguments: chunk });
  }

  private state(usage: unknown, isFinal: boolean, events: ChatEvent[]): void {
    if (!this.stated.add(usage, isFinal)) return;
    const counted = readUsage(this.stated.members, this.stated);
    if (counted !== null) events.push({ type: 'usage', usage: counted });
  }

  private finish(delta: Item, events: ChatEvent[]): void {
    this.ended = true;
    this.close(events);
    this.settle(events);
    this.state(delta.usage, true, events);
    const raw = text(delta.finish_reason) ?? 'COMPLETE';
    const failed = text(delta.error) ?? (raw === 'ERROR' || raw === 'TIMEOUT' ? 'the model failed' : null);
    events.push(
      failed === null
        ? { type: 'finish', reason: { unified: guardedLookup(finishReasons, raw) ?? 'other', raw } }
        : { type: 'error', error: { status: null, type: null, code: raw, message: failed } },
    );
  }

  feed(frame: SseFrame): ChatEvent[] {
    const body = record(parseExact(frame.data));
    const type = text(body?.type) ?? frame.event;
    this.frameKind = type === last ? 'terminal' : 'plain';
    if (body === null) return [];
    const delta = record(body.delta) ?? {};
    const events: ChatEvent[] = [];
    // What it cost may be reported before the end, or behind it.
    if (type !== last || this.ended) this.state(delta.usage ?? body.usage, this.ended, events);
    if (this.ended) return events;
    const message = record(delta.message);
    switch (type) {
      case 'message-start':
        events.push({ type: 'response-start', id: text(body.id), model: null, created: null });
        break;
      case 'content-start':
      case 'content-delta':
        this.content(record(message?.content), events);
        break;
      case 'tool-plan-delta':
        this.emit('text', text(message?.tool_plan), events);
        break;
      case 'tool-call-start':
        this.call(record(message?.tool_calls), events);
        break;
      case 'tool-call-delta':
        this.addArguments(record(message?.tool_calls), events);
        break;
      case 'content-end':
      case 'tool-call-end':
        this.close(events);
        break;
      case 'citation-start': {
        const found = record(message?.citations);
        if (found !== null) for (const citation of citationsIn(found)) this.citations.push(citation);
        break;
      }
      case 'message-end':
        this.finish(delta, events);
        break;
    }
    return events;
  }

  end(): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    return [{ type: 'error', error: endedEarly }];
  }
}

export const createReader = (): StreamReader => new CohereReader();

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
