import { expect, test } from 'vitest';
import { keepTraffic } from '../../server/threads/control/keep-traffic.ts';
import { turn, VirtualTime } from '../support/virtual-time.ts';

test('what relays counted is written every five seconds, not while the tables take nothing, and a minute after a refusal', async () => {
  const time = new VirtualTime();
  let isFresh = true;
  let refuses = false;
  let asked = 0;
  const writes: number[] = [];
  const reports: unknown[] = [];
  const traffic = keepTraffic({
    recorder: {
      add: () => undefined,
      async flush() {
        writes.push(time.monoNow());
        if (refuses) throw new Error('database is locked');
      },
    },
    ask: () => void asked++,
    fresh: async () => isFresh,
    timers: time,
    report: (error) => reports.push(error),
  });
  const written = async (ms: number) => {
    const before = writes.length;
    for (let left = ms; left > 0; left -= 5000) {
      await time.advance(5000);
      await turn();
    }
    return writes.length - before;
  };
  expect(await written(10_000)).toBe(2);
  isFresh = false;
  expect(await written(20_000)).toBe(0);
  traffic.take([]);
  await turn();
  expect(writes).toHaveLength(2);
  isFresh = true;
  refuses = true;
  expect(await written(60_000)).toBe(1);
  expect(await written(60_000)).toBe(1);
  expect(reports).toHaveLength(1);
  refuses = false;
  expect(await written(5000)).toBe(1);
  expect(await written(10_000)).toBe(2);
  expect(asked).toBe(33);
  isFresh = false;
  await traffic.stop();
  expect(writes).toHaveLength(8);
});
