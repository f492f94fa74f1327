import { expect, test } from 'vitest';
import { priceFields, quotaOf, quote, recompute } from '../../server/contract/pricing/charge.ts';
import { defaultPriceTables, defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { isTermName, priceModifiers, termRatio, withModifiers } from '../../server/contract/pricing/modifiers.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { compilePriceTables, type PriceOptionKey, resolvePrices } from '../../server/contract/pricing/tables.ts';
import type { Usage } from '../../server/protocols/canonical.ts';
import { readOpenAiUsage } from '../../server/protocols/openai-chat/usage.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';

const everyone = { group: 'default', userGroup: 'default' };
const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);
const november = '2026-11-28';

function pricesOf(model: string, day: string, terms: Readonly<Record<string, string>> = {}): Prices {
  const tables = defaultPriceTables(at(day));
  const prices = resolvePrices(tables, model, everyone);
  if (prices === null) throw new Error(`${model} has no price`);
  const { surcharges, unpriced } = priceModifiers(tables.termRules, [model], terms, true);
  expect(unpriced).toEqual([]);
  return withModifiers(prices, surcharges);
}

/** Dollars per million tokens, as the makers' pages and the packages that copy them say: input, output, read from a cache, written to it. */
const published: readonly (readonly [
  model: string,
  input: number,
  output: number,
  read: number,
  write: number | null,
])[] = [
  ['gpt-6.2-sol', 2, 10, 0.1, 2.5],
  ['gpt-6.2-astra', 8, 40, 0.4, 10],
  ['gpt-6.1-sol', 2, 10, 0.1, 2.5],
  ['gpt-6.1-terra', 1, 5, 0.05, 1.25],
  ['gpt-6-astra', 10, 50, 1, 12.5],
  ['gpt-6-sol', 2, 10, 0.2, 2.5],
  ['gpt-6-luna', 0.1, 0.5, 0.01, 0.125],
  ['gpt-5.6-sol', 4, 20, 0.4, 5],
  ['gpt-5.6-terra', 2, 12, 0.2, 2.5],
  ['gpt-5.6-luna', 0.2, 1.2, 0.02, 0.25],
  ['gpt-5.5', 5, 30, 0.5, null],
  ['gpt-daybreak-blue-latest', 4, 20, 0.4, 5],
  ['gpt-daybreak-red-latest', 12.5, 75, 1.25, 15.625],
  ['claude-opus-5-5', 4, 20, 0.2, 5],
  ['claude-opus-5', 5, 25, 0.5, 6.25],
  ['claude-opus-4-8', 5, 25, 0.5, 6.25],
  ['claude-sonnet-5-5', 2, 10, 0.1, 2.5],
  ['claude-sonnet-5', 2, 10, 0.2, 2.5],
  ['claude-haiku-5-5', 0.1, 0.5, 0.01, 0.125],
  ['claude-fable-5-2', 8, 40, 0.2, 10],
  ['claude-fable-5-1', 10, 50, 0.25, 12.5],
  ['claude-fable-5', 10, 50, 1, 12.5],
  ['gemini-3.6-flash', 0.75, 3.75, 0.075, null],
  ['gemini-3.7-flash', 0.75, 3.75, 0.075, null],
  ['gemini-3.8-flash', 0.75, 3.75, 0.075, null],
  ['gemini-4-argon', 2, 10, 0.1, null],
  ['gemini-4-hydrogen', 1.5, 7.5, 0.075, null],
  ['kimi-k3', 3, 15, 0.3, 3],
  ['glm-5.3', 1.4, 4.4, 0.26, null],
  ['grok-4.5', 2, 6, 0.3, null],
  ['grok-4.6', 2, 6, 0.5, null],
  ['qwen3.8-max', 2, 6, 0.25, null],
  ['deepseek-v4-pro', 1.32, 3.96, 0.044, null],
  ['MiniMax-M3', 0.3, 1.2, 0.06, null],
];

test.each(published)(
  '%s costs what its maker asks, as far as six decimals say it',
  (model, input, output, read, write) => {
    const prices = pricesOf(model, november);
    const dollars = (ratio: number) => prices.modelRatio * 2 * ratio;
    expect(dollars(1)).toBe(input);
    // Half of the sixth decimal of a ratio.
    const exact = input * 0.5e-6 + 1e-12;
    expect(Math.abs(dollars(prices.completionRatio) - output)).toBeLessThanOrEqual(exact);
    expect(Math.abs(dollars(prices.cacheRatio) - read)).toBeLessThanOrEqual(exact);
    if (write !== null) expect(Math.abs(dollars(prices.cacheWriteRatio) - write)).toBeLessThanOrEqual(exact);
  },
);

