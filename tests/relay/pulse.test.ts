/** Many look, one timer beats; where nobody looks any more none does. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPulse } from '../../server/relay/shared/pulse.ts';

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
