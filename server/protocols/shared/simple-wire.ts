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

class SimpleReader implements StreamReader {
  frameKind: FrameKind = 'plain';
  private open: { readonly kind: 'text' | 'reasoning'; readonly index: number } | null = null;
  private next = 0;
  private called = 0;
  private citations: Citation[] = [];
  private started = false;
  private ended = false;
  private readonly stated = new StatedUsage();

  constructor(
    private readonly read: (body: Record<string, unknown>, event: string) => WireChunk,
    private readonly readUsage: SimpleWire['readUsage'],
    private readonly isLast?: (body: Record<string, unknown>) => boolean,
  ) {}

  private close(events: ChatEvent[]): void {
    if (this.open?.kind === 'text') {
      events.push({
        type: 'text-end',
        index: this.open.index,
        ...(this.citations.length === 0 ? {} : { citations: this.citations }),
      });
      this.citations = [];
    }
    if (this.open?.kind === 'reasoning')
      events.push({ type: 'reasoning-end', index: this.open.index, signature: null, redacted: null });
    this.open = null;
  }

  private emit(kind: 'text' | 'reasoning', words: string | null | undefined, events: ChatEvent[]): void {
    if (words === null || words === undefined || words === '') return;
    if (this.open?.kind !== kind) {
      this.close(events);
      this.open = { kind, index: this.next++ };
      events.push({ type: `${kind}-start`, index: this.open.index });
    }
    events.push({ type: `${kind}-delta`, index: this.open.index, text: words });
  }

  private call({ id, name, arguments: input }: NonNullable<WireChunk['calls']>[number], events: ChatEvent[]): void {
    this.close(events);
    const index = this.next++;
    events.push(
      { type: 'tool-call-start', index, id: id ?? `call_${this.called}_${name}`, name },
      { type: 'tool-call-delta', index, arguments: input },
      { type: 'tool-call-end', index },
    );
    this.called++;
  }

  feed(frame: SseFrame): ChatEvent[] {
    const body = record(parseExact(frame.data));
    this.frameKind = this.isLast?.(body ?? {}) === true ? 'terminal' : 'plain';
    if (body === null) return [];
    const chunk = this.read(body, frame.event);
    const usage = this.stated.add(chunk.usage, this.ended || chunk.end !== undefined)
      ? usageOf(this.stated, this.readUsage)
      : null;
    // What it cost may be reported behind the end.
    if (this.ended) return usage === null ? [] : [{ type: 'usage', usage }];
    const events: ChatEvent[] = [];
    if (!this.started) {
      this.started = true;
      events.push({ type: 'response-start', id: null, model: null, created: null });
    }
    if (chunk.error != null) {
      this.ended = true;
      return [{ type: 'error', error: chunk.error }];
    }
    this.emit('reasoning', chunk.thought, events);
    this.emit('text', chunk.text, events);
    for (const part of chunk.media ?? []) {
      this.close(events);
      events.push({ type: 'media', part });
    }
    if (chunk.citations !== undefined) for (const citation of chunk.citations) this.citations.push(citation);
    for (const one of chunk.calls ?? []) this.call(one, events);
    if (usage !== null) events.push({ type: 'usage', usage });
    if (chunk.end !== undefined) {
      this.ended = true;
      this.close(events);
      const unified = this.called > 0 && chunk.end === 'stop' ? 'tool_calls' : chunk.end;
      events.push({ type: 'finish', reason: { unified, raw: chunk.raw ?? null } });
    }
    return events;
  }

  end(): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    const events: ChatEvent[] = [];
    this.close(events);
    events.push({ type: 'error', error: endedEarly });
    return events;
  }
}

function usageOf(stated: StatedUsage, readUsage: SimpleWire['readUsage']): Usage | null {
  const usage = stated.members === null ? null : (readUsage?.(stated.members) ?? null);
  return usage === null ? null : { ...usage, ...stated.mark() };
}

export function simpleWire(wire: SimpleWire): Wire {
  const upstream: UpstreamHalf = {
    decodeResponse(body) {
      const answer = record(body) ?? {};
      const reader = new SimpleReader(
        () => ({ ...wire.whole(answer), end: wire.whole(answer).end ?? 'stop' }),
        wire.readUsage,
      );
      return reader.feed({ event: '', data: '{}' });
    },
    reader: () => new SimpleReader(wire.frame, wire.readUsage, wire.isLast),
    decodeError: (status, body) => wire.decodeError(status, record(parseJson(body)) ?? {}),
    readUsage: (body) => {
      const stated = record(wire.whole(record(body) ?? {}).usage);
      return stated === null ? null : (wire.readUsage?.(stated) ?? null);
    },
    markers: null,
  };
  return { upstream, encodeRequest: wire.encodeRequest };
}