/** Millionths of a dollar, reckoned on paper: tokens times the published dollars per million. */
const bills: readonly (readonly [
  what: string,
  model: string,
  day: string,
  terms: Readonly<Record<string, string>>,
  counts: Partial<Usage>,
  micro: number,
])[] = [
  ['plain', 'gpt-6.2-sol', november, {}, { input: 1000, output: 100 }, 3000],
  ['read from the cache', 'gpt-6.2-sol', november, {}, { input: 1000, cacheRead: 10_000, output: 10 }, 3100],
  ['written for 30 minutes', 'gpt-6.2-sol', november, {}, { cacheWrite5m: 4000, output: 1 }, 10_010],
  ['written for 12 hours', 'gpt-6.2-sol', november, {}, { cacheWrite12h: 4000, output: 1 }, 20_010],
  ['at the bound', 'gpt-6.2-sol', november, {}, { input: 272_000, output: 1000 }, 554_000],
  ['above the bound', 'gpt-6.2-sol', november, {}, { input: 272_001, output: 1000 }, 1_103_004],
  ['cache above the bound', 'gpt-6.2-sol', november, {}, { input: 2001, cacheRead: 270_000, output: 100 }, 63_504],
  ['12 hours above the bound', 'gpt-6.2-sol', november, {}, { input: 1, cacheWrite12h: 272_000 }, 2_720_004],
  ['fast', 'gpt-6.2-sol', november, { service_tier: 'fast' }, { input: 1000, output: 100 }, 6000],
  [
    'ultrafast, its last day',
    'gpt-6.2-sol',
    '2027-02-28',
    { service_tier: 'ultrafast' },
    { input: 1000, output: 100 },
    9000,
  ],
  [
    'ultrafast, the day after',
    'gpt-6.2-sol',
    '2027-03-01',
    { service_tier: 'ultrafast' },
    { input: 1000, output: 100 },
    18_000,
  ],
  [
    'ultrafast in a step',
    'gpt-6.2-sol',
    november,
    { service_tier: 'ultrafast' },
    { input: 272_001, output: 1000 },
    3_309_012,
  ],
  ['batch in a step', 'gpt-6.2-sol', november, { service_tier: 'batch' }, { input: 272_001, output: 1000 }, 551_502],
  ['plain', 'gpt-6.2-astra', november, {}, { input: 1000, cacheRead: 1000, output: 100 }, 12_400],
  ['above the bound', 'gpt-6.2-astra', november, {}, { input: 272_001, output: 10 }, 4_352_616],
  ['ultrafast', 'gpt-6.1-sol', november, { service_tier: 'ultrafast' }, { input: 1000, output: 100 }, 18_000],
  ['priority', 'gpt-5.5', november, { service_tier: 'priority' }, { input: 1000, output: 100 }, 20_000],
  ['flex in a step', 'gpt-5.5', november, { service_tier: 'flex' }, { input: 272_001, output: 100 }, 1_362_255],
  [
    'flex, its cache not at half',
    'gpt-5.4',
    november,
    { service_tier: 'flex' },
    { input: 1000, cacheRead: 1000, output: 100 },
    2130,
  ],
  [
    'flex in a step, its cache at half',
    'gpt-5.4',
    november,
    { service_tier: 'flex' },
    { input: 1000, cacheRead: 272_000, output: 100 },
    71_625,
  ],
  ['batch at the bound', 'gpt-5.4', november, { service_tier: 'batch' }, { input: 272_000, output: 100 }, 340_750],
  ['the last day of a price', 'gemini-4-argon', '2026-11-30', {}, { input: 1000, output: 100 }, 3000],
  ['the first day of the next', 'gemini-4-argon', '2026-12-01', {}, { input: 1000, output: 100 }, 6000],
  ['its cache too', 'gemini-4-argon', '2026-12-01', {}, { input: 1000, cacheRead: 10_000 }, 6000],
  [
    'priority on the last day',
    'gemini-4-argon',
    '2026-11-30',
    { service_tier: 'priority' },
    { input: 1000, output: 100 },
    5400,
  ],
  [
    'priority on the first',
    'gemini-4-argon',
    '2026-12-01',
    { service_tier: 'priority' },
    { input: 1000, output: 100 },
    10_800,
  ],
  ['the last day', 'gemini-3.8-flash', '2026-12-31', {}, { input: 1000, output: 100 }, 1125],
  ['the first day', 'gemini-3.8-flash', '2027-01-01', {}, { input: 1000, output: 100 }, 2250],
  [
    'flex, its cache at the full price',
    'gemini-2.5-pro',
    november,
    { service_tier: 'flex' },
    { input: 1000, cacheRead: 1000, output: 100 },
    1250,
  ],
  ['at the bound', 'claude-haiku-5-5', november, {}, { input: 100_000, output: 100 }, 10_050],
  ['five times above it', 'claude-haiku-5-5', november, {}, { input: 100_001, output: 100 }, 50_250.5],
  ['an hour below the bound', 'claude-haiku-5-5', november, {}, { input: 10, cacheWrite1h: 1000 }, 201],
  ['an hour above the bound', 'claude-haiku-5-5', november, {}, { cacheWrite1h: 100_001 }, 100_001],
  [
    'batch above the bound',
    'claude-haiku-5-5',
    november,
    { service_tier: 'batch' },
    { input: 100_001, output: 100 },
    25_125.25,
  ],
  ['reads at a twentieth', 'claude-opus-5-5', november, {}, { input: 10, cacheRead: 100_000, output: 100 }, 22_040],
  ['an hour', 'claude-opus-5-5', november, {}, { cacheWrite1h: 1000 }, 8000],
  ['fast', 'claude-opus-5-5', november, { speed: 'fast' }, { input: 1000, output: 100 }, 12_000],
  ['an hour at twice five minutes', 'kimi-k3', november, {}, { cacheWrite5m: 1000, cacheWrite1h: 1000 }, 9000],
  ['below an inclusive bound', 'grok-4.5', november, {}, { input: 199_999, output: 10 }, 400_058],
  ['at an inclusive bound', 'grok-4.5', november, {}, { input: 200_000, output: 10 }, 800_120],
  ['at the bound', 'MiniMax-M3', november, {}, { input: 512_000, output: 10 }, 153_612],
  ['above the bound', 'MiniMax-M3', november, {}, { input: 512_001, output: 10 }, 307_224.6],
  ['plain', 'claude-fable-5-2', november, {}, { input: 1000, cacheRead: 1000, output: 100 }, 12_200],
  ['plain', 'glm-5.3', november, {}, { input: 1000, cacheRead: 1000, output: 100 }, 2100],
  ['at the dearer hours', 'deepseek-v4-pro', november, {}, { input: 1000, cacheRead: 1000, output: 100 }, 1760],
  ['a dated row of its own', 'gpt-4o-2024-05-13', november, {}, { input: 1000, output: 100 }, 6500],
  ['the row without a date', 'gpt-4o', november, {}, { input: 1000, output: 100 }, 3500],
  ['a date without a row', 'gpt-6.1-sol-2026-10-30', november, {}, { input: 1000, output: 100 }, 3000],
  ['in the United States', 'claude-sonnet-5-5', november, { inference_geo: 'us' }, { input: 1000, output: 100 }, 3300],
];

