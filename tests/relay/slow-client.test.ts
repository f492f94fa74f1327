/** Streams whose client, or whose upstream, is silent for a while. */
import { expect, test } from 'vitest';
import { rawFrame } from '../../server/protocols/shared/sse.ts';
import type { Opened } from '../../server/relay/delivery/stream.ts';
import { openedStream, responseStream } from '../support/response-stream.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const never = new Promise<never>(() => undefined);

test('a client that takes nothing holds back the frames that came together with those it has', async () => {
  const written: number[] = [];
  const taken = Promise.withResolvers<void>();
  const frames = [1, 2, 3, 4].map((n) => rawFrame(Uint8Array.of(n)));
  const reads = [Promise.resolve({ done: false, value: frames })];
  const time = new VirtualTime();
  const stream = responseStream(
    openedStream(() => reads.shift() ?? never),
    { timers: time },
  );
  void stream.pipeTo({
    write(chunk) {
      written.push(Number(chunk[0]));
      return written.length === 1 ? taken.promise : null;
    },
    flush: () => null,
    end: () => null,
  });
  await time.advance(10);
  expect(written).toContain(1);
  expect(written).not.toContain(4);
  taken.resolve();
  await time.advance(10);
  expect(written).toEqual([1, 2, 3, 4]);
});

test('a stream is cut for its silence alone, and not before it is open', async () => {
  const time = new VirtualTime();
  let aborted = 0;
  let receive: (() => void) | null = null;
  const opening = Promise.withResolvers<Opened>();
  const stream = responseStream(opening.promise, { idleMs: 1000, timers: time, aborted: () => void aborted++ });
  void stream.pipeTo({ write: () => null, flush: () => null, end: () => null });
  await time.advance(5000);
  expect(aborted).toBe(0);
  opening.resolve(
    openedStream(
      () =>
        new Promise((resolve) => {
          receive = () => resolve({ done: false, value: [] });
        }),
    ),
  );
  await time.advance(0);
  await time.advance(900);
  (receive as (() => void) | null)?.();
  await time.advance(0);
  await time.advance(900);
  expect(aborted).toBe(0);
  await time.advance(1100);
  expect(aborted).toBe(1);
});
