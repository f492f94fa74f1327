import fc from 'fast-check';
import { expect, test } from 'vitest';
import { highestQuotaOf, priceFields, quotaOf, quote, recompute } from '../../server/contract/pricing/charge.ts';
import { completionRatioFor } from '../../server/contract/pricing/completion-rules.ts';
import { imageFactor, imagePrices } from '../../server/contract/pricing/images.ts';
import { withModifiers } from '../../server/contract/pricing/modifiers.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { exactCharge } from '../../server/contract/pricing/share.ts';
import { listedName } from '../../server/contract/pricing/tables.ts';
import { emptyUsage, ofParts } from '../../server/protocols/shared/usage.ts';
import { plainPrices } from '../support/plain-prices.ts';

const prices = (over: Partial<Prices>): Prices =>
  plainPrices({ cacheWriteRatio: 1.25, cacheWrite1hRatio: 2, cacheWrite12hRatio: 2, ...over });

// Vectors by hand.
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
  [
    'sound',
    { input: 100, output: 50, audioInput: 10, audioOutput: 20 },
    { modelRatio: 1.25, completionRatio: 4, audioRatio: 40, audioCompletionRatio: 2 },
    2875,
  ],
  ['pictures read', { input: 10, imageInput: 100 }, { modelRatio: 2.5, imageRatio: 2 }, 525],
  [
    'tools on top of tokens',
    { input: 1000, toolCalls: { web_search: 2, file_search: 1 } },
    {
      modelRatio: 1,
      groupRatio: 0.5,
      toolPrices: new Map([
        ['web_search', 0.01],
        ['file_search', 0.0025],
      ]),
    },
    500 + 5000 + 625,
  ],
  ['a tool without a price', { input: 10, toolCalls: { unheard_of: 9 } }, {}, 10],
  [
    'tool and price per call',
    { toolCalls: { file_search: 4 } },
    { modelPrice: 0.1, toolPrices: new Map([['file_search', 0.0025]]) },
    55_000,
  ],
  ['speech', { input: 1000 }, { modelRatio: 7.5 }, 7500],
  ['transcription', { input: 1017 }, { modelRatio: 15 }, 15_255],
  ['an hour in the cache', { cacheWrite1h: 100 }, { modelRatio: 2 }, 400],
  ['half a day in the cache', { cacheWrite12h: 100 }, { modelRatio: 2, cacheWrite12hRatio: 2.5 }, 500],
] as const)('vector %s', (_name, usage, price, quota) => {
  expect(quote({ ...emptyUsage, ...usage }, prices(price)).quota).toBe(quota);
});

test('a price by the call counts once for the model that was asked for, and for each call of another', () => {
  const [head, other] = [prices({ modelPrice: 0.01 }), prices({ modelPrice: 0.02 })];
  const charged = (...of: readonly Prices[]) =>
    exactCharge(
      of.map((one) => ({ counts: emptyUsage, prices: one, label: '' })),
      {},
      head,
    ).whole;
  expect(charged(head, head)).toBe(5000);
  expect(charged(head, other, head, other)).toBe(5000 + 2 * 10_000);
});

test('half a unit is rounded up, everywhere', () => {
  expect(quote({ ...emptyUsage, input: 1 }, prices({ modelRatio: 0.5 })).quota).toBe(1);
  expect(quote({ ...emptyUsage, input: 3 }, prices({ modelRatio: 0.5 })).quota).toBe(2);
  expect(quote({ ...emptyUsage, input: 1 }, prices({ modelRatio: 0.499999 })).quota).toBe(0);
});

test.each([
  ['one ordinary picture', 'dall-e-3', { size: '1024x1024', quality: 'standard', count: 1 }, 20_000],
  ['fine and large', 'dall-e-3', { size: '1792x1024', quality: 'hd', count: 1 }, 60_000],
  ['fine and square, two', 'dall-e-3', { size: '1024x1024', quality: 'hd', count: 2 }, 80_000],
  ['small', 'dall-e-2', { size: '256x256', quality: 'standard', count: 1 }, 8000],
  ['half', 'dall-e-2', { size: '512x512', quality: 'standard', count: 1 }, 9000],
] as const)('picture: %s', (_name, model, order, quota) => {
  const ordered = imagePrices(prices({ modelPrice: 0.04 }), model, order);
  expect(quote(emptyUsage, ordered).quota).toBe(quota);
  expect(recompute(priceFields(emptyUsage, ordered))?.quota).toBe(quota);
});

