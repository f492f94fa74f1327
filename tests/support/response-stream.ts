/** A stream on its way to a client, with nothing behind it: no ledger, no channel, no clock but the test's own. */

import type { Timers } from '../../server/contract/timers.ts';
import { codecFor } from '../../server/protocols/registry.ts';
import { emptyRun, type RawFrame, runOf, SseSplitter } from '../../server/protocols/shared/sse.ts';
import { type Opened, ResponseStream, type Streamed } from '../../server/relay/delivery/stream.ts';
import { Deadlines } from '../../server/relay/shared/deadline.ts';
import { IntervalTimers } from '../../server/relay/shared/interval-timers.ts';
import { PassthroughRelay } from '../../server/relay/upstream/frame-relay.ts';
import { openStream } from '../../server/relay/upstream/open-stream.ts';
import { VirtualTime } from './virtual-time.ts';

export interface StreamOptions {
  readonly idleMs?: number;
  /** Absent = time stands still. */
  readonly timers?: Timers;
  readonly billMs?: number;
  /** Called when the upstream is ended. */
  readonly aborted?: () => void;
  /** Called with the number of frames that go out. */
  readonly delivered?: (frames: number) => void;
}

export function responseStream(opening: Streamed | Promise<Opened>, options: StreamOptions = {}): ResponseStream {
  const {
    billMs = 0,
    idleMs = 60_000,
    timers = new VirtualTime(0),
    aborted = () => undefined,
    delivered = () => undefined,
  } = options;
  const deps = {
    now: timers.now,
    timers,
    deadlines: new Deadlines(timers),
    pulse: new IntervalTimers(timers),
    state: { settings: { pingMs: null, stopWords: [], stake: 0 } },
    idleMs: () => idleMs,
    works: () => undefined,
    billMs,
    checkpointMs: 1e9,
    report: () => false,
  };
  const exchange = {
    parsed: { protocol: 'openai-chat', stream: true, route: {}, request: { url: 'http://gateway/' } },
    grows: false,
    reservedTokens: 1,
    delivered,
  };
  const departure = {
    upstream: { aborted: false, abort: aborted },
    isDisconnected: false,
    forUsageOnly: false,
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
      framing: { advance: runOf },
      frameRelay: {
        pass: (frame: RawFrame) => frame.bytes,
        passUnread: () => 0,
        isLast: false,
        error: null,
        defect: null,
        awaitsBill: false,
        unreadBytes: 0,
      },
      head: [],
      early: emptyRun,
      last: null,
      done: false,
    },
  }) as never;

/** One in the client's dialect whose first content has been read: these chunks follow, and then silence. */
export async function passingStream(first: string, chunks: readonly string[]): Promise<Streamed> {
  const encoder = new TextEncoder();
  const left = [first, ...chunks].map((text) => encoder.encode(text));
  const never = new Promise<never>(() => undefined);
  const read = (): Promise<{ done: boolean; value: Uint8Array }> => {
    const value = left.shift();
    return value === undefined ? never : Promise.resolve({ done: false, value });
  };
  const opening = await openStream({
    upstream: { getReader: () => ({ read, cancel: async () => undefined }) } as never,
    framing: new SseSplitter(),
    frameRelay: new PassthroughRelay(codecFor('openai-chat').upstream, false, () => 0),
    firstMs: 1000,
    idleMs: 1000,
    now: () => 0,
    deadlines: new Deadlines(new VirtualTime()),
    sentMs: 0,
  });
  if (!opening.ok) throw new Error(opening.reason);
  return { kind: 'stream', prepared: { channel: { id: 1 } }, stream: opening.stream } as never;
}
