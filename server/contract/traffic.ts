/** What traffic is counted in: the counters of one row, the bounds of its histograms, and how a percentile is read from them. */

/** Why a request ended without its answer, or an attempt failed. */
export const attemptErrors = ['upstream', 'rate_limited', 'auth', 'timeout', 'network', 'invalid'] as const;
export const requestErrors = [...attemptErrors, 'refused', 'client_left'] as const;
export type AttemptError = (typeof attemptErrors)[number];
export type RequestError = (typeof requestErrors)[number];

/** Upper bounds in milliseconds, on a logarithmic scale; what is longer counts in the last bucket. */
export const trafficBounds = [
  25, 50, 75, 100, 150, 250, 350, 500, 750, 1000, 1500, 2500, 3500, 5000, 7500, 10_000, 15_000, 20_000, 30_000, 60_000,
  120_000, 300_000,
] as const;
export const trafficBuckets = trafficBounds.length + 1;

const sums = [
  /** Requests that were admitted and have ended. */
  'requests',
  /** Those that more than one attempt was made for. */
  'retried',
  /** Of a channel: requests that failed here and that another channel served. */
  'saved',
  /** Calls of upstreams. */
  'attempts',
  /** Requests turned away before admission; they are not among `requests`. */
  'refused',
  'tokens_in',
  'tokens_out',
  'tokens_cached',
  /** Quota. */
  'charge',
  /** Output tokens of streams, and how long they ran from the first byte to the last. */
  'stream_tokens',
  'stream_ms',
  'latency_ms',
  'first_ms',
] as const;
type Sum = (typeof sums)[number] | `error_${RequestError}` | `failed_${AttemptError}`;

type Bucket = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22;
type BucketCounter = `${'latency' | 'first'}_${Bucket}`;

const buckets = (name: 'latency' | 'first'): BucketCounter[] =>
  Array.from({ length: trafficBuckets }, (_, at) => `${name}_${at as Bucket}` as const);

/** Everything that is added, in the order of a row's array. */
export const trafficCounters = [
  ...sums,
  ...requestErrors.map((name) => `error_${name}` as const),
  ...attemptErrors.map((name) => `failed_${name}` as const),
  ...buckets('latency'),
  ...buckets('first'),
] as const;
export type TrafficCounter = Sum | BucketCounter;

const indexes = new Map<string, number>(trafficCounters.map((name, at) => [name, at]));
/** Where a counter stands in a row's array. */
export const counterAt = (name: TrafficCounter): number => indexes.get(name) ?? 0;

/** Windows that are kept, in seconds. */
export const trafficSpans = [300, 3600, 86_400] as const;
export type TrafficSpan = (typeof trafficSpans)[number];
export const minSpan = trafficSpans[0];

/** The model of what has no series of its own. */
export const otherModel = 'other';
/** The key of callers that have no series of their own. */
export const otherToken = -1;

/** Failed attempts of a channel since its last success. */
export interface FailureStreak {
  readonly channelId: number;
  /** It answered within the time that is reported. */
  readonly succeeded: boolean;
  readonly failures: number;
  /** Epoch seconds of the first and of the last of them. */
  readonly since: number;
  readonly lastAt: number;
  /** What the upstream said last: `401 Incorrect API key`; without keys and addresses. */
  readonly words: string;
}

/** What one relay has counted in one window since it was asked last. */
export interface TrafficWindow {
  /** Epoch seconds at which it begins. */
  readonly at: number;
  /** By the channel that ended the request, 0 = none, and by channels that failed before. */
  readonly routes: readonly (readonly [channelId: number, model: string, counts: readonly number[]])[];
  readonly callers: readonly (readonly [userId: number, tokenId: number, model: string, counts: readonly number[]])[];
  readonly streaks: readonly FailureStreak[];
  /** Requests that a channel failed and another served. */
  readonly saves: readonly (readonly [failed: number, servedBy: number, requests: number])[];
  /** Answers of another model than was sent, as `sent → answered`; absent in counts of nodes of an earlier version. */
  readonly others?: readonly (readonly [channelId: number, models: string, requests: number])[];
  /** Addresses that keys were used from. */
  readonly places: readonly (readonly [tokenId: number, ip: string])[];
}

/** @returns milliseconds below which `share` of the counts lie, on a logarithmic line within the bucket; null = nothing was counted. */
export function percentileOf(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let left = share * all;
  for (const [at, count] of counts.entries()) {
    if (left > count) {
      left -= count;
      continue;
    }
    const upper = trafficBounds[at] ?? Number.POSITIVE_INFINITY;
    const lower = trafficBounds[at - 1] ?? 1;
    if (upper === Number.POSITIVE_INFINITY) return lower;
    return Math.round(lower * (upper / lower) ** (count === 0 ? 1 : left / count));
  }
  return trafficBounds.at(-1) ?? null;
}

/** How a channel is doing, from its traffic. */
export const channelStates = ['serving', 'slow', 'failing', 'standby', 'idle', 'disabled'] as const;
export type ChannelState = (typeof channelStates)[number];

/** How a part of a range went: more than half failed, some failed, twice as slow as usual. */
export const periodLevels = ['none', 'good', 'slow', 'poor', 'bad'] as const;
export type PeriodLevel = (typeof periodLevels)[number];
