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
} from './buckets.ts';
import type { Prices } from './prices.ts';
import { pricesFor, quotaOf } from './quota.ts';

/** How large a request can become, in tokens. What is absent is nothing. */
export interface HoldSize {
  /** Words of the prompt. */
  readonly promptTokens: number;
  /** What the prompt carries besides words, by bucket. */
  readonly media?: Readonly<Partial<Record<MediaBucket, number>>>;
  /** Files of which is not known before they are read how long they are, nor of which kind. */
  readonly files?: number;
  /** The prompt may be written to a cache that lives 5 minutes or an hour. */
  readonly caches?: CacheLife;
  /** All that may be written. */
  readonly maxTokens: number;
  /** The answer may be spoken. */
  readonly speaks?: boolean;
  /** Calls of tools that are paid by the call. */
  readonly toolCalls?: Readonly<Record<string, number>>;
}

export type CacheLife = 'none' | '5m' | '1h';

const noTools: Readonly<Record<string, number>> = {};

/**
 * The whole prompt at the dearest price that may apply, and all the output. Rounded like the charge, so that a hold never
 * falls short of a charge within its bounds (new-api rounds down and leaves the prompt out).
 */
export function holdEstimate(base: Prices, size: HoldSize): number {
  const { promptTokens, media = noMedia, files = 0, caches = 'none', maxTokens, speaks = false } = size;
  let all = promptTokens + files;
  for (const name of mediaBuckets) all += media[name] ?? 0;
  const prices = base.tiers.length === 0 ? base : pricesFor(base, all);
  const usage: Record<BucketName, number> = { ...noTokens };
  let words = promptTokens;
  for (const name of mediaBuckets) {
    const tokens = media[name] ?? 0;
    // What the upstream reports as words costs what words cost.
    if (tokens > 0 && weightOf(prices, name) > 1) usage[name] = tokens;
    else words += tokens;
  }
  usage[dearest(prices, wordBuckets[caches])] += words;
  if (files > 0) usage[dearest(prices, [...wordBuckets[caches], ...mediaBuckets])] += files;
  usage[dearest(prices, speaks ? answerBuckets : writtenBuckets)] += maxTokens;
  return quotaOf({ ...usage, toolCalls: size.toolCalls ?? noTools, raw: null }, base);
}

const noMedia: NonNullable<HoldSize['media']> = {};
const noTokens = eachOf(bucketNames, () => 0);

const heldAs = (names: readonly BucketName[], ...kinds: readonly string[]): readonly BucketName[] =>
  names.filter((name) => kinds.includes(bucketRow(name).held));
/** Where words of the prompt may be counted, by the cache they may be written to. */
const wordBuckets: Readonly<Record<CacheLife, readonly BucketName[]>> = {
  none: heldAs(promptBuckets, 'words'),
  '5m': heldAs(promptBuckets, 'words', '5m'),
  '1h': heldAs(promptBuckets, 'words', '5m', '1h'),
};
const writtenBuckets = heldAs(answerBuckets, 'words');

function dearest(prices: Prices, names: readonly BucketName[]): BucketName {
  let found: BucketName = names[0] ?? 'input';
  for (const name of names) if (weightOf(prices, name) > weightOf(prices, found)) found = name;
  return found;
}
