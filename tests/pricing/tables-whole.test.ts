/** Every row of the tables that prices are made of, and what old log rows left out. */
import { expect, test } from 'vitest';
import { billedUsage, recompute } from '../../server/contract/pricing/charge.ts';
import { completionRatioFor } from '../../server/contract/pricing/completion-rules.ts';
import { ratioOf, toScaled } from '../../server/contract/pricing/decimal.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { type ReserveSize, reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { plainPrices } from '../support/plain-prices.ts';

// What output costs against input, by the price lists of those who made the models.
test.each([
  ['gpt-4o-2024-05-13', 3],
  ['gpt-4o-mini', 4],
  ['gpt-4o-all', 1],
  ['gpt-4o-gizmo-*', 1],
  ['gpt-4.5-preview-2025', 2],
  ['gpt-4-turbo-preview', 3],
  ['gpt-4-1106', 3],
  ['gpt-4-1105', 3],
  ['gpt-4-32k', 2],
  ['gpt-4-all', 1],
  ['gpt-4-gizmo-*', 1],
  ['o1-mini', 4],
  ['o3', 4],
  ['chatgpt-4o-latest', 3],
  ['claude-instant-1.2', 3],
  ['anthropic/claude-2.1', 3],
  ['claude-3-haiku', 5],
  ['gpt-3.5-turbo', 3],
  ['gpt-3.5-turbo-0125', 3],
  ['gpt-3.5-turbo-1106', 2],
  ['gpt-3.5-turbo-16k', 4 / 3],
  ['mistral-large', 3],
  ['gemini-2.5-pro-preview-05', 8],
  ['gemini-2.0-flash', 4],
  ['command-r', 3],
  ['command-r-plus', 5],
  ['command-light', 4],
  ['deepseek-chat', 4],
  ['DeepSeek-Reasoner', 4],
  ['deepseek-chat-2', 1],
  ['ERNIE-Speed-8K', 2],
  ['ERNIE-Lite-8K', 2],
  ['ERNIE-Character-8K', 2],
  ['ERNIE-Functions-8K', 2],
  ['ERNIE-4.0', 1],
  ['llama2-70b-4096', 1.25],
  ['llama3-8b-8192', 2],
  ['llama3-70b-8192', 0.79 / 0.59],
])('%s: %d', (model, expected) => {
  expect(completionRatioFor(model, undefined)).toBe(expected);
  expect(completionRatioFor(`x${model}`, undefined)).toBe(
    // These two are known wherever they stand in a name.
    /claude-(2|3|instant-1)/.test(model) ? expected : model.startsWith('gpt-4-110') ? 3 : 1,
  );
});

test.each([
  [1e21, 10n ** 27n],
  ['1e3', 10n ** 9n],
  ['1.5e3', 15n * 10n ** 8n],
  ['1.2345e2', 123_450_000n],
  ['12.5e0', 12_500_000n],
  ['1e-6', 1n],
  ['12e-6', 12n],
  ['1.25e-1', 125_000n],
  [1e-7, 0n],
  [5e-7, 1n],
  ['0.0000004', 0n],
])('%s is %s millionths', (text, expected) => expect(toScaled(text)).toBe(expected));

test.each([['1e'], ['-1'], ['0x1'], ['.5'], ['1.'], ['']])('%j is no ratio', (text) => {
  expect(() => toScaled(text)).toThrow(SyntaxError);
  expect(ratioOf(text)).toBeNull();
});

test('a ratio is a number or its text, to six decimals; nothing else is', () => {
  expect([1.25, '1.25', ' 2 ', 0.123_456_7].map(ratioOf)).toEqual([1.25, 1.25, 2, 0.123_457]);
  expect([true, null, undefined, [1], {}, Number.NaN].map(ratioOf)).toEqual(Array(6).fill(null));
});

const size = { promptTokens: 100, maxTokens: 10 };

