/** A stream on its way to a client, with nothing behind it: no ledger, no channel, no clock but the test's own. */
import type { RawFrame } from '../../server/protocols/codec.ts';
import { emptyRun } from '../../server/protocols/shared/sse.ts';
import { type Opened, ResponseStream, type Streamed } from '../../server/relay/delivery/stream.ts';

export interface StreamOptions {
  readonly idleMs?: number;
  readonly now?: () => number;
  /** Called when the upstream is ended. */
  readonly aborted?: () => void;
}

export function responseStream(opening: Streamed | Promise<Opened>, options: StreamOptions = {}): ResponseStream {
  const { idleMs = 60_000, now = () => 0, aborted = () => undefined } = options;
  const deps = {
    now,
    settings: () => ({ pingMs: null, stopWords: [], stake: 0 }),
    idleMs: () => idleMs,
    checkpointMs: 1e9,
  };
  const exchange = {
    inquiry: { protocol: 'openai-chat', stream: true, route: {}, request: { url: 'http://gateway/' } },
    grows: false,
    heldTokens: 1,
    delivered: () => undefined,
  };
  const departure = {
    upstream: { aborted: false, abort: aborted },
    gone: () => false,
    forBillAlone: () => false,
    expecting: () => undefined,
    cutBy: () => null,
  };
  return new ResponseStream(deps as never, exchange as never, departure as never, opening);
}

/** A stream that is open: `read` gives what comes next, and no frame ends it. */
export const openedStream = (read: () => Promise<{ done: boolean; value?: RawFrame[] }>): Streamed =>
  ({
    kind: 'stream',
    prepared: { channel: { id: 1 } },
    stream: {
      reader: { read, cancel: async () => undefined },
      framing: { push: (frames: RawFrame[]) => frames },
      frameRelay: {
        pass: (frame: RawFrame) => frame.bytes,
        passUnread: () => 0,
        isLast: () => false,
        error: () => null,
        awaitsBill: () => false,
        overdue: () => false,
      },
      head: [],
      ahead: emptyRun,
      last: null,
      done: false,
    },
  }) as never;
