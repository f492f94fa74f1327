/** What this product promises of its speed, and what a run found. */

import type { Extras } from './extras.ts';
import { share, type Table } from './stats.ts';
import { type ShapeName, subjectNames } from './targets.ts';

export interface Goal {
  readonly name: string;
  /** null = this machine does not report it. */
  readonly value: number | null;
  /** The value is to be no more. */
  readonly limit: number;
  readonly unit: string;
}

export type Verdict = 'reached' | 'missed' | 'unknown';

export const verdictOf = ({ value, limit }: Goal): Verdict =>
  value === null ? 'unknown' : value <= limit ? 'reached' : 'missed';

const { gateway, floor, durableFloor, before } = subjectNames;

/** CPU of a request at c=64 against the floor: what keys, routing, limits and a durable bill cost over passing bytes. */
export const timesFloor = (table: Table): number | null =>
  share(table['c=64']?.[gateway]?.cpuMicros, table['c=64']?.[floor]?.cpuMicros);

const cpuShare = (table: Table, shape: ShapeName, of: string, against: string): number | null =>
  share(table[shape]?.[of]?.cpuMicros, table[shape]?.[against]?.cpuMicros);

const percent = (value: number | null): number | null => (value === null ? null : value * 100);

const kilobytes = (bytes: number | undefined): number | undefined => (bytes === undefined ? undefined : bytes / 1024);

/** CPU of a billed request, times that of a floor. */
const floorGoals: readonly { readonly shape: ShapeName; readonly against: string; readonly limit: number }[] = [
  { shape: 'c=1', against: durableFloor, limit: 1.1 },
  { shape: 'c=16', against: floor, limit: 3.2 },
  { shape: 'c=64', against: floor, limit: 2.8 },
  { shape: '64 chunks at once', against: floor, limit: 4.6 },
  { shape: '64 chunks, translated', against: floor, limit: 7.6 },
  { shape: '64 chunks, 1 ms apart', against: floor, limit: 1.45 },
];

/** Goals of shapes that were left out are left out too. */
export function goalsOf(table: Table, extras: Extras | null, withBefore: boolean): Goal[] {
  const at = (shape: ShapeName) => table[shape]?.[gateway];
  const has = (shape: ShapeName): boolean => table[shape] !== undefined;
  const goal = (name: string, value: number | null | undefined, limit: number, unit: string): Goal => ({
    name,
    value: value ?? null,
    limit,
    unit,
  });
  const against = (shape: ShapeName, limit: number): Goal[] => {
    if (!withBefore || !has(shape)) return [];
    const value = percent(cpuShare(table, shape, gateway, before));
    return [goal(`CPU against the build before, ${shape}`, value, limit, '%')];
  };
  return [
    ...floorGoals.flatMap(({ shape, against: name, limit }) =>
      has(shape) ? [goal(`CPU, ${shape} / ${name}`, cpuShare(table, shape, gateway, name), limit, '')] : [],
    ),
    ...(has('c=1') ? [goal('written per request at c=1', kilobytes(at('c=1')?.written?.calls), 3, 'KB')] : []),
    ...(has('c=16') ? [goal('added p50 at c=16', at('c=16')?.addedP50, 1.2, 'ms')] : []),
    ...(has('c=1') ? [goal('added p99 at c=1', at('c=1')?.addedP99, 3, 'ms')] : []),
    ...against('c=1', 60),
    ...against('64 chunks at once', 70),
    ...against('64 chunks, 1 ms apart', 80),
    ...(extras === null
      ? []
      : [
          goal('resident memory, idle', extras.idle?.residentMb, 100, 'MB'),
          goal('of it the process has for itself (RssAnon)', extras.idle?.anonymousMb, 42, 'MB'),
          goal('resident memory after the load', extras.loaded?.residentMb, 150, 'MB'),
          goal(`memory per open stream, ${extras.streams.count} open`, extras.streams.kbEach, 49, 'KB'),
          goal('stuck streams', extras.streams.stuck, 0, ''),
          ...(['fresh', 'used'] as const).flatMap((folder) => [
            goal(`relay ready, ${folder} data directory`, extras.times[folder].relayMs, 100, 'ms'),
            goal(`API ready, ${folder} data directory`, extras.times[folder].apiMs, 200, 'ms'),
          ]),
        ]),
  ];
}