test.each(bills)('a bill by hand, %s: %s on %s, %o', (_what, model, day, terms, counts, micro) => {
  const usage: Usage = { ...emptyUsage, ...counts };
  const prices = pricesOf(model, day, terms);
  // $1 is 500,000 of quota.
  expect(quotaOf(usage, prices)).toBe(Math.round(micro / 2));
  const row = JSON.parse(JSON.stringify(priceFields(usage, prices))) as Record<string, unknown>;
  expect(recompute(row)).toMatchObject({ quota: Math.round(micro / 2), lines: quote(usage, prices).lines });
});

test('a price with a date holds from the first second of its day, and the tables say when the next one begins', () => {
  const midnight = Date.parse('2026-12-01T00:00:00Z');
  const ratio = (now: number) => resolvePrices(defaultPriceTables(now), 'gemini-4-argon', everyone)?.modelRatio;
  expect([ratio(midnight - 1), ratio(midnight), ratio(midnight - 1)]).toEqual([1, 2, 1]);
  expect(defaultPriceTables(midnight - 1).changesAt).toBe(midnight);
  expect(defaultPriceTables(midnight).changesAt).toBe(Date.parse('2027-01-01T00:00:00Z'));
});

const tablesWith = (over: Partial<Record<PriceOptionKey, unknown>>, day: string) =>
  compilePriceTables((key) => (over[key] === undefined ? defaultPriceText(key) : JSON.stringify(over[key])), at(day));

test('a term of a pattern has a price for the models that it names, dated or not, and for no other', () => {
  const { termRules } = tablesWith({ TierRatio: { 'm-*': { 'speed:fast': 3 }, n: { 'speed:fast': 4 } } }, '2026-12-02');
  const ratio = (model: string) => termRatio(termRules, [model], 'speed', 'fast');
  expect(['m-1', 'n', 'n-2026-04-23', 'unheard-of', 'n-1'].map(ratio)).toEqual([3, 4, 4, null, null]);
});

test('a term is a member with a price and a value', () => {
  const names = ['speed:fast', 'service_tier:*', 'speed:', ':fast', 'speed', 'constructor:fast', 'unheard_of:fast'];
  expect(names.filter(isTermName)).toEqual(['speed:fast', 'service_tier:*']);
});

