/** What people read of counters: errors by class, percentiles, output speed. */
import {
  type AttemptError,
  attemptErrors,
  percentileOf,
  type RequestError,
  requestErrors,
  type TrafficCounter,
  trafficBounds,
  trafficBuckets,
  trafficCounters,
} from '../../contract/traffic.ts';

export type Counters = Readonly<Record<TrafficCounter, number>>;

/** Milliseconds; null = nothing was measured. */
export interface Percentiles {
  readonly mean: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface TrafficStats {
  readonly requests: number;
  /** Requests that ended without their answer. */
  readonly errors: number;
  readonly error_by: Readonly<Record<RequestError, number>>;
  readonly refused: number;
  readonly retried: number;
  readonly saved: number;
  readonly attempts: number;
  /** Attempts that failed, other than for what the request asked. */
  readonly failed: number;
  readonly failed_by: Readonly<Record<AttemptError, number>>;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  /** Quota. */
  readonly charge: number;
  readonly latency: Percentiles;
  readonly first_token: Percentiles;
  /** Tokens per second, of streams alone. */
  readonly tokens_per_second: number | null;
}

const noCounters: Counters = Object.fromEntries(trafficCounters.map((name) => [name, 0])) as Counters;

export function sumOf(all: readonly Counters[]): Counters {
  const sum = { ...noCounters } as Record<TrafficCounter, number>;
  for (const one of all) for (const name of trafficCounters) sum[name] += one[name];
  return sum;
}

const bucketNames = (name: 'latency' | 'first'): TrafficCounter[] =>
  Array.from({ length: trafficBuckets }, (_, at) => `${name}_${at}` as TrafficCounter);
/** Names of the counters of each. */
export const histograms = { latency: bucketNames('latency'), first: bucketNames('first') };

export const histogramOf = (row: Counters, name: 'latency' | 'first'): number[] =>
  histograms[name].map((bucket) => row[bucket]);

const tenths = (value: number): number => Math.round(value * 10) / 10;

/** What the slowest can have taken: the sum, less the least that the others took. @param sum milliseconds of all. */
function mostOf(counts: readonly number[], sum: number): number {
  const top = counts.findLastIndex((count) => count > 0);
  const others = counts.reduce(
    (ms, count, at) => ms + (at === top ? count - 1 : count) * (trafficBounds[at - 1] ?? 0),
    0,
  );
  return Math.max(trafficBounds[top - 1] ?? 0, Math.round(sum - others));
}

function percentilesOf(row: Counters, name: 'latency' | 'first'): Percentiles {
  const counts = histogramOf(row, name);
  const all = counts.reduce((sum, count) => sum + count, 0);
  const most = mostOf(counts, row[`${name}_ms`]);
  const within = (value: number | null): number | null => (value === null ? null : Math.min(value, most));
  return {
    mean: all === 0 ? null : Math.round(row[`${name}_ms`] / all),
    p50: within(percentileOf(counts, 0.5)),
    p95: within(percentileOf(counts, 0.95)),
  };
}

/** A request that a channel refuses for what it asks says nothing of the channel. */
export const failedOf = (row: Pick<Counters, `failed_${Exclude<AttemptError, 'invalid'>}`>): number =>
  row.failed_upstream + row.failed_rate_limited + row.failed_auth + row.failed_timeout + row.failed_network;

export function statsOf(row: Counters): TrafficStats {
  const errorBy = Object.fromEntries(requestErrors.map((name) => [name, row[`error_${name}`]])) as Record<
    RequestError,
    number
  >;
  const failedBy = Object.fromEntries(attemptErrors.map((name) => [name, row[`failed_${name}`]])) as Record<
    AttemptError,
    number
  >;
  const { requests, refused: rejected, retried, saved, attempts, tokens_in, tokens_out, tokens_cached, charge } = row;
  return {
    ...{ requests, refused: rejected, retried, saved, attempts, tokens_in, tokens_out, tokens_cached, charge },
    errors: requestErrors.reduce((sum, name) => sum + errorBy[name], 0),
    error_by: errorBy,
    failed: failedOf(row),
    failed_by: failedBy,
    latency: percentilesOf(row, 'latency'),
    first_token: percentilesOf(row, 'first'),
    tokens_per_second: row.stream_ms === 0 ? null : tenths((row.stream_tokens * 1000) / row.stream_ms),
  };
}
