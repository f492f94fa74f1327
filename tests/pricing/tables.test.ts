import { expect, test } from 'vitest';
import { pricingIsFresh } from '../../scripts/generate-pricing.ts';
import { quotaOf } from '../../server/contract/pricing/charge.ts';
import { ratioOf, toScaled } from '../../server/contract/pricing/decimal.ts';
import { defaultPriceTables, defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { completionPriceOf, formatQuota, priceOfRatio } from '../../server/contract/pricing/format.ts';
import { compilePriceTables, type PriceOptionKey, resolvePrices } from '../../server/contract/pricing/tables.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';

const shipped = defaultPriceTables(0);
const everyone = { group: 'default', userGroup: 'default' };
const tablesWith = (over: Partial<Record<PriceOptionKey, unknown>>) =>
  compilePriceTables((key) => (over[key] === undefined ? defaultPriceText(key) : JSON.stringify(over[key])), 0);

test.each([
  ['0.1', 100_000n],
  [0.0000005, 1n],
  [0.00000049, 0n],
  [1e-7, 0n],
  [4 / 3, 1_333_333n],
  ['37.5', 37_500_000n],
  [1.5e21, 1_500_000_000_000_000_000_000_000_000n],
  [1e21, 1_000_000_000_000_000_000_000_000_000n],
] as const)('%s is scaled exactly', (ratio, scaled) => {
  expect(toScaled(ratio)).toBe(scaled);
});

test.each(['', '-1', 'NaN', '1,5', '0x10', null, Number.NaN, -0.5, {}])('%s is no ratio', (value) => {
  expect(ratioOf(value)).toBeNull();
});

test('the shipped prices are generated from the data at hand', () => {
  expect(pricingIsFresh()).toBe(true);
});

test.each([
  // model, ratio, completion, cache read; dollars per million: 2 x ratio, and so on.
  ['gpt-4o', 1.25, 4, 0.5],
  ['gpt-4o-mini', 0.075, 4, 0.5],
  ['claude-sonnet-4-5', 1.5, 5, 0.1],
  ['gemini-2.5-pro', 0.625, 8, 0.1],
] as const)('shipped price of %s', (model, modelRatio, completionRatio, cacheRatio) => {
  expect(resolvePrices(shipped, model, everyone)).toMatchObject({
    modelRatio,
    completionRatio,
    cacheRatio,
    modelPrice: null,
  });
});

test('writing to a cache costs 1.25 times the input for five minutes, twice for an hour', () => {
  expect(resolvePrices(shipped, 'claude-sonnet-4-5', everyone)).toMatchObject({
    cacheWriteRatio: 1.25,
    cacheWrite1hRatio: 2,
  });
});

test('long prompts have their own prices', () => {
  const prices = resolvePrices(shipped, 'gemini-2.5-pro', everyone);
  if (prices === null) throw new Error('unset');
  // $1.25 in, $10 out below 200,001 tokens; $2.50 in, $15 out, $0.25 from the cache above.
  expect(quotaOf({ ...emptyUsage, input: 200_000, output: 1000 }, prices)).toBe(130_000);
  expect(quotaOf({ ...emptyUsage, input: 200_001, output: 1000 }, prices)).toBe(250_001 + 7500);
  expect(quotaOf({ ...emptyUsage, input: 1, cacheRead: 200_000, output: 0 }, prices)).toBe(25_001);
});

test('a fixed price wins over a ratio, a price of the family over nothing', () => {
  expect(resolvePrices(shipped, 'mj_imagine', everyone)).toMatchObject({ modelPrice: 0.1, modelRatio: 0 });
  expect(resolvePrices(tablesWith({ ModelPrice: { 'gpt-4o': 0.02 } }), 'gpt-4o', everyone)).toMatchObject({
    modelPrice: 0.02,
  });
  expect(resolvePrices(shipped, 'gpt-4-gizmo-g-anything', everyone)).toMatchObject({ modelPrice: 0.1 });
});

test('an unset model is refused, or costs the fallback where that is accepted', () => {
  expect(resolvePrices(shipped, 'unheard-of', everyone)).toBeNull();
  expect(resolvePrices(shipped, 'unheard-of', { ...everyone, acceptUnset: true })).toMatchObject({ modelRatio: 37.5 });
  expect(resolvePrices(shipped, 'unheard-of', everyone)).toBeNull();
});

test('group ratios, and those of a user group for a group', () => {
  const tables = tablesWith({ GroupRatio: { default: 1, vip: 0.8 }, GroupGroupRatio: { gold: { vip: 0.5 } } });
  const ratio = (group: string, userGroup: string) => {
    const prices = resolvePrices(tables, 'gpt-4o', { group, userGroup });
    return [prices?.groupRatio, prices?.userGroupRatio];
  };
  expect(ratio('vip', 'default')).toEqual([0.8, null]);
  expect(ratio('vip', 'gold')).toEqual([0.5, 0.5]);
  expect(ratio('vip', 'vip')).toEqual([0.8, null]);
  expect(ratio('nobody', 'default')).toEqual([1, null]);
});

test('sound: tables first, then the fixed ratios, else the price of text', () => {
  const tables = tablesWith({ AudioRatio: { 'gemini-2.5-flash': 3.333333 }, AudioCompletionRatio: {} });
  expect(resolvePrices(tables, 'gpt-4o-audio-preview', everyone)).toMatchObject({
    audioRatio: 40,
    audioCompletionRatio: 2,
  });
  expect(resolvePrices(tables, 'gpt-4o-realtime-preview', everyone)).toMatchObject({ audioRatio: 20 });
  expect(resolvePrices(tables, 'gpt-4o-realtime-preview-2024-12-17', everyone)).toMatchObject({ audioRatio: 8 });
  expect(resolvePrices(tables, 'gpt-4o-mini-realtime-preview', everyone)).toMatchObject({ audioRatio: 16.666667 });
  expect(resolvePrices(tables, 'gemini-2.5-flash', everyone)).toMatchObject({
    audioRatio: 3.333333,
    audioCompletionRatio: 2,
  });
  expect(resolvePrices(tables, 'gpt-4o', everyone)).toMatchObject({ audioRatio: 1, audioCompletionRatio: 4 });
});

test('a tool has a price of its own per model, or one for all', () => {
  const prices = (model: string) => resolvePrices(shipped, model, everyone)?.toolPrices.get('web_search_preview');
  expect(prices('gpt-4o')).toBe(0.035);
  expect(prices('gpt-4o-mini')).toBe(0.0275);
});

test('decimal strings count like numbers; what is no ratio counts as absent', () => {
  const tables = tablesWith({ ModelRatio: { a: '0.3', b: 'x', c: -1, d: 0.1 } });
  expect(resolvePrices(tables, 'a', everyone)).toMatchObject({ modelRatio: 0.3 });
  for (const model of ['b', 'c']) expect(resolvePrices(tables, model, everyone)).toBeNull();
  expect(compilePriceTables(() => '{broken', 0).modelRatio.size).toBe(0);
});

test('the same question gets the same object', () => {
  expect(resolvePrices(shipped, 'gpt-4o', everyone)).toBe(resolvePrices(shipped, 'gpt-4o', { ...everyone }));
});

test('names that clients make up do not pile up', () => {
  const tables = tablesWith({});
  const first = resolvePrices(tables, 'made-up', { ...everyone, acceptUnset: true });
  expect(resolvePrices(tables, 'made-up', { ...everyone, acceptUnset: true })).toBe(first);
  for (let i = 0; i < 6000; i++) resolvePrices(tables, `made-up-${i}`, { ...everyone, acceptUnset: true });
  expect(resolvePrices(tables, 'made-up', { ...everyone, acceptUnset: true })).not.toBe(first);
});

test('ratios are shown as prices', () => {
  expect(priceOfRatio(1.25)).toBe(2.5);
  expect(priceOfRatio(0.075, 0.8)).toBe(0.12);
  expect(completionPriceOf(0.075, 4)).toBe(0.6);
});

test.each([
  [225, true, '$0.00'],
  [500_000, true, '$1.00'],
  [9999, false, '9999'],
  [12_345, false, '12.3k'],
  [2_500_000, false, '2.5M'],
  [3_000_000_000, false, '3.0B'],
] as const)('%s reads well', (quota, inCurrency, text) => {
  expect(formatQuota(quota, { inCurrency, quotaPerUnit: 500_000 })).toBe(text);
});
