import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { clockReading, createMonoClock } from '../../server/threads/relay/clock.ts';

test('a thread that begins later shows the time of the main one, however long it took to begin', async () => {
  const main = createMonoClock();
  const thread = new Worker(resolve(import.meta.dirname, '../support/clock-worker.ts'));
  try {
    const timeThere = (): Promise<number> => {
      const { promise, resolve: done } = Promise.withResolvers<number>();
      thread.onmessage = ({ data }: MessageEvent<number>) => done(data);
      thread.postMessage(clockReading());
      return promise;
    };
    await timeThere();
    // What it says lies between two looks at the clock here, but for the whole milliseconds of the wall clock.
    const before = main();
    const there = await timeThere();
    expect(there).toBeGreaterThan(before - 2);
    expect(there).toBeLessThan(main() + 2);
  } finally {
    thread.terminate();
  }
});
