/** Streams whose client, or whose upstream, is silent for a while. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rawFrame } from '../../server/protocols/shared/sse.ts';
import type { Opened } from '../../server/relay/delivery/stream.ts';
import { openedStream, responseStream } from '../support/response-stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => undefined);

test('a client that takes nothing holds back the frames that came together with those it has', async () => {
  const written: number[] = [];
  const taken = Promise.withResolvers<void>();
  const frames = [1, 2, 3, 4].map((n) => rawFrame(Uint8Array.of(n)));
  const reads = [Promise.resolve({ done: false, value: frames })];
  const stream = responseStream(openedStream(() => reads.shift() ?? never));
  void stream.pipeTo({
    write(chunk) {
      written.push(Number(chunk[0]));
      return written.length === 1 ? taken.promise : null;
    },
    flush: () => null,
    end: () => null,
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(written).toContain(1);
  expect(written).not.toContain(4);
  taken.resolve();
  await vi.advanceTimersByTimeAsync(10);
  expect(written).toEqual([1, 2, 3, 4]);
});

test('a stream is cut for its silence alone, and not before it is open', async () => {
  let at = 0;
  let aborted = 0;
  let receive: (() => void) | null = null;
  const opening = Promise.withResolvers<Opened>();
  const stream = responseStream(opening.promise, { idleMs: 1000, now: () => at, aborted: () => void aborted++ });
  void stream.pipeTo({ write: () => null, flush: () => null, end: () => null });
  const pass = async (ms: number) => {
    at += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  await pass(5000);
  expect(aborted).toBe(0);
  opening.resolve(
    openedStream(
      () =>
        new Promise((resolve) => {
          receive = () => resolve({ done: false, value: [] });
        }),
    ),
  );
  await pass(0);
  await pass(900);
  (receive as (() => void) | null)?.();
  await pass(0);
  await pass(900);
  expect(aborted).toBe(0);
  await pass(1100);
  expect(aborted).toBe(1);
});
