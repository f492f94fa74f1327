import fc from 'fast-check';
import { expect, test } from 'vitest';
import { completionRatioFor } from '../../server/contract/completion-rules.ts';
import { holdEstimate, type Prices, priceFacts, quote, recompute } from '../../server/contract/quota.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';

const prices = (over: Partial<Prices>): Prices => ({
  modelRatio: 1,
  modelPrice: null,
  completionRatio: 1,
  cacheRatio: 1,
  cacheWriteRatio: 1.25,
  cacheWrite1hRatio: 2,
  groupRatio: 1,
  userGroupRatio: null,
  ...over,
});

// Vectors: backend-reference section 15.
test.each([
  ['gpt-4o-mini', { input: 1000, output: 500 }, { modelRatio: 0.075, completionRatio: 4 }, 225],
  [
    'gpt-4o cached',
    { input: 1000, cacheRead: 1000, output: 100 },
    { modelRatio: 1.25, completionRatio: 4, cacheRatio: 0.5 },
    2375,
  ],
  ['gpt-3.5-turbo', { input: 3 }, { modelRatio: 0.25 }, 1],
  ['zero floor', { input: 1 }, { modelRatio: 0.001 }, 0],
  ['group 0.5', { input: 1000, output: 1000 }, { modelRatio: 15, completionRatio: 2, groupRatio: 0.5 }, 22_500],
  ['fixed price', {}, { modelPrice: 0.04 }, 20_000],
  ['drawing', {}, { modelPrice: 0.1 }, 50_000],
  ['lyrics', {}, { modelPrice: 0.01 }, 5000],
  [
    'claude native',
    { input: 100, cacheRead: 1000, cacheWrite5m: 200, output: 50 },
    { modelRatio: 1.5, completionRatio: 5, cacheRatio: 0.1 },
    1050,
  ],
  ['speech', { input: 1000 }, { modelRatio: 7.5 }, 7500],
  ['transcription', { input: 1017 }, { modelRatio: 15 }, 15_255],
  ['an hour in the cache', { cacheWrite1h: 100 }, { modelRatio: 2 }, 400],
] as const)('vector %s', (_name, usage, price, quota) => {
  expect(quote({ ...emptyUsage, ...usage }, prices(price)).quota).toBe(quota);
});

test('half a unit is rounded up, everywhere', () => {
  expect(quote({ ...emptyUsage, input: 1 }, prices({ modelRatio: 0.5 })).quota).toBe(1);
  expect(quote({ ...emptyUsage, input: 3 }, prices({ modelRatio: 0.5 })).quota).toBe(2);
  expect(quote({ ...emptyUsage, input: 1 }, prices({ modelRatio: 0.499999 })).quota).toBe(0);
});

test('locked completion ratios win unless the name has a slash', () => {
  expect(completionRatioFor('gpt-4o', 9)).toBe(4);
  expect(completionRatioFor('openai/gpt-4o', 9)).toBe(9);
  expect(completionRatioFor('gpt-4', 9)).toBe(9);
  expect(completionRatioFor('gpt-4', undefined)).toBe(2);
  expect(completionRatioFor('unheard-of', undefined)).toBe(1);
});

const tokens = fc.integer({ min: 0, max: 2_000_000 });
const ratio = fc.integer({ min: 0, max: 100_000_000 }).map((millionths) => millionths / 1_000_000);
const usage = fc.record({
  input: tokens,
  cacheRead: tokens,
  cacheWrite5m: tokens,
  cacheWrite1h: tokens,
  output: tokens,
  reasoning: tokens,
});
const anyPrices = fc.record({
  modelRatio: ratio,
  completionRatio: ratio,
  cacheRatio: ratio,
  cacheWriteRatio: ratio,
  cacheWrite1hRatio: ratio,
  groupRatio: ratio,
});

test('a charge can be recomputed from the facts of its log row', () => {
  fc.assert(
    fc.property(usage, anyPrices, (some, price) => {
      const used = { ...emptyUsage, ...some };
      const stored = JSON.parse(JSON.stringify(priceFacts(used, prices(price)))) as Record<string, unknown>;
      expect(recompute(stored)?.quota).toBe(quote(used, prices(price)).quota);
    }),
    { numRuns: 2000 },
  );
});

test('charges never shrink when usage grows, and a hold covers its own bound', () => {
  fc.assert(
    fc.property(usage, tokens, anyPrices, (some, more, price) => {
      const used = { ...emptyUsage, ...some };
      const small = quote(used, prices(price)).quota;
      expect(quote({ ...used, output: used.output + more }, prices(price)).quota).toBeGreaterThanOrEqual(
        small === 1 ? 0 : small,
      );
      expect(holdEstimate(prices(price), { promptTokens: used.input, maxTokens: used.output })).toBe(
        quote({ ...emptyUsage, input: used.input, output: used.output }, prices(price)).quota,
      );
    }),
    { numRuns: 500 },
  );
});
