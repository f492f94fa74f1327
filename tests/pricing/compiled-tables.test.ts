/** Prices are compiled once for the same texts on the same day, and anew whenever one of them, or the day, is another. */
import { expect, test } from 'vitest';
import { compilePriceTables, type PriceOptionKey, priceOptionKeys } from '../../server/contract/pricing/tables.ts';

const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);
const dates = JSON.stringify({ m: [{ from: '2026-03-01', until: '2026-03-31', ModelRatio: 3 }] });
const base: Partial<Record<PriceOptionKey, string>> = { ModelRatio: '{"m":1}', PriceDates: dates };
const compiled = (texts: typeof base, day: string) => compilePriceTables((key) => texts[key] ?? '', at(day));

test('the same texts on the same day are the same tables, in between others', () => {
  const first = compiled(base, '2026-02-10');
  compiled({ ...base, ModelRatio: '{"m":2}' }, '2026-02-10');
  expect(compiled({ ...base }, '2026-02-11')).toBe(first);
});

test.each(priceOptionKeys)('another text of %s makes other tables', (key) => {
  const first = compiled(base, '2026-02-10');
  const text = key === 'QuotaPerUnit' ? '7' : '{"other":1}';
  expect(compiled({ ...base, [key]: text }, '2026-02-10')).not.toBe(first);
});

test('a price with a date holds from its first day to its last, whatever was asked before', () => {
  const ratioOn = (day: string) => compiled(base, day).modelRatio.get('m');
  const days = ['2026-02-28', '2026-03-01', '2026-03-31', '2026-04-01'];
  expect(days.map(ratioOn)).toEqual([1, 3, 3, 1]);
  // A clock that is put back.
  expect(days.toReversed().map(ratioOn)).toEqual([1, 3, 3, 1]);
});
