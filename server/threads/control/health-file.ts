/** How upstreams are doing, kept in a file for the next start. It holds waits, counts, ids of channels, hashes of models and keys, and what upstreams said of keys, without the keys. */
import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Timers } from '../../contract/timers.ts';
import { pairMembers } from '../../relay/routing/health.ts';
import {
  type ChannelReport,
  type HealthPiece,
  type HealthReport,
  joinedHealth,
  type KeptHealth,
  type KeyReport,
  type PairReport,
  shifted,
  shiftedChannel,
} from '../../relay/routing/health-report.ts';
import { outlasting } from '../../relay/routing/key-log.ts';

type Clock = Pick<Timers, 'now' | 'monoNow'>;

const format = 1;
/** Waits are at most so long, and a clock may have been wrong. */
const maxMs = 8 * 86_400_000;

/** `ejectedUntil` and `waitUntil` among the members of a pair. */
const pairTimes: readonly number[] = [3, 5];

const shiftedPairs = (pairs: KeptHealth['pairs'], by: number): number[] =>
  Array.from(pairs, (value, at) => (pairTimes.includes(at % pairMembers) ? shifted(value, by) : value));

const pairAt = ([id = 0, failures = 0, ejections = 0, ejectedUntil = 0, share = 0, waitUntil = 0]: readonly number[]) =>
  ({ id, failures, ejections, ejectedUntil, share, waitUntil }) satisfies PairReport;

/** Waits end at a moment of the wall clock in the file, and at one of the monotonic clock in a report. */
export function writeHealth({ channels, pairs, keys = [] }: KeptHealth, { now, monoNow }: Clock): string {
  const by = now() - monoNow();
  return JSON.stringify({
    format,
    channels: channels.map((channel) => shiftedChannel(channel, by)),
    pairs: shiftedPairs(pairs, by),
    // Absent where there are none, as in files of earlier builds.
    ...(keys.length === 0 ? {} : { keys: outlasting(keys) }),
  });
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const areNumbers = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every(isNumber);

const isKeyReport = (value: unknown): value is KeyReport => {
  const { channelId, name, usedAt, errorAt, error, isRefused } = Object(value) as Partial<KeyReport>;
  return (
    areNumbers([channelId, usedAt, errorAt]) &&
    typeof name === 'string' &&
    typeof error === 'string' &&
    typeof isRefused === 'boolean'
  );
};

/** @returns null where the text is none of ours. */
export function readHealth(text: string, { now, monoNow }: Clock): HealthReport | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  const kept = Object(read) as Readonly<Partial<Record<'format' | 'channels' | 'pairs' | 'keys', unknown>>>;
  if (kept.format !== format || !Array.isArray(kept.channels) || !areNumbers(kept.pairs)) return null;
  const by = monoNow() - now();
  const latest = now() + maxMs;
  const channels = kept.channels.map(Object) as ChannelReport[];
  const keys = Array.isArray(kept.keys) ? kept.keys.filter(isKeyReport) : [];
  const numbers = shiftedPairs(new Float64Array(kept.pairs), by);
  const pairs = Array.from({ length: Math.floor(numbers.length / pairMembers) }, (_, n) =>
    pairAt(numbers.slice(n * pairMembers, (n + 1) * pairMembers)),
  );
  return {
    channels: channels
      .filter(
        ({ channelId, coolUntil, spentUntil, failures, ejections, ejectedUntil, share, keyErrors }) =>
          areNumbers([channelId, failures, ejections, ejectedUntil, share]) &&
          areNumbers(coolUntil) &&
          areNumbers(spentUntil) &&
          areNumbers(keyErrors ?? []) &&
          [ejectedUntil, ...coolUntil, ...spentUntil].every((at) => at <= latest),
      )
      .map((channel) => shiftedChannel(channel, by)),
    pairs: pairs.filter(({ ejectedUntil, waitUntil }) => Math.max(ejectedUntil, waitUntil) <= latest + by),
    served: [],
    kept: [],
    ...(keys.length === 0 ? {} : { keys }),
  };
}

/** @returns what was kept; null where nothing was. */
export function keptHealth(file: string, clock: Clock): HealthReport | null {
  try {
    return readHealth(readFileSync(file, 'utf8'), clock);
  } catch {
    // A first start has none, and without it everything is tried.
    return null;
  }
}

/** Writes the latest, one after the other. What cannot be written is learnt again after a start. */
export function createHealthFile(file: string, clock: Clock) {
  const begun = new Map<number, HealthPiece[]>();
  let waiting: KeptHealth | null = null;
  let writing: Promise<void> | null = null;
  const write = async () => {
    while (waiting !== null) {
      const text = writeHealth(waiting, clock);
      waiting = null;
      try {
        await writeFile(`${file}.new`, text, { mode: 0o600 });
        await rename(`${file}.new`, file);
      } catch {
        // reason: the disk's state has a watch of its own.
      }
    }
    writing = null;
  };
  return {
    /** @param thread relay threads that stop together report at the same time, each its own. */
    keep(piece: HealthPiece, thread = 0): void {
      // Pieces before the first one are of a thread that has ended.
      const pieces = piece.isFirst ? [] : (begun.get(thread) ?? []);
      pieces.push(piece);
      if (!piece.isLast) return void begun.set(thread, pieces);
      begun.delete(thread);
      waiting = joinedHealth(pieces);
      writing ??= write();
    },
    done: (): Promise<void> => writing ?? Promise.resolve(),
  };
}
