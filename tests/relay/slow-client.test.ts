/** Streams whose client, or whose upstream, is silent for a while. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rawFrame } from '../../server/protocols/shared/sse.ts';
import type { Opened } from '../../server/relay/delivery/stream.ts';
import { openedStream, passingStream, responseStream } from '../support/response-stream.ts';

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
    write(piece) {
      written.push(Number(piece[0]));
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
  let hear: (() => void) | null = null;
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
          hear = () => resolve({ done: false, value: [] });
        }),
    ),
  );
  await pass(0);
  await pass(900);
  (hear as (() => void) | null)?.();
  await pass(0);
  await pass(900);
  expect(aborted).toBe(0);
  await pass(1100);
  expect(aborted).toBe(1);
});

const said = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

test('frames that nobody looks at go out as one piece and are counted one by one for recovery', async () => {
  const chunk = `${said('b')}${said('c')}: ping\n\n${said('d').slice(0, 9)}`;
  const written: string[] = [];
  const counted: number[] = [];
  const opened = await passingStream(said('a'), [chunk, `${said('d').slice(9)}${said('e')}`]);
  const stream = responseStream(opened, { delivered: (frames) => void counted.push(frames) });
  void stream.pipeTo({
    write: (piece) => void written.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString()),
    flush: () => null,
    end: () => null,
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(written).toEqual([said('a'), `${said('b')}${said('c')}: ping\n\n`, `${said('d')}${said('e')}`]);
  // What was read while the stream was opened, what else came with it, and the two chunks.
  expect(counted.filter((frames) => frames > 0)).toEqual([1, 3, 2]);
});

test('a client that takes nothing holds back the finish reason that came with the words before it', async () => {
  const written: string[] = [];
  const taken = Promise.withResolvers<void>();
  const opened = await passingStream(said('a'), [`${said('b')}${said('c')}${said('', 'stop')}`]);
  const stream = responseStream(opened, { billMs: 100 });
  void stream.pipeTo({
    write(piece) {
      written.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString());
      return written.length === 2 ? taken.promise : null;
    },
    flush: () => null,
    end: () => null,
  });
  await vi.advanceTimersByTimeAsync(500);
  expect(written).toEqual([said('a'), said('b') + said('c')]);
  taken.resolve();
  // It has waited for the bill since it was looked at.
  await vi.advanceTimersByTimeAsync(10);
  expect(written).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(500);
  expect(written.slice(2)).toEqual([said('', 'stop')]);
});
