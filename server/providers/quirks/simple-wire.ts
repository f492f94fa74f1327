/** A wire that knows words alone: built from how it asks, what a frame says, and how it ends. */
import type { ChatEvent, ChatRequest, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { Dropped, StreamReader, UpstreamHalf } from '../../protocols/codec.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import type { Wire } from '../quirk.ts';

export interface Said {
  readonly text?: string | null;
  readonly thought?: string | null;
  readonly usage?: Usage | null;
  readonly error?: UpstreamError | null;
  readonly end?: 'stop' | 'length' | 'content_filter';
}

export interface SimpleWire {
  readonly encodeRequest: (request: ChatRequest, dropped: Dropped) => Record<string, unknown>;
  /** What one frame of a stream says. */
  readonly frame: (body: Record<string, unknown>, event: string) => Said;
  /** What a whole answer says. */
  readonly whole: (body: Record<string, unknown>) => Said;
  readonly decodeError: (status: number, body: Record<string, unknown>) => UpstreamError;
}

function createReader(read: (body: Record<string, unknown>, event: string) => Said): StreamReader {
  let open: { readonly kind: 'text' | 'reasoning'; readonly index: number } | null = null;
  let next = 0;
  let started = false;
  let ended = false;
  const close = (events: ChatEvent[]) => {
    if (open?.kind === 'text') events.push({ type: 'text-end', index: open.index });
    if (open?.kind === 'reasoning')
      events.push({ type: 'reasoning-end', index: open.index, signature: null, redacted: null });
    open = null;
  };
  const say = (kind: 'text' | 'reasoning', words: string | null | undefined, events: ChatEvent[]) => {
    if (words === null || words === undefined || words === '') return;
    if (open?.kind !== kind) {
      close(events);
      open = { kind, index: next++ };
      events.push({ type: `${kind}-start`, index: open.index });
    }
    events.push({ type: `${kind}-delta`, index: open.index, text: words });
  };
  return {
    feed(frame) {
      const body = ended ? null : record(parseJson(frame.data));
      if (body === null) return [];
      const said = read(body, frame.event);
      const events: ChatEvent[] = [];
      if (!started) {
        started = true;
        events.push({ type: 'response-start', id: null, model: null, created: null });
      }
      if (said.error != null) {
        ended = true;
        return [{ type: 'error', error: said.error }];
      }
      say('reasoning', said.thought, events);
      say('text', said.text, events);
      if (said.usage != null) events.push({ type: 'usage', usage: said.usage });
      if (said.end !== undefined) {
        ended = true;
        close(events);
        events.push({ type: 'finish', reason: { unified: said.end, raw: null } });
      }
      return events;
    },
    end() {
      if (ended) return [];
      ended = true;
      const events: ChatEvent[] = [];
      close(events);
      const error = { status: null, type: null, code: null, message: 'the stream ended early' };
      events.push({ type: 'error', error });
      return events;
    },
  };
}

export function simpleWire(wire: SimpleWire): Wire {
  const upstream: UpstreamHalf = {
    decodeResponse(body) {
      const answer = record(body) ?? {};
      const reader = createReader(() => ({ ...wire.whole(answer), end: wire.whole(answer).end ?? 'stop' }));
      return reader.feed({ event: '', data: '{}' });
    },
    reader: () => createReader(wire.frame),
    decodeError: (status, body) => wire.decodeError(status, record(parseJson(body)) ?? {}),
    readUsage: (body) => wire.whole(record(body) ?? {}).usage ?? null,
    isTerminal: () => false,
    isUsageOnly: () => false,
    mayMatter: () => true,
  };
  return { upstream, encodeRequest: wire.encodeRequest };
}
