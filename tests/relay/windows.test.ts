/** The sums of the last minutes, against a list that forgets nothing. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWindows, ringCells } from '../../server/billing/balances/rate-windows.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';

const span = 60_000;
const slot = span / 30;

/** Rings by name. */
function createWindow(spanMs: number) {
  const memory = createMemory();
  const windows = createWindows(memory, spanMs);
  const rings = { a: memory.allocate(ringCells), b: memory.allocate(ringCells) };
  type Name = keyof typeof rings;
  return {
    add: (name: Name, amount: number, at: number) => windows.add(rings[name], amount, at),
    take: (name: Name, amount: number, at: number) => windows.take(rings[name], amount, at),
    total: (name: Name, at: number) => windows.total(rings[name], at),
    waitMs: (name: Name, rest: number, at: number) => windows.waitMs(rings[name], rest, at),
  };
}

test('a window counts at most one slot too long and never too short, for each key alone', () => {
  const steps = fc.array(
    fc.record({
      pass: fc.integer({ min: 0, max: 20_000 }),
      key: fc.constantFrom('a' as const, 'b' as const),
      amount: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), steps, (begin, list) => {
      const window = createWindow(span);
      const added: { key: string; amount: number; at: number }[] = [];
      let now = begin;
      const since = (key: string, age: number) =>
        added.filter((one) => one.key === key && now - one.at < age).reduce((sum, { amount }) => sum + amount, 0);
      for (const { pass, key, amount } of list) {
        now += pass;
        window.add(key, amount, now);
        added.push({ key, amount, at: now });
        for (const each of ['a', 'b'] as const) {
          const total = window.total(each, now);
          expect(total).toBeGreaterThanOrEqual(since(each, span));
          expect(total).toBeLessThanOrEqual(since(each, span + slot + 1));
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('a request that is taken back no longer counts, as long as it counted', () => {
  const window = createWindow(span);
  window.add('a', 5, 0);
  window.add('a', 3, 10_000);
  window.take('a', 5, 0);
  expect(window.total('a', 10_000)).toBe(3);
  window.take('b', 1, 0);
  expect(window.total('b', 0)).toBe(0);
  window.take('a', 3, 10_000);
  expect(window.total('a', 90_000)).toBe(0);
  window.add('a', 2, 200_000);
  window.take('a', 3, 10_000);
  expect(window.total('a', 200_000)).toBe(2);
});

test('after the wait there is room, and not a slot earlier', () => {
  const amounts = fc.array(
    fc.record({ at: fc.integer({ min: 0, max: span }), amount: fc.integer({ min: 1, max: 9 }) }),
    {
      minLength: 1,
      maxLength: 20,
    },
  );
  fc.assert(
    fc.property(amounts, fc.integer({ min: 0, max: 60 }), (list, rest) => {
      const window = createWindow(span);
      for (const { at, amount } of list.sort((a, b) => a.at - b.at)) window.add('a', amount, at);
      const wait = window.waitMs('a', rest, span);
      if (window.total('a', span) <= rest) {
        expect(wait).toBe(0);
        return;
      }
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(span + 2 * slot);
      expect(window.total('a', span + wait)).toBeLessThanOrEqual(rest);
      const copy = createWindow(span);
      for (const { at, amount } of list) copy.add('a', amount, at);
      expect(copy.total('a', span + wait - slot - 1)).toBeGreaterThan(rest);
    }),
    { numRuns: 300 },
  );
});

test('a clock set back a little goes on counting, one set back far starts again', () => {
  const window = createWindow(span);
  window.add('a', 4, 1_000_000);
  window.add('a', 1, 995_000);
  expect(window.total('a', 1_000_000)).toBe(5);
  window.add('a', 2, 500_000);
  expect(window.total('a', 500_000)).toBe(2);
});