test('a picture model that only has a ratio is charged its picture price, not tokens', () => {
  const order = { size: '512x512', quality: 'standard', count: 3 };
  expect(imageFactor('dall-e-2', order)).toBe(1.35);
  const ordered = imagePrices(prices({ modelRatio: 8 }), 'dall-e-2', order);
  expect(quote({ ...emptyUsage, input: 3 }, ordered).quota).toBe(13_500);
});

test.each([
  ['dall-e-3', '256x256', 'standard', 1],
  ['imagen-4.0-generate-001', '256x256', 'standard', 1],
  ['gpt-image-1', '256x256', 'low', 1],
  ['Kwai-Kolors/Kolors', '512x512', '', 1],
  ['wanx2.1-t2i-turbo', '512x512', 'hd', 1],
  ['doubao-seedream-4-0', '256x256', 'hd', 1],
  ['dall-e-20', '256x256', '', 1],
  ['my-dall-e-2', '256x256', '', 1],
  ['dall-e-3', 'constructor', 'toString', 1],
  ['dall-e-3', '1792x1024', '*', 2],
  ['dall-e-2', '256x256', 'hd', 0.4],
] as const)(
  '%s in %s and quality %s has the factor %d: by a row of its own or none',
  (model, size, quality, factor) => {
    expect(imageFactor(model, { size, quality, count: 1 })).toBe(factor);
  },
);

test('a hold covers the prompt and the longest answer, rounded up', () => {
  expect(reserveEstimate(prices({ modelRatio: 1.25 }), { promptTokens: 120, maxTokens: 1000 })).toBe(1400);
  // The reference rounds down to 37; a hold may not fall short of the charge it stands for.
  expect(reserveEstimate(prices({ modelRatio: 0.075 }), { promptTokens: 0, maxTokens: 500 })).toBe(38);
});

test('the bill says what was multiplied', () => {
  const { quota, lines } = quote(
    { ...emptyUsage, input: 100, cacheRead: 10, output: 5, reasoning: 5, audioOutput: 2, toolCalls: { web_search: 1 } },
    prices({
      completionRatio: 4,
      cacheRatio: 0.1,
      audioRatio: 8,
      audioCompletionRatio: 2,
      toolPrices: new Map([['web_search', 0.01]]),
    }),
  );
  expect(lines).toEqual([
    { kind: 'input', tokens: 100, ratio: 1 },
    { kind: 'cache_read', tokens: 10, ratio: 0.1 },
    { kind: 'output', tokens: 10, ratio: 4 },
    { kind: 'output', tokens: 2, ratio: 16, detail: 'audio' },
    { kind: 'call', tokens: 1, ratio: 0.01, detail: 'web_search' },
  ]);
  expect(quota).toBe(100 + 1 + 40 + 32 + 5000);
});

test('facts have the names of the wire contract', () => {
  const long = prices({ modelRatio: 2, completionRatio: 3 });
  const details = priceFields(
    {
      ...emptyUsage,
      input: 300,
      cacheRead: 4,
      cacheWrite5m: 5,
      cacheWrite1h: 6,
      audioInput: 7,
      audioOutput: 8,
      output: 9,
    },
    prices({ userGroupRatio: 0.5, groupRatio: 0.5, tiers: [{ above: 300, prices: long }] }),
  );
  expect(details).toMatchObject({
    model_ratio: 2,
    model_price: -1,
    completion_ratio: 3,
    group_ratio: 1,
    cache_tokens: 4,
    cache_creation_tokens: 11,
    cache_creation_ratio: 1.25,
    audio: true,
    audio_input: 7,
    audio_output: 8,
    text_input: 304,
    text_output: 9,
    tier_above: 300,
  });
});

test('a longer prompt is charged at its own price as a whole', () => {
  const tiered = prices({ tiers: [{ above: 1000, prices: prices({ modelRatio: 2 }) }] });
  expect(quotaOf({ ...emptyUsage, input: 1000 }, tiered)).toBe(1000);
  expect(quotaOf({ ...emptyUsage, input: 900, cacheRead: 101 }, tiered)).toBe(2002);
});

