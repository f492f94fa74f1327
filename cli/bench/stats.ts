/** Turns samples into figures: medians over the samples with low noise, and the noise and the failures beside them. */
import type { Written } from './machine.ts';

/** One measurement. */
export interface Sample {
  readonly rps: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds a request; null = unknown. */
  readonly cpu: number | null;
  /** The same by name of a thread. */
  readonly threads: Readonly<Record<string, number>> | null;
  /** Bytes a request; null = unknown. */
  readonly written: Written | null;
  readonly requests: number;
  readonly failed: number;
  /** Share of a core that others used meanwhile. */
  readonly noise: number;
}

export interface SampleStats {
  readonly rps: number;
  /** CPU per request, microseconds; null = unknown. */
  readonly cpuMicros: number | null;
  /** Of it, by name of a thread: those with a share that counts, the most first. */
  readonly threadMicros: Readonly<Record<string, number>>;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Against the way without a gateway. */
  readonly addedP50: number;
  readonly addedP99: number;
  /** Bytes a request; null = unknown. */
  readonly written: Written | null;
  readonly requests: number;
  readonly failed: number;
  /** Share of the measured core that others used meanwhile: above a few per cent the figures are not to be trusted. */
  readonly noise: number;
}

/** Shape -> subject -> figures. */
export type Table = Readonly<Record<string, Readonly<Record<string, SampleStats>>>>;

/** Samples in which others took more of a core are left out as long as there are better ones. */
export const maxNoiseShare = 0.1;

export const lowNoise = (samples: readonly Sample[]): readonly Sample[] =>
  samples.filter(({ noise }) => noise < maxNoiseShare);

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

const kept = (samples: readonly Sample[]): readonly Sample[] =>
  lowNoise(samples).length > 0 ? lowNoise(samples) : samples;

/** Threads that take less of a request are added up. */
const minShare = 0.03;
const others = 'other';

function threadsIn(samples: readonly Sample[]): Record<string, number> {
  const known = samples.flatMap(({ threads }) => (threads === null ? [] : [threads]));
  const names = [...new Set(known.flatMap((one) => Object.keys(one)))];
  const all = names.map((name) => ({ name, micros: median(known.map((one) => one[name] ?? 0)) }));
  const whole = all.reduce((sum, { micros }) => sum + micros, 0);
  const [large, small] = [true, false].map((is) => all.filter(({ micros }) => micros >= whole * minShare === is));
  const rest = (small ?? []).reduce((sum, { micros }) => sum + micros, 0);
  const sorted = (large ?? []).sort((one, other) => other.micros - one.micros);
  return Object.fromEntries(
    [...sorted, ...(rest > 0 ? [{ name: others, micros: rest }] : [])].map(({ name, micros }) => [name, micros]),
  );
}

/** @param direct the same requests without a gateway. */
export function statsOf(samples: readonly Sample[], direct: readonly Sample[]): SampleStats {
  const of = (list: readonly Sample[], field: 'rps' | 'p50' | 'p99' | 'noise'): number =>
    median(kept(list).map((sample) => sample[field]));
  const cpu = kept(samples).flatMap((sample) => sample.cpu ?? []);
  const writes = kept(samples).flatMap((sample) => sample.written ?? []);
  const sum = (field: 'requests' | 'failed'): number => samples.reduce((total, sample) => total + sample[field], 0);
  return {
    rps: of(samples, 'rps'),
    cpuMicros: cpu.length === 0 ? null : median(cpu),
    threadMicros: threadsIn(kept(samples)),
    p50: of(samples, 'p50'),
    p99: of(samples, 'p99'),
    addedP50: of(samples, 'p50') - of(direct, 'p50'),
    addedP99: of(samples, 'p99') - of(direct, 'p99'),
    written:
      writes.length === 0
        ? null
        : { calls: median(writes.map(({ calls }) => calls)), disk: median(writes.map(({ disk }) => disk)) },
    requests: sum('requests'),
    failed: sum('failed'),
    noise: of(samples, 'noise'),
  };
}

/** A share of two figures; null where one of them is unknown. */
export const share = (one: number | null | undefined, other: number | null | undefined): number | null =>
  one === null || one === undefined || other === null || other === undefined || other === 0 ? null : one / other;
