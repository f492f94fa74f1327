/** Frames whose client takes nothing for a while. */
import { expect, test } from 'vitest';
import { type RawFrame, rawFrame } from '../../server/protocols/shared/sse.ts';
import { createFrames } from '../../server/relay/delivery/frames.ts';

test('a client that takes nothing holds back the frames that came together with those it has', async () => {
  const written: number[] = [];
  const taken = Promise.withResolvers<void>();
  const client = {
    write(piece: Uint8Array) {
      written.push(piece[0] ?? 0);
      return written.length === 1 ? taken.promise : null;
    },
    taken: (waiting: Promise<unknown>) => waiting,
    flush: () => null,
    waited: () => false,
    holds: () => false,
  };
  const frameRelay = {
    pass: (frame: RawFrame) => frame,
    isLast: () => false,
    error: () => null,
    awaitsBill: () => false,
  };
  const { deliver } = createFrames(
    { departure: { forBillAlone: () => false }, cover: null, watch: null, delivered: () => undefined } as never,
    { frameRelay } as never,
    { client, watchdog: { startedMs: 0 }, ending: {} } as never,
  );
  // Bytes of their own each: what lies side by side goes out as one piece.
  const over = deliver([1, 2, 3, 4].map((n) => rawFrame(Uint8Array.of(n))));
  await Promise.resolve();
  expect(written).not.toContain(4);
  taken.resolve();
  expect(await over).toBe(false);
  expect(written).toEqual([1, 2, 3, 4]);
});
