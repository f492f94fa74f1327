/** Every one of several prices can be the one that counts. */
import { expect, test } from 'vitest';
import { compileTermRules, priceModifiers } from '../../server/contract/pricing/modifiers.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { toolPrice } from '../../server/contract/pricing/share.ts';

test('an unnamed tool costs what the dearest of its variants costs, in whatever order they stand', () => {
  const priced = (...rows: [string, number][]) => ({ toolPrices: new Map(rows) }) as unknown as Prices;
  const [low, high, other] = [
    ['draw-low', 1] as [string, number],
    ['draw-high', 2] as [string, number],
    ['web', 5] as [string, number],
  ];
  expect(toolPrice(priced(low, high, other), 'draw')).toBe(2);
  expect(toolPrice(priced(high, low, other), 'draw')).toBe(2);
  expect(toolPrice(priced(high, low, other), 'unknown')).toBe(5);
});

test.each(['input', 'output', 'cache_read', 'cache_write'])(
  'a term that makes the %s alone dearer counts without discounts',
  (dearer) => {
    const step = { above: 0, input: 1, output: 1, cache_read: 1, cache_write: 1, [dearer]: 2 };
    const counted = (steps: object) =>
      priceModifiers(compileTermRules({}, { m: { 'speed:fast': [steps] } }), ['m'], { speed: 'fast' }, false)
        .surcharges;
    expect(counted(step)).toMatchObject([{ name: 'speed:fast' }]);
    expect(counted({ ...step, [dearer]: 0.5 })).toEqual([]);
  },
);