test('names of the many models that share one price', () => {
  expect(listedName('gpt-4-gizmo-g-abc')).toBe('gpt-4-gizmo-*');
  expect(listedName('gpt-4o-gizmo-g-abc')).toBe('gpt-4o-gizmo-*');
  expect(listedName('gpt-4')).toBe('gpt-4');
});

test('a completion ratio that is set counts for every model, the family’s rules fill the gaps', () => {
  for (const model of [
    'gpt-4o',
    'gpt-4o-mini',
    'o1',
    'o3-mini',
    'gpt-4-turbo',
    'gpt-3.5-turbo',
    'claude-3-opus',
    'gpt-4',
  ])
    expect([model, completionRatioFor(model, 9)]).toEqual([model, 9]);
  expect(completionRatioFor('chatgpt-4o-latest', 0)).toBe(0);
  expect(completionRatioFor('gpt-4o', undefined)).toBe(4);
  expect(completionRatioFor('gpt-4', undefined)).toBe(2);
  expect(completionRatioFor('unheard-of', undefined)).toBe(1);
});

const tokens = fc.integer({ min: 0, max: 2_000_000 });
const ratio = fc.oneof(
  fc.integer({ min: 0, max: 100_000_000 }).map((millionths) => millionths / 1_000_000),
  fc.constantFrom(0, 0.1, 0.25, 0.5, 1, 1.25, 2, 4, 4 / 3, 37.5, 1e-6, 1e-7, 1e12),
);
const usageCounts = {
  input: tokens,
  cacheRead: tokens,
  cacheWrite5m: tokens,
  cacheWrite1h: tokens,
  cacheWrite12h: tokens,
  audioInput: tokens,
  imageInput: tokens,
  videoInput: tokens,
  output: tokens,
  reasoning: tokens,
  audioOutput: tokens,
  toolCalls: fc.dictionary(fc.constantFrom('web_search', 'file_search', 'other'), fc.integer({ min: 0, max: 50 })),
};
const usage = fc.record(usageCounts);
const untieredPrices = fc.record({
  modelRatio: ratio,
  modelPrice: fc.option(ratio, { freq: 8 }),
  priceFactor: fc.constantFrom(1, 0.4, 3),
  completionRatio: ratio,
  cacheRatio: ratio,
  cacheWriteRatio: ratio,
  cacheWrite1hRatio: ratio,
  cacheWrite12hRatio: ratio,
  imageRatio: ratio,
  videoRatio: ratio,
  audioRatio: ratio,
  audioCompletionRatio: ratio,
  groupRatio: ratio,
  quotaPerUnit: fc.constantFrom(500_000, 1000),
  toolPrices: fc.constant(
    new Map([
      ['web_search', 0.0275],
      ['file_search', 0.0025],
    ]),
  ),
});
const anyPrices = fc
  .tuple(untieredPrices, untieredPrices, tokens)
  .map(([base, long, above]) => prices({ ...base, tiers: [{ above, prices: prices(long) }] }));

test('a charge can be recomputed from the facts of its log row', () => {
  fc.assert(
    fc.property(usage, anyPrices, (some, price) => {
      const used = { ...emptyUsage, ...some };
      const stored = JSON.parse(JSON.stringify(priceFields(used, price))) as Record<string, unknown>;
      const bill = quote(used, price);
      expect(recompute(stored)).toMatchObject({ quota: bill.quota, lines: bill.lines });
    }),
    { numRuns: 2000 },
  );
});

const { toolCalls: _calls, ...counts } = usageCounts;
const surcharges = fc.array(
  fc.record({ name: fc.constantFrom('service_tier:priority', 'speed:fast', 'region:eu'), ratio }),
  { maxLength: 3 },
);
const uniqueNames = (list: readonly { readonly name: string; readonly ratio: number }[]) => [
  ...new Map(list.map((item) => [item.name, item])).values(),
];

test('a charge of several calls, other models and dearer terms can be recomputed from its row, and each line is a call’s own', () => {
  const part = fc.record({
    ...counts,
    kind: fc.constantFrom('message', 'compaction'),
    model: fc.constantFrom(null, 'other'),
  });
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 4 }),
      usage,
      anyPrices,
      anyPrices,
      surcharges,
      (parts, { toolCalls }, main, other, terms) => {
        const used = { ...emptyUsage, ...ofParts(parts), toolCalls };
        const base = withModifiers({ ...main, others: new Map([['other', other]]) }, uniqueNames(terms));
        const stored = JSON.parse(JSON.stringify(priceFields(used, base))) as Record<string, unknown>;
        const bill = quote(used, base);
        expect(recompute(stored)).toMatchObject({ quota: bill.quota, lines: bill.lines });
        expect(bill.quota).toBe(quotaOf(used, base));
      },
    ),
    { numRuns: 1000 },
  );
});