test('an operator’s own price stays on the first day of another one', () => {
  const own = tablesWith({ ModelRatio: { 'gemini-4-argon': 1.2 } }, '2026-12-02');
  expect(resolvePrices(own, 'gemini-4-argon', everyone)?.modelRatio).toBe(1.2);
});

test('a price ends after its last day; without `replaces` it holds whatever is set', () => {
  const dates = { m: [{ from: '2026-12-01', until: '2026-12-03', ModelRatio: 5, TierRatio: { 'speed:fast': 3 } }] };
  const on = (day: string) => {
    const tables = tablesWith({ ModelRatio: { m: 1 }, PriceDates: dates }, day);
    const { surcharges } = priceModifiers(tables.termRules, ['m'], { speed: 'fast' }, true);
    return [resolvePrices(tables, 'm', everyone)?.modelRatio, surcharges[0]?.ratio];
  };
  expect(on('2026-11-30')).toEqual([1, undefined]);
  expect(on('2026-12-01')).toEqual([5, 3]);
  expect(on('2026-12-03')).toEqual([5, 3]);
  expect(on('2026-12-04')).toEqual([1, undefined]);
});

test('a tier of several factors can be taken off again, and gives way to a single factor for the same name', () => {
  const flex = pricesOf('gpt-5.4', november, { service_tier: 'flex' });
  const plain = pricesOf('gpt-5.4', november);
  expect(withModifiers(flex, [])).toEqual(plain);
  const own = tablesWith({ TierRatio: { 'gpt-5.4': { 'service_tier:flex': 0.9 } } }, november);
  expect(priceModifiers(own.termRules, ['gpt-5.4'], { service_tier: 'flex' }, true).surcharges).toEqual([
    { name: 'service_tier:flex', ratio: 0.9 },
  ]);
});

test('discounts of several factors count only where discounts do', () => {
  const { termRules } = defaultPriceTables(at(november));
  expect(priceModifiers(termRules, ['gpt-5.4'], { service_tier: 'flex' }, false).surcharges).toEqual([]);
});

const listed = (model: string, prefixes: readonly string[] = []) => {
  const prices = resolvePrices(defaultPriceTables(at(november)), model, { ...everyone, prefixes });
  return prices === null ? null : (prices.listedAs ?? model);
};

test.each([
  ['an exact row wins', 'gpt-4o-2024-05-13', [], 'gpt-4o-2024-05-13'],
  ['a date is taken off', 'gpt-6.1-sol-2026-10-30', [], 'gpt-6.1-sol'],
  ['a date without dashes', 'claude-opus-5-5-20261104', [], 'claude-opus-5-5'],
  ['a date behind an at sign', 'claude-opus-5-5@20261104', [], 'claude-opus-5-5'],
  ['no day of a calendar', 'claude-opus-5-5-20261304', [], null],
  ['the provider that serves', 'openai/gpt-6.2-sol', ['openai'], 'gpt-6.2-sol'],
  ['the provider and a date', 'openai/gpt-6.1-sol-2026-10-30', ['openai'], 'gpt-6.1-sol'],
  ['another provider', 'openai/gpt-6.2-sol', ['openrouter'], null],
  ['nobody known', 'openai/gpt-6.2-sol', [], null],
  ['a free variant', 'gpt-6.2-sol:free', ['openai'], null],
  ['a fast variant', 'gpt-6.2-sol-fast', ['openai'], null],
  ['a pro variant', 'gpt-6.2-sol-pro', ['openai'], null],
  ['a variant behind a date', 'gpt-6.1-sol-2026-10-30-fast', [], null],
] as const)('the row of a name: %s', (_what, model, prefixes, row) => {
  expect(listed(model, prefixes)).toBe(row);
});

test('the log row says whose price a name without a row has', () => {
  const usage = { ...emptyUsage, input: 10 };
  expect(priceFields(usage, pricesOf('gpt-6.1-sol-2026-10-30', november))).toMatchObject({ priced_as: 'gpt-6.1-sol' });
  expect(priceFields(usage, pricesOf('gpt-6.1-sol', november))).not.toHaveProperty('priced_as');
});

test('OpenAI’s twelve-hour writes are counted apart, and no more of them than was written', () => {
  const read = (half: number) =>
    readOpenAiUsage({
      input_tokens: 1000,
      output_tokens: 10,
      input_tokens_details: { cache_write_tokens: 400, cache_write_tokens_details: { ttl_12h_tokens: half } },
    });
  expect(read(300)).toMatchObject({ input: 600, cacheWrite5m: 100, cacheWrite12h: 300 });
  expect(read(900)).toMatchObject({ input: 600, cacheWrite5m: 0, cacheWrite12h: 400 });
});
