/** A relay thread that stands still is reported with its request, and replaced where others serve. */
import { expect, test } from 'vitest';
import { forgetPulse, newPulse, Pulse, type Stall, StallWatch, stallsIn } from '../../server/threads/relay/pulse.ts';

const lookMs = 250;

function watched(limitMs: number, threads = 1) {
  const pulses = Array.from({ length: threads }, newPulse);
  const relays = pulses.map((memory) => new Pulse(memory));
  const found: Stall[] = [];
  const over: Stall[] = [];
  const watch = new StallWatch({
    pulses,
    limitMs,
    lookMs,
    counts: true,
    found: (stall) => found.push(stall),
    over: (stall) => over.push(stall),
  });
  let nowMs = 1_000_000;
  return {
    pulses,
    relays,
    found,
    over,
    /** @param beating threads that go on meanwhile. */
    pass(ms: number, beating: readonly Pulse[] = []) {
      for (const end = nowMs + ms; nowMs < end; ) {
        nowMs += lookMs;
        for (const relay of beating) relay.beat();
        watch.look(nowMs);
      }
    },
    /** The watch itself does not run meanwhile. */
    sleep(ms: number) {
      nowMs += ms;
      watch.look(nowMs);
    },
  };
}

test('a thread that stands still for two seconds is reported once, with the request it works on, and counted', () => {
  const { pulses, relays, found, over, pass } = watched(2000);
  const [relay] = relays as [Pulse];
  pass(1000, [relay]);
  relay.works('20261128221455123abcdefgh');
  pass(1750);
  expect(found).toEqual([]);
  pass(5000);
  expect(found).toEqual([{ thread: 1, requestId: '20261128221455123abcdefgh', ms: 2000 }]);
  expect(stallsIn(pulses)).toBe(1);
  expect(over).toEqual([]);
  pass(500, [relay]);
  expect(over).toEqual([{ thread: 1, requestId: '20261128221455123abcdefgh', ms: 6750 }]);
  // Another time is another report.
  relay.works('b');
  pass(2250);
  expect(found.slice(1)).toEqual([{ thread: 1, requestId: 'b', ms: 2000 }]);
  expect(stallsIn(pulses)).toBe(2);
});

test('one thread that stands still is told from those that go on', () => {
  const { relays, found, pass } = watched(2000, 3);
  const [first, second, third] = relays as [Pulse, Pulse, Pulse];
  pass(500, relays);
  second.works('mine');
  pass(3000, [first, third]);
  expect(found).toEqual([{ thread: 2, requestId: 'mine', ms: 2000 }]);
});

test('a thread that has not begun, or whose place is free, is not waited for', () => {
  const { pulses, relays, found, pass } = watched(2000);
  const [relay] = relays as [Pulse];
  pass(10_000);
  expect(found).toEqual([]);
  pass(500, [relay]);
  forgetPulse(pulses[0] as SharedArrayBuffer);
  pass(10_000);
  expect(found).toEqual([]);
});

test('time in which nothing of the process ran is no stall', () => {
  const { relays, found, sleep, pass } = watched(2000);
  const [relay] = relays as [Pulse];
  pass(500, [relay]);
  sleep(3_600_000);
  expect(found).toEqual([]);
  pass(500, [relay]);
  expect(found).toEqual([]);
});

test('the request is noted when it changes; the longest id that is kept has 64 characters', () => {
  const { relays, found, pass } = watched(2000);
  const [relay] = relays as [Pulse];
  pass(500, [relay]);
  relay.works('a'.repeat(100));
  relay.works('short');
  relay.works('short');
  pass(2250);
  relay.beat();
  pass(250);
  relay.works('b'.repeat(100));
  pass(2500);
  expect(found.map(({ requestId }) => requestId)).toEqual(['short', 'b'.repeat(64)]);
});
