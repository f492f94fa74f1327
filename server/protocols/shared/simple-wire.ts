/** A wire without blocks: built from how it asks, what a frame says (words, whole calls, sources), and how it ends. */

import type {
  ChatEvent,
  ChatRequest,
  Citation,
  DeliveredPart,
  UnifiedFinish,
  UpstreamError,
  Usage,
} from '../canonical.ts';
import type { Dropped, FrameKind, StreamReader, UpstreamHalf, Wire } from '../codec.ts';
import { endedEarly } from './ended-early.ts';
import { type Json, parseExact, parseJson, record } from './json.ts';
import { StatedUsage } from './merge-usage.ts';
import type { SseFrame } from './sse.ts';

export interface WireChunk {
  readonly text?: string | null;
  readonly thought?: string | null;
  /** Pictures and the like, each whole. */
  readonly media?: readonly DeliveredPart[];
  /** Calls of tools, each in one chunk. `id` null = the upstream gives none. */
  readonly calls?: readonly { readonly id: string | null; readonly name: string; readonly arguments: string }[];
  /** What the text so far rests on. */
  readonly citations?: readonly Citation[];
  /** In the members that `readUsage` reads. */
  readonly usage?: unknown;
  readonly error?: UpstreamError | null;
  readonly end?: UnifiedFinish;
  /** The upstream's own word for the end. */
  readonly raw?: string | null;
}

export interface SimpleWire {
  readonly encodeRequest: (request: ChatRequest, dropped: Dropped) => Record<string, unknown>;
  /** What one frame of a stream says. */
  readonly frame: (body: Record<string, unknown>, event: string) => WireChunk;
  /** What a whole answer says. */
  readonly whole: (body: Record<string, unknown>) => WireChunk;
  /** Usage of the answer from what its frames stated; absent = they state none. */
  readonly readUsage?: (stated: Json) => Usage | null;
  readonly decodeError: (status: number, body: Record<string, unknown>) => UpstreamError;
  /** Whether nothing follows a frame; where the upstream closes by itself it need not be known. */
  readonly isLast?: (body: Record<string, unknown>) => boolean;
}

function createReader(
  read: (body: Record<string, unknown>, event: string) => WireChunk,
  readUsage: SimpleWire['readUsage'],
  isLast?: (body: Record<string, unknown>) => boolean,
): StreamReader {
  let open: { readonly kind: 'text' | 'reasoning'; readonly index: number } | null = null;
  let next = 0;
  let called = 0;
  let citations: Citation[] = [];
  let started = false;
  let ended = false;
  const stated = new StatedUsage();
  const close = (events: ChatEvent[]) => {
    if (open?.kind === 'text') {
      events.push({ type: 'text-end', index: open.index, ...(citations.length === 0 ? {} : { citations }) });
      citations = [];
    }
    if (open?.kind === 'reasoning')
      events.push({ type: 'reasoning-end', index: open.index, signature: null, redacted: null });
    open = null;
  };
  const emit = (kind: 'text' | 'reasoning', words: string | null | undefined, events: ChatEvent[]) => {
    if (words === null || words === undefined || words === '') return;
    if (open?.kind !== kind) {
      close(events);
      open = { kind, index: next++ };
      events.push({ type: `${kind}-start`, index: open.index });
    }
    events.push({ type: `${kind}-delta`, index: open.index, text: words });
  };
  const call = ({ id, name, arguments: input }: NonNullable<WireChunk['calls']>[number], events: ChatEvent[]) => {
    close(events);
    const index = next++;
    events.push(
      { type: 'tool-call-start', index, id: id ?? `call_${called}_${name}`, name },
      { type: 'tool-call-delta', index, arguments: input },
      { type: 'tool-call-end', index },
    );
    called++;
  };
  const reader = {
    frameKind: 'plain' as FrameKind,
    feed(frame: SseFrame): ChatEvent[] {
      const body = record(parseExact(frame.data));
      reader.frameKind = isLast?.(body ?? {}) === true ? 'terminal' : 'plain';
      if (body === null) return [];
      const chunk = read(body, frame.event);
      const usage = stated.add(chunk.usage, ended || chunk.end !== undefined) ? usageOf(stated, readUsage) : null;
      // What it cost may be reported behind the end.
      if (ended) return usage === null ? [] : [{ type: 'usage', usage }];
      const events: ChatEvent[] = [];
      if (!started) {
        started = true;
        events.push({ type: 'response-start', id: null, model: null, created: null });
      }
      if (chunk.error != null) {
        ended = true;
        return [{ type: 'error', error: chunk.error }];
      }
      emit('reasoning', chunk.thought, events);
      emit('text', chunk.text, events);
      for (const part of chunk.media ?? []) {
        close(events);
        events.push({ type: 'media', part });
      }
      if (chunk.citations !== undefined) for (const citation of chunk.citations) citations.push(citation);
      for (const one of chunk.calls ?? []) call(one, events);
      if (usage !== null) events.push({ type: 'usage', usage });
      if (chunk.end !== undefined) {
        ended = true;
        close(events);
        const unified = called > 0 && chunk.end === 'stop' ? 'tool_calls' : chunk.end;
        events.push({ type: 'finish', reason: { unified, raw: chunk.raw ?? null } });
      }
      return events;
    },
    end(): ChatEvent[] {
      if (ended) return [];
      ended = true;
      const events: ChatEvent[] = [];
      close(events);
      events.push({ type: 'error', error: endedEarly });
      return events;
    },
  };
  return reader;
}

function usageOf(stated: StatedUsage, readUsage: SimpleWire['readUsage']): Usage | null {
  const usage = stated.members === null ? null : (readUsage?.(stated.members) ?? null);
  return usage === null ? null : { ...usage, ...stated.mark() };
}

export function simpleWire(wire: SimpleWire): Wire {
  const upstream: UpstreamHalf = {
    decodeResponse(body) {
      const answer = record(body) ?? {};
      const reader = createReader(
        () => ({ ...wire.whole(answer), end: wire.whole(answer).end ?? 'stop' }),
        wire.readUsage,
      );
      return reader.feed({ event: '', data: '{}' });
    },
    reader: () => createReader(wire.frame, wire.readUsage, wire.isLast),
    decodeError: (status, body) => wire.decodeError(status, record(parseJson(body)) ?? {}),
    readUsage: (body) => {
      const stated = record(wire.whole(record(body) ?? {}).usage);
      return stated === null ? null : (wire.readUsage?.(stated) ?? null);
    },
    markers: null,
  };
  return { upstream, encodeRequest: wire.encodeRequest };
}
