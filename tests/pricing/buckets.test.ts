/** The table of buckets: every bucket is charged, reserved, written to the log row and explained. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { optionRow, options } from '../../server/contract/options.ts';
import {
  type BucketName,
  type Buckets,
  bucketNames,
  bucketOptions,
  bucketRow,
  completionTokensOf,
  eachOf,
  mediaBuckets,
  pricedAs,
  promptTokensOf,
  ratioRows,
  ratiosOf,
  weightOf,
} from '../../server/contract/pricing/bucket.ts';
import { loggedPromptTokens, priceFields, quotaOf, quote, recompute } from '../../server/contract/pricing/charge.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { reserveEstimate } from '../../server/contract/pricing/reserve.ts';
import { compilePriceTables, type PriceOptionKey, resolvePrices } from '../../server/contract/pricing/tables.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { readPrompt } from '../../server/relay/intake/prompt.ts';

const model = 'measured';
const pricesWith = (over: Partial<Record<PriceOptionKey, unknown>>) => {
  const tables = compilePriceTables(
    (key) => (key in over ? JSON.stringify(over[key]) : key === 'QuotaPerUnit' ? '500000' : '{}'),
    0,
  );
  const prices = resolvePrices(tables, model, { group: 'default', userGroup: 'default' });
  if (prices === null) throw new Error('no prices');
  return prices;
};
const plain = pricesWith({ ModelRatio: { [model]: 10 } });
const one = (name: BucketName, tokens = 1) => ({ ...emptyUsage, [name]: tokens });

test.each(bucketNames)('a token of %s alone is charged, written to the log row and explained', (name) => {
  const usage = one(name);
  const quota = quotaOf(usage, plain);
  expect(quota).toBeGreaterThan(0);
  expect(promptTokensOf(usage) + completionTokensOf(usage)).toBe(1);
  const details = JSON.parse(JSON.stringify(priceFields(usage, plain))) as Record<string, unknown>;
  expect(details[bucketRow(name).field]).toBe(1);
  const bill = recompute(details);
  expect(bill).toMatchObject({ quota, lines: [{ ...bucketRow(name).line, tokens: 1 }] });
  expect(quote(usage, plain)).toMatchObject({ quota, lines: bill?.lines });
});

test.each(bucketNames)('a hold covers what is counted as %s', (name) => {
  const { side, reservedAs } = bucketRow(name);
  const dear = Object.fromEntries(bucketOptions.map(({ key }, at) => [key, { [model]: 2 + at }]));
  for (const prices of [plain, pricesWith({ ...dear, ModelRatio: { [model]: 10 } })]) {
    const size = {
      promptTokens: side === 'prompt' && reservedAs !== 'media' ? 100 : 0,
      media: reservedAs === 'media' ? { [name]: 100 } : {},
      caches: reservedAs === '5m' || reservedAs === '1h' || reservedAs === '12h' ? reservedAs : ('none' as const),
      maxTokens: side === 'answer' ? 100 : 0,
      hasAudio: reservedAs === 'audio',
    };
    expect(reserveEstimate(prices, size)).toBeGreaterThanOrEqual(quotaOf(one(name, 100), prices));
  }
});

test.each(bucketOptions)('$key is an option like others and moves a price', ({ key, table }) => {
  expect(options[key]).toMatchObject({ panel: 'pricing', role: 10 });
  expect(optionRow(key).help.zh).not.toBe('');
  expect(() => JSON.parse(defaultPriceText(key))).not.toThrow();
  const name = bucketNames.find((bucket) => {
    const { price } = bucketRow(bucket);
    return price !== null && 'name' in price && price.name === table;
  });
  const set = pricesWith({ ModelRatio: { [model]: 10 }, [key]: { [model]: 7 } });
  expect(set[table]).toBe(7);
  expect(name === undefined ? 0 : quotaOf(one(name), set)).toBeGreaterThan(quotaOf(one('input'), set));
});

test('every reference of a row leads to a row', () => {
  for (const name of bucketNames) {
    const { price, includes } = bucketRow(name);
    const against = price !== null && 'relativeTo' in price ? price.relativeTo : undefined;
    for (const other of [pricedAs(name), against ?? name, ...(includes ?? [])]) expect(bucketNames).toContain(other);
  }
  for (const list of [bucketNames.map((name) => bucketRow(name).field), ratioRows.map(({ field }) => field)])
    expect(new Set(list).size).toBe(list.length);
});

const tokens = fc.integer({ min: 0, max: 200_000 });
const anyBuckets = fc.record(eachOf(bucketNames, () => tokens)) as fc.Arbitrary<Buckets>;
const sparse = fc.tuple(anyBuckets, fc.subarray([...bucketNames])).map(([counts, kept]) =>
  Object.assign(
    eachOf(bucketNames, () => 0),
    Object.fromEntries(kept.map((name) => [name, counts[name]])),
  ),
);

/** The log row as it was written out bucket by bucket. */
function factsByHand(usage: Buckets): Record<string, unknown> {
  const details: Record<string, unknown> = {
    completion_ratio: plain.completionRatio,
    cache_tokens: usage.cacheRead,
    cache_ratio: plain.cacheRatio,
    input: usage.input,
    output: usage.output + usage.reasoning,
  };
  if (usage.cacheWrite5m + usage.cacheWrite1h > 0) {
    details.cache_creation_tokens = usage.cacheWrite5m + usage.cacheWrite1h;
    details.cache_creation_ratio = plain.cacheWriteRatio;
    if (usage.cacheWrite1h > 0) {
      details.cache_write_1h = usage.cacheWrite1h;
      details.cache_creation_1h_ratio = plain.cacheWrite1hRatio;
    }
  }
  if (usage.reasoning > 0) details.reasoning_tokens = usage.reasoning;
  if (usage.audioInput + usage.audioOutput > 0) {
    details.audio = true;
    details.audio_input = usage.audioInput;
    details.audio_output = usage.audioOutput;
    details.text_input = usage.input + usage.cacheRead;
    details.text_output = usage.output + usage.reasoning;
    details.audio_ratio = plain.audioRatio;
    details.audio_completion_ratio = plain.audioCompletionRatio;
  }
  if (usage.imageInput > 0) {
    details.image = true;
    details.image_output = usage.imageInput;
    details.image_ratio = plain.imageRatio;
  }
  return details;
}

