/** Amounts for people: the site's unit, currency or short numbers, and columns that add up. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatQuota, formatShortage, formOfColumn } from '../../server/contract/pricing/format.ts';

const on = (quotaPerUnit: number) => ({ inCurrency: true, quotaPerUnit });
const off = (quotaPerUnit: number) => ({ inCurrency: false, quotaPerUnit });

test.each([
  [2_000_000, 500_000, 'short', '$4.00'],
  [2_000_000, 1_000_000, 'short', '$2.00'],
  [2_000_000, 1000, 'short', '$2000.00'],
  [1, 500_000, 'short', '$0.000002'],
  [1, 1_000_000, 'exact', '$0.000001'],
  [13_499, 500_000, 'exact', '$0.026998'],
  [13_499, 500_000, 'short', '$0.03'],
  [0, 500_000, 'short', '$0.00'],
  [-500_000, 500_000, 'cents', '-$1.00'],
  [5_000_000, 500_000, 'whole', '$10'],
  [100_000, 500_000, 'whole', '$0.20'],
  [1, 10_000_000, 'exact', '$0.0000001'],
] as const)('%i quota at %i a unit, %s', (quota, unit, form, text) => {
  expect(formatQuota(quota, on(unit), form)).toBe(text);
});

test.each([1000, 500_000, 1_000_000])('without currency a unit of %i changes nothing', (unit) => {
  for (const form of ['whole', 'cents', 'short'] as const) {
    expect(formatQuota(2_500_000, off(unit), form)).toBe('2.5M');
    expect(formatQuota(12_345, off(unit), form)).toBe('12.3k');
    expect(formatQuota(9999, off(unit), form)).toBe('9999');
  }
  // What is to add up has every digit.
  expect(formatQuota(2_512_345, off(unit), 'exact')).toBe('2512345');
  expect(formOfColumn([363_700, 197_200], off(unit))).toBe('exact');
});

test('numbers below each other have one form, and add up', () => {
  const amounts = [370, 1941, 13_499, 500_000];
  const form = formOfColumn(amounts, on(500_000));
  const displayed = amounts.map((quota) => Number(formatQuota(quota, on(500_000), form).slice(1)));
  expect(form).toBe('exact');
  expect(displayed.reduce((sum, value) => sum + value, 0).toFixed(6)).toBe((515_810 / 500_000).toFixed(6));
  expect(formOfColumn([500_000, 5000, 0], on(500_000))).toBe('cents');
});

test.each([
  [0, 1, 500_000, '$0.00', '$0.01'],
  [0, 5000, 500_000, '$0.00', '$0.01'],
  [0, 5001, 500_000, '$0.00', '$0.02'],
  [14_999, 15_001, 500_000, '$0.02', '$0.04'],
  [2_512_345, 600_000_000, 500_000, '$5.02', '$1200.00'],
  [-1, 250_000, 500_000, '-$0.01', '$0.50'],
  [1, 2, 1, '$1.00', '$2.00'],
] as const)('%i quota left and %i needed at %i a unit are told in cents', (left, needed, unit, said, asked) => {
  expect(formatShortage(left, needed, on(unit))).toEqual({ left: said, needed: asked });
  expect(formatShortage(left, needed, off(unit))).toEqual({ left: String(left), needed: String(needed) });
});

test('what is needed never looks affordable: never less than it is, what is left never more, and more than what is left', () => {
  const value = (text: string) => Number(text.replace('$', ''));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e12 }),
      fc.integer({ min: 1, max: 1e12 }),
      fc.constantFrom(1, 1000, 499_999, 500_000, 1_000_000, 10_000_000),
      (remain, more, unit) => {
        const { left, needed } = formatShortage(remain, remain + more, on(unit));
        expect(left).toMatch(/^\$\d+\.\d\d$/);
        expect(needed).toMatch(/^\$\d+\.\d\d$/);
        expect(value(left)).toBeLessThanOrEqual(remain / unit);
        expect(value(needed)).toBeGreaterThanOrEqual((remain + more) / unit);
        expect(value(needed)).toBeGreaterThan(value(left));
      },
    ),
  );
});