test('a factor multiplies tokens and prices per call, and leaves tools alone', () => {
  // $2 in and $8 out for a million, twice that, plus a search for a cent.
  const twice = withModifiers(
    prices({ modelRatio: 1, completionRatio: 4, toolPrices: new Map([['web_search', 0.01]]) }),
    [{ name: 'service_tier:priority', ratio: 2 }],
  );
  const used = { ...emptyUsage, input: 1_000_000, output: 1_000_000, toolCalls: { web_search: 1 } };
  expect(quotaOf(used, twice)).toBe(20 * 500_000 + 0.01 * 500_000);
  expect(quotaOf({ ...used, toolCalls: {} }, twice)).toBe(20 * 500_000);
  const called = withModifiers(prices({ modelPrice: 0.04 }), [{ name: 'service_tier:priority', ratio: 2 }]);
  expect(quotaOf({ ...emptyUsage, input: 1 }, called)).toBe(0.08 * 500_000);
});

/** Decimal text of a ratio as a fraction over 10^6, written apart from the product's own. */
function millionths(value: number): bigint {
  const [whole = '0', fraction = ''] = value.toFixed(12).split('.');
  const all = BigInt(whole) * 10n ** 12n + BigInt(fraction);
  return (all + 500_000n) / 1_000_000n;
}

test('the short way gives what whole numbers give', () => {
  fc.assert(
    fc.property(usage, untieredPrices, (some, drawnPrices) => {
      const used = { ...emptyUsage, ...some, toolCalls: {} };
      const price = prices({ ...drawnPrices, modelPrice: null });
      const weighted =
        BigInt(used.input) * 1_000_000n +
        BigInt(used.cacheRead) * millionths(price.cacheRatio) +
        BigInt(used.cacheWrite5m) * millionths(price.cacheWriteRatio) +
        BigInt(used.cacheWrite1h) * millionths(price.cacheWrite1hRatio) +
        BigInt(used.cacheWrite12h) * millionths(price.cacheWrite12hRatio) +
        BigInt(used.audioInput) * millionths(price.audioRatio) +
        BigInt(used.imageInput) * millionths(price.imageRatio) +
        BigInt(used.videoInput) * millionths(price.videoRatio) +
        BigInt(used.output + used.reasoning) * millionths(price.completionRatio) +
        BigInt(used.audioOutput) *
          ((millionths(price.audioRatio) * millionths(price.audioCompletionRatio) + 500_000n) / 1_000_000n);
      const exact = weighted * millionths(price.modelRatio) * millionths(price.groupRatio);
      const expected = Math.min(10 ** 15, Number((2n * exact + 10n ** 18n) / (2n * 10n ** 18n)));
      const quota = quotaOf(used, price);
      if (exact > 0n) expect(quota).toBe(expected);
      else expect(quota).toBeLessThanOrEqual(1);
    }),
    { numRuns: 5000 },
  );
});

test('charges never shrink when usage grows, and a hold covers its own bound', () => {
  fc.assert(
    fc.property(usage, tokens, untieredPrices, (some, more, drawnPrices) => {
      const used = { ...emptyUsage, ...some };
      const price = prices(drawnPrices);
      const small = quotaOf(used, price);
      expect(quotaOf({ ...used, output: used.output + more }, price)).toBeGreaterThanOrEqual(small === 1 ? 0 : small);
      // At the dearest price that may apply, which is the input's own unless reading a cache costs more.
      const bound = reserveEstimate(price, { promptTokens: used.input, maxTokens: used.output });
      const plain = highestQuotaOf({ ...emptyUsage, input: used.input, output: used.output }, price);
      if (price.cacheRatio <= 1) expect(bound).toBe(plain);
      else expect(bound).toBeGreaterThanOrEqual(plain === 1 ? 0 : plain);
    }),
    { numRuns: 500 },
  );
});