/** Buckets that had a place in a log row before there was a table. */
const former: readonly string[] = [
  'input',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'imageInput',
  'output',
  'reasoning',
  'audioOutput',
];

test('the rows give the log row and the sums that were written out by hand', () => {
  fc.assert(
    fc.property(sparse, (counts) => {
      const usage = { ...emptyUsage, ...counts };
      for (const name of bucketNames) if (!former.includes(name)) Object.assign(usage, { [name]: 0 });
      const { model_ratio, model_price, group_ratio, ...details } = priceFields(usage, plain);
      expect(details).toEqual(factsByHand(usage));
      const cache = usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;
      const read = usage.input + cache + usage.audioInput + usage.imageInput;
      expect(promptTokensOf(usage)).toBe(read);
      expect(loggedPromptTokens({ ...usage, cacheBeside: true })).toBe(read - cache);
      expect(completionTokensOf(usage)).toBe(usage.output + usage.reasoning + usage.audioOutput);
    }),
    { numRuns: 2000 },
  );
});

test('ratios that no table names follow the family’s rules', () => {
  const unset = (name: string) => ratiosOf(name, () => undefined);
  expect(unset('gpt-4o')).toMatchObject({ completionRatio: 4, audioRatio: 1, audioCompletionRatio: 4, imageRatio: 1 });
  expect(unset('gpt-4o-audio-preview')).toMatchObject({ audioRatio: 40, audioCompletionRatio: 2 });
  expect(unset('gpt-4o-mini')).toMatchObject({ audioRatio: 1 });
  expect(unset('gpt-4o-mini-audio-preview')).toMatchObject({ audioRatio: 66.666667 });
  expect(ratiosOf('x', (name) => (name === 'cacheWriteRatio' ? 1.3 : undefined)).cacheWrite1hRatio).toBe(2.08);
  for (const name of mediaBuckets) expect(weightOf(unset('plain'), name)).toBe(1);
});

const begins = { audioInput: 'ID3', imageInput: 'GIF89a', videoInput: '\0\0\u0001\u00ba' } as const;

test.each(mediaBuckets)('the %s of a prompt is bounded before it runs', (name) => {
  const data = Buffer.concat([Buffer.from(begins[name], 'latin1'), Buffer.alloc(3000)]).toString('base64');
  const url = `data:${bucketRow(name).line.detail}/any;base64,${data}`;
  const { bound } = readPrompt({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
  expect(bound.media[name]).toBeGreaterThan(0);
});

test('video is counted separately where the upstream does, and otherwise costs what text costs', () => {
  const details = [
    { modality: 'TEXT', tokenCount: 20 },
    { modality: 'VIDEO', tokenCount: 2_580 },
    { modality: 'AUDIO', tokenCount: 400 },
  ];
  const gemini = codecs['gemini-generate'].upstream.readUsage({
    usageMetadata: { promptTokenCount: 3000, candidatesTokenCount: 10, promptTokensDetails: details },
  });
  expect(gemini).toMatchObject({ input: 20, videoInput: 2580, audioInput: 400, output: 10 });
  const chat = codecs['openai-chat'].upstream.readUsage({
    usage: {
      prompt_tokens: 3000,
      completion_tokens: 10,
      prompt_tokens_details: { text_tokens: 20, video_tokens: 2980 },
    },
  });
  expect(chat).toMatchObject({ input: 20, videoInput: 2980, output: 10 });
  const dear = pricesWith({ ModelRatio: { [model]: 1 }, VideoRatio: { [model]: 2.5 } });
  expect(quotaOf(one('videoInput', 1000), dear)).toBe(2500);
  expect(quotaOf(one('videoInput', 1000), pricesWith({ ModelRatio: { [model]: 1 } }))).toBe(1000);
});

test('more cached tokens than the prompt has lower no reservation', () => {
  const cheaper = pricesWith({ ModelRatio: { [model]: 10 }, CacheRatio: { [model]: 0.1 } });
  const held = (cached: number) => reserveEstimate(cheaper, { promptTokens: 1000, cached, maxTokens: 0 });
  expect(held(1000)).toBeGreaterThan(0);
  expect(held(1000)).toBeLessThan(held(0));
  expect(held(5000)).toBe(held(1000));
});
