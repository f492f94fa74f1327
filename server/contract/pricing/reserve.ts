/** What a request may cost at most, from what is known before it runs. */
import {
  answerBuckets,
  type BucketName,
  bucketNames,
  bucketRow,
  eachOf,
  type MediaBucket,
  mediaBuckets,
  promptBuckets,
  weightOf,
} from './bucket.ts';
import { highestQuotaOf, pricesFor, roundUpQuota } from './charge.ts';
import type { Prices } from './price.ts';
import { exactLimit, weightsOf } from './weights.ts';

/** How large a request can become, in tokens. What is absent is nothing. */
export interface ReserveSize {
  /** Words of the prompt. */
  readonly promptTokens: number;
  /** Those of them that evidence shows to be read from a cache: for what is likely, never for what it may cost at most. */
  readonly cached?: number;
  /** What the prompt carries besides words, by bucket. */
  readonly media?: Readonly<Partial<Record<MediaBucket, number>>>;
  /** Files of which is not known before they are read how long they are, nor of which kind. */
  readonly files?: number;
  /** The prompt may be written to a cache that lives 5 minutes, an hour or twelve. */
  readonly caches?: CacheTtl;
  /** All that may be written. */
  readonly maxTokens: number;
  /** The answer may be spoken. */
  readonly hasAudio?: boolean;
  /** Calls of tools that are paid by the call. */
  readonly toolCalls?: Readonly<Record<string, number>>;
}

export type CacheTtl = 'none' | '5m' | '1h' | '12h';

const noTools: Readonly<Record<string, number>> = {};

/**
 * The whole prompt at the dearest price that may apply, and all the output. Rounded up, so that a hold never falls short of a
 * charge within its bounds, whatever fraction is carried (new-api rounds down and leaves the prompt out).
 */
export function reserveEstimate(base: Prices, size: ReserveSize): number {
  const { promptTokens, media = noMedia, files = 0, caches = 'none', maxTokens, hasAudio = false } = size;
  const cached = Math.min(promptTokens, size.cached ?? 0);
  let all = promptTokens + files;
  for (const name in media) all += media[name as MediaBucket] ?? 0;
  const prices = base.tiers.length === 0 ? base : pricesFor(base, all);
  const { weights, words, anyMedia, written, audio, aboveText } = choicesOf(prices);
  if (weights !== null && isEmpty(size.toolCalls)) {
    let sum = (promptTokens - cached) * weights[words[caches]] + cached * weights.cacheRead;
    for (const name in media) {
      const bucket = name as MediaBucket;
      sum += (media[bucket] ?? 0) * weights[aboveText.has(bucket) ? bucket : words[caches]];
    }
    if (files > 0) sum += files * weights[anyMedia[caches]];
    sum += maxTokens * weights[hasAudio ? audio : written];
    if (sum > 0 && sum < exactLimit) return roundUpQuota(sum, weights.unit);
  }
  const usage: Record<BucketName, number> = { ...noTokens };
  usage[words[caches]] = promptTokens - cached;
  usage.cacheRead += cached;
  for (const name in media) {
    const bucket = name as MediaBucket;
    usage[aboveText.has(bucket) ? bucket : words[caches]] += media[bucket] ?? 0;
  }
  if (files > 0) usage[anyMedia[caches]] += files;
  usage[hasAudio ? audio : written] += maxTokens;
  return highestQuotaOf({ ...usage, toolCalls: size.toolCalls ?? noTools, raw: null }, base);
}

/** The buckets that a hold counts in: the dearest that may apply, which depend on the prices alone. */
interface BucketChoices {
  /** Integers by bucket; null = there is a price per call, or the numbers are too fine for the short way. */
  readonly weights: (Readonly<Record<BucketName, number>> & { readonly unit: number }) | null;
  readonly words: Readonly<Record<CacheTtl, BucketName>>;
  /** For files of unknown kind. */
  readonly anyMedia: Readonly<Record<CacheTtl, BucketName>>;
  readonly written: BucketName;
  readonly audio: BucketName;
  /** Media that cost more than words. What the upstream reports as words costs what words cost. */
  readonly aboveText: ReadonlySet<MediaBucket>;
}

const choices = new WeakMap<Prices, BucketChoices>();

function choicesOf(prices: Prices): BucketChoices {
  let known = choices.get(prices);
  if (known === undefined) {
    known = makeChoices(prices);
    choices.set(prices, known);
  }
  return known;
}

function makeChoices(prices: Prices): BucketChoices {
  const weights = prices.modelPrice === null ? weightsOf(prices) : null;
  const byTtl = (more: readonly BucketName[]) => ({
    none: dearest(prices, [...wordBuckets.none, ...more]),
    '5m': dearest(prices, [...wordBuckets['5m'], ...more]),
    '1h': dearest(prices, [...wordBuckets['1h'], ...more]),
    '12h': dearest(prices, [...wordBuckets['12h'], ...more]),
  });
  return {
    weights:
      weights === null
        ? null
        : {
            ...noTokens,
            ...Object.fromEntries(weights.buckets.map(({ name, weight }) => [name, weight])),
            unit: weights.unit,
          },
    words: byTtl([]),
    anyMedia: byTtl(mediaBuckets),
    written: dearest(prices, writtenBuckets),
    audio: dearest(prices, answerBuckets),
    aboveText: new Set(mediaBuckets.filter((name) => weightOf(prices, name) > 1)),
  };
}

const isEmpty = (calls: ReserveSize['toolCalls']): boolean => {
  for (const _tool in calls) return false;
  return true;
};

const noMedia: NonNullable<ReserveSize['media']> = {};
const noTokens = eachOf(bucketNames, () => 0);

const reservedBuckets = (names: readonly BucketName[], ...kinds: readonly string[]): readonly BucketName[] =>
  names.filter((name) => kinds.includes(bucketRow(name).reservedAs));
/** Where words of the prompt may be counted, by the cache they may be written to. */
const wordBuckets: Readonly<Record<CacheTtl, readonly BucketName[]>> = {
  none: reservedBuckets(promptBuckets, 'words'),
  '5m': reservedBuckets(promptBuckets, 'words', '5m'),
  '1h': reservedBuckets(promptBuckets, 'words', '5m', '1h'),
  '12h': reservedBuckets(promptBuckets, 'words', '5m', '1h', '12h'),
};
const writtenBuckets = reservedBuckets(answerBuckets, 'words');

function dearest(prices: Prices, names: readonly BucketName[]): BucketName {
  let found: BucketName = names[0] ?? 'input';
  for (const name of names) if (weightOf(prices, name) > weightOf(prices, found)) found = name;
  return found;
}
