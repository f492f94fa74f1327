/** Many look, one timer beats; where nobody looks any more none does. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWatchdog } from '../../server/relay/delivery/watchdog.ts';
import { createPulse } from '../../server/relay/shared/pulse.ts';
import type { Departure, UpstreamSide } from '../../server/relay/upstream/client-disconnect.ts';
import type { Bytes } from '../../server/relay/upstream/open-stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('whoever looks at the same interval shares its timer, which ends with the last of them', () => {
  const pulse = createPulse();
  const seen: string[] = [];
  const one = pulse.every(100, () => seen.push('one'));
  const two = pulse.every(100, () => seen.push('two'));
  const other = pulse.every(250, () => seen.push('other'));
  expect(vi.getTimerCount()).toBe(2);
  vi.advanceTimersByTime(250);
  expect(seen).toEqual(['one', 'two', 'one', 'two', 'other']);
  one();
  one();
  other();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(100);
  expect(seen.slice(5)).toEqual(['two']);
  two();
  expect(vi.getTimerCount()).toBe(0);
  // An end that is said again ends nobody else's.
  const again = pulse.every(100, () => seen.push('again'));
  two();
  vi.advanceTimersByTime(100);
  expect(seen.slice(6)).toEqual(['again']);
  again();
  expect(vi.getTimerCount()).toBe(0);
});

test('a stream is cut for its silence alone, and not before it is open', () => {
  let at = 0;
  let aborted = 0;
  const upstream = { abort: () => void aborted++ } as unknown as UpstreamSide;
  const departure = { upstream } as unknown as Departure;
  const watchdog = createWatchdog({ pingMs: null, idleMs: 1000, now: () => at, departure }, () => undefined);
  const pass = (ms: number) => {
    at += ms;
    vi.advanceTimersByTime(ms);
  };
  pass(5000);
  expect([watchdog.idleCut(), aborted]).toEqual([false, 0]);
  watchdog.listen({ cancel: async () => undefined } as unknown as Bytes);
  pass(900);
  watchdog.heard();
  pass(900);
  expect([watchdog.idleCut(), aborted]).toEqual([false, 0]);
  pass(1100);
  expect([watchdog.idleCut(), aborted > 0]).toEqual([true, true]);
  watchdog.stop();
});