// prompt × dearest way in + output × dearest way out.
const holds: readonly (readonly [string, Partial<Prices>, Partial<ReserveSize>, number])[] = [
  ['words', {}, {}, 140],
  ['sound written dearer than words', { audioRatio: 4, audioCompletionRatio: 2 }, { hasAudio: true }, 180],
  ['sound written cheaper than words', { audioRatio: 2, audioCompletionRatio: 1 }, { hasAudio: true }, 140],
  ['sound dear to read, cheap to write', { audioRatio: 10, audioCompletionRatio: 0.1 }, { hasAudio: true }, 140],
  ['audio that was not requested', { audioRatio: 4, audioCompletionRatio: 2 }, {}, 140],
  ['a picture dearer than words', { imageRatio: 3 }, { media: { imageInput: 10 } }, 170],
  ['a picture cheaper than words', { imageRatio: 0.5 }, { media: { imageInput: 10 } }, 150],
  ['a picture as dear as words', { imageRatio: 1 }, { media: { imageInput: 10 } }, 150],
  ['sound dearer than words', { audioRatio: 3 }, { media: { audioInput: 10 } }, 170],
  ['sound cheaper than words', { audioRatio: 0.5 }, { media: { audioInput: 10 } }, 150],
  ['a cache that is read dearer', { cacheRatio: 2 }, {}, 240],
  ['a cache that may be written', { cacheWriteRatio: 1.5 }, { caches: '5m' }, 190],
  ['a cache without writes', { cacheWriteRatio: 1.5, cacheWrite1hRatio: 2 }, {}, 140],
  ['a cache for an hour', { cacheWriteRatio: 1.5, cacheWrite1hRatio: 2 }, { caches: '1h' }, 240],
  ['an hour is dearer, five minutes asked', { cacheWriteRatio: 1.5, cacheWrite1hRatio: 2 }, { caches: '5m' }, 190],
  ['five minutes are dearer', { cacheWriteRatio: 3, cacheWrite1hRatio: 2 }, { caches: '1h' }, 340],
  ['a cache for half a day', { cacheWrite1hRatio: 2, cacheWrite12hRatio: 3 }, { caches: '12h' }, 340],
  ['an hour is dearer, half a day asked', { cacheWrite1hRatio: 3, cacheWrite12hRatio: 2 }, { caches: '12h' }, 340],
  ['a beginning that a cache is known to have', { cacheRatio: 0.1 }, { cached: 60 }, 86],
  ['a beginning longer than the words', { cacheRatio: 0.1 }, { cached: 600 }, 50],
  [
    'a known beginning beside a cache that may be written',
    { cacheWriteRatio: 1.5, cacheRatio: 0.1 },
    { caches: '5m', cached: 60 },
    106,
  ],
  [
    'a known beginning and a picture',
    { cacheRatio: 0.1, imageRatio: 3 },
    { cached: 60, media: { imageInput: 10 } },
    116,
  ],
  ['a known beginning at a price by the call', { modelPrice: 0.001, cacheRatio: 0.1 }, { cached: 60 }, 500],
  [
    'a known beginning and tools',
    { cacheRatio: 0.1, toolPrices: new Map([['t', 0.0001]]) },
    { cached: 60, toolCalls: { t: 1 } },
    136,
  ],
];
test.each(holds)('a hold for %s', (_name, over, more, expected) => {
  expect(reserveEstimate(plainPrices({ completionRatio: 4, ...over }), { ...size, ...more })).toBe(expected);
});

const details = { model_ratio: 1, completion_ratio: 2, group_ratio: 1, input: 10, output: 5 };

test('a log row that names no ratio for sound or pictures was charged as words', () => {
  expect(recompute(details)?.quota).toBe(20);
  expect(recompute({ ...details, audio_input: 7 })?.quota).toBe(27);
  expect(recompute({ ...details, audio_output: 7 })?.quota).toBe(34);
  expect(recompute({ ...details, image_output: 7 })?.quota).toBe(27);
  expect(recompute({ ...details, audio_input: 7, audio_ratio: 3 })?.quota).toBe(41);
  expect(recompute({ ...details, image_output: 7, image_ratio: 3 })?.quota).toBe(41);
});

test('pictures that were read have an old name and a new one', () => {
  expect(billedUsage({ ...details, image_input: 4 })).toMatchObject({ imageInput: 4 });
  expect(billedUsage({ ...details, image_output: 5, image_input: 4 })).toMatchObject({ imageInput: 5 });
  expect(billedUsage({ ...details, cache_creation_tokens: 9, cache_write_1h: 4 })).toMatchObject({
    cacheWrite5m: 5,
    cacheWrite1h: 4,
  });
});
