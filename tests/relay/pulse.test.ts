/** Many readers share one timer; without readers it stops. */
import { expect, test } from 'vitest';
import { IntervalTimers, type Looking } from '../../server/relay/shared/interval-timers.ts';
import { VirtualTime } from '../support/virtual-time.ts';

test('watchers of the same interval share its timer, which ends with the last of them', () => {
  const time = new VirtualTime();
  const pulse = new IntervalTimers(time);
  const seen: string[] = [];
  const looking = (name: string) => ({ check: () => void seen.push(name) });
  const [one, two, other, again] = ['one', 'two', 'other', 'again'].map(looking) as [
    Looking,
    Looking,
    Looking,
    Looking,
  ];
  pulse.add(100, one);
  pulse.add(100, two);
  pulse.add(250, other);
  expect(time.waiting).toBe(2);
  time.jump(250);
  expect(seen).toEqual(['one', 'two', 'one', 'two', 'other']);
  pulse.remove(100, one);
  pulse.remove(100, one);
  pulse.remove(250, other);
  expect(time.waiting).toBe(1);
  time.jump(100);
  expect(seen.slice(5)).toEqual(['two']);
  pulse.remove(100, two);
  expect(time.waiting).toBe(0);
  // What is removed again ends no other one.
  pulse.add(100, again);
  pulse.remove(100, two);
  time.jump(100);
  expect(seen.slice(6)).toEqual(['again']);
  pulse.remove(100, again);
  expect(time.waiting).toBe(0);
});
