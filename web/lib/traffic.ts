/** Traffic over a range as charts and rows: which steps, how it changed, and where in the log each mark stands. Pure. */
import { edgesOf, stepOf } from '../../server/contract/counted.ts';
import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import { type Range, rangeQuery } from './range.ts';

export type Traffic = OutputOf<EndpointOf<'traffic.all'>>;
export type TrafficSeries = Traffic['series'][number];
export type Figures = Traffic['total'];

export const dimensions = ['model', 'channel', 'user', 'token', 'label'] as const;
export type Dimension = (typeof dimensions)[number];
export const metrics = ['charge', 'requests', 'tokens'] as const;
export type Metric = (typeof metrics)[number];

export interface Period {
  /** Epoch seconds, both on the edges of steps; the second is excluded. */
  readonly from: number;
  readonly to: number;
  /** Seconds. */
  readonly step: number;
}

const daySeconds = 86_400;
const maxSeconds = 90 * daySeconds;

/** Whole steps, from the one that the range begins in to the one that it ends in. @param now epoch seconds. */
export function periodOf({ from, to }: Pick<Range, 'from' | 'to'>, now: number): Period {
  const end = to === 0 ? now : to - 1;
  const start = from === 0 ? end - maxSeconds : from;
  return edgesOf(Math.min(start, end), end, stepOf(Math.min(to === 0 ? now : to, now) - start));
}

/** Seconds of it that have passed. @param now epoch seconds. */
export const elapsed = ({ from, to }: Period, now: number): number => Math.max(1, Math.min(to, now) - from);

export const before = ({ from, to, step }: Period): Period => ({ from: from - (to - from), to: from, step });

/** What the server is asked: its last step is the one that the end lies in. */
export const queryOf = ({ from, to, step }: Period) => ({
  start_timestamp: from,
  end_timestamp: to - 1,
  step: ({ 300: '5m', 3600: '1h' } as const)[step] ?? ('1d' as const),
});

export const startsOf = ({ from, to, step }: Period): number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step);

export const metricOf = (metric: Metric, figures: Pick<Figures, 'charge' | 'requests' | 'tokens_in' | 'tokens_out'>) =>
  metric === 'tokens' ? figures.tokens_in + figures.tokens_out : figures[metric];

/** One value for each step; `none` where nothing was counted. */
export function valuesOf<Point, None>(
  points: readonly (Point & { readonly at: number })[] | undefined,
  starts: readonly number[],
  of: (point: Point) => number | null,
  none: None,
): (number | None)[] {
  const at = new Map(points?.map((point) => [point.at, point]));
  return starts.map((start) => {
    const point = at.get(start);
    return (point === undefined ? null : of(point)) ?? none;
  });
}

export interface Stack {
  /** null = all that is small, together. */
  readonly series: TrafficSeries | null;
  readonly values: readonly number[];
  readonly total: number;
}

const maxSeries = 6;

/** Largest first, what is small added up at the end. */
export function stacksOf(
  by: readonly TrafficSeries[],
  all: TrafficSeries | undefined,
  starts: readonly number[],
  metric: Metric,
): Stack[] {
  const of = (figures: Figures) => metricOf(metric, figures);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const found = by
    .map((series): Stack => {
      const values = valuesOf(series.points, starts, of, 0);
      return { series, values, total: sum(values) };
    })
    .filter(({ total }) => total > 0)
    .sort((one, other) => other.total - one.total);
  const visible = found.slice(0, maxSeries);
  const whole = valuesOf(all?.points, starts, of, 0);
  const rest = whole.map((value, at) => Math.max(0, value - sum(visible.map(({ values }) => values[at] ?? 0))));
  return sum(rest) === 0 ? visible : [...visible, { series: null, values: rest, total: sum(rest) }];
}

/** So many bars are wide enough to be told apart on a phone. */
const maxNarrowBars = 48;

/** How many steps a bar is the sum of on a phone. */
export function stepsOfBar({ from, to, step }: Period): number {
  const steps = (to - from) / step;
  const sizes = step === daySeconds ? [1, 2, 7] : step === 3600 ? [1, 2, 3, 4, 6, 12, 24] : [1, 2, 3, 6, 12];
  return sizes.find((size) => steps / size <= maxNarrowBars) ?? sizes.at(-1) ?? 1;
}

/** Sums of so many values each. */
export const sumsOf = (values: readonly number[], size: number): number[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    values.slice(at * size, (at + 1) * size).reduce((sum, value) => sum + value, 0),
  );

interface Bars {
  readonly values: readonly (number | null)[];
}

/** Bars lie over each other: each carries the sum of itself and all below, the tallest is drawn first. */
export function stacked(lines: readonly Bars[]): number[][] {
  const totals: number[] = [];
  return lines.map(({ values }) =>
    values.map((value, at) => {
      totals[at] = (totals[at] ?? 0) + (value ?? 0);
      return totals[at] ?? 0;
    }),
  );
}

/** Which of the stacked bars a height lies in; null = above all. */
export function barAt(lines: readonly Bars[], index: number, height: number): number | null {
  const found = stacked(lines).findIndex((totals) => height <= (totals[index] ?? 0));
  return found === -1 || height < 0 ? null : found;
}

/** Of what it was before; null = there was nothing. */
export const changeOf = (now: number, then: number | undefined): number | null =>
  then === undefined || then === 0 ? null : (now - then) / then;

/** What a row counts, and how much of it failed: attempts of a channel, which may fail without the request, else requests. */
export const countsOf = (
  by: Dimension,
  { attempts, failed, requests, errors }: Pick<Figures, 'attempts' | 'failed' | 'requests' | 'errors'>,
): { readonly all: number; readonly bad: number } =>
  by === 'channel' ? { all: attempts, bad: failed } : { all: requests, bad: errors };

export const errorRate = ({ errors, requests }: Pick<Figures, 'errors' | 'requests'>): number | null =>
  requests === 0 ? null : errors / requests;

/** What a small chart draws. */
export type Sketch = Pick<Figures, 'charge' | 'requests' | 'errors' | 'first_token'>;
const maxPoints = 48;

/** Seconds of a point of a small chart: whole steps, so that it has at most 48 points. */
export const pointSeconds = ({ from, to, step }: Period): number =>
  step * Math.max(1, Math.ceil((to - from) / step / maxPoints));

/** Weighed by requests: not the percentile of them all, but near enough for a line. */
function weighed(points: readonly Sketch[], of: 'p50' | 'p95'): number | null {
  const known = points.filter(({ first_token, requests }) => first_token[of] !== null && requests > 0);
  const requests = known.reduce((sum, one) => sum + one.requests, 0);
  return requests === 0
    ? null
    : known.reduce((sum, one) => sum + (one.first_token[of] ?? 0) * one.requests, 0) / requests;
}

/** Steps put together into points of a small chart. @param shift seconds that the steps lie before those of the period. */
export function sketchOf(
  points: TrafficSeries['points'],
  period: Period,
  shift = 0,
): (Sketch & { readonly at: number })[] {
  const seconds = pointSeconds(period);
  const groups = Map.groupBy(points, ({ at }) => Math.floor((at + shift - period.from) / seconds));
  const sum = (list: readonly Sketch[], of: (one: Sketch) => number) => list.reduce((all, one) => all + of(one), 0);
  return [...groups].map(([group, own]) => ({
    at: period.from + group * seconds,
    charge: sum(own, ({ charge }) => charge),
    requests: sum(own, ({ requests }) => requests),
    errors: sum(own, ({ errors }) => errors),
    first_token: { mean: null, p50: weighed(own, 'p50'), p95: weighed(own, 'p95') },
  }));
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `15:00`, `11-19 15:00`, or the day, which is one of UTC. @param long with its day. */
export function labelOf(start: number, step: number, long: boolean): string {
  const at = new Date(start * 1000);
  if (step >= daySeconds) return `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return long ? `${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}` : time;
}

export interface Tick {
  /** Epoch seconds. */
  readonly at: number;
  readonly text: string;
}

const minute = 60;
const hourSeconds = 3600;
/** How far apart times are named. Weeks begin on Mondays. */
const units = [
  ...[5, 15, 30].map((count) => count * minute),
  ...[1, 3, 6, 12].map((count) => count * hourSeconds),
  ...[1, 2, 7, 14, 28].map((count) => count * daySeconds),
];
const mondayAt = 4 * daySeconds;

/**
 * The times that an axis names: round ones in the reader's zone, midnights by their day. Days are those of UTC, and each is named at its middle.
 * @param most so many have room.
 */
export function ticksOf(period: Period, most: number): Tick[] {
  const { step } = period;
  const starts = startsOf(period);
  const byDay = step >= daySeconds;
  const local = (start: number): number =>
    byDay ? start : start - new Date(start * 1000).getTimezoneOffset() * minute;
  for (const unit of units.filter((one) => one >= step)) {
    const part = (start: number): number => Math.floor((local(start) - (unit > daySeconds ? mondayAt : 0)) / unit);
    const found = starts.filter((start) => part(start) !== part(start - step));
    if (found.length > most) continue;
    return found.map((start) => {
      const ofDay = byDay || Math.floor(local(start) / daySeconds) !== Math.floor(local(start - step) / daySeconds);
      return {
        at: byDay ? start + step / 2 : start,
        text: byDay || !ofDay ? labelOf(start, step, false) : labelOf(start, step, true).slice(0, 5),
      };
    });
  }
  return [];
}

/** The log where it is about this. @param some further filters, as its address has them. */
export function logLink(
  range: Pick<Range, 'from' | 'to'> & Partial<Pick<Range, 'span'>>,
  some: Readonly<Record<string, string>> = {},
): string {
  const time = rangeQuery({ span: 'custom', ...range });
  const given = Object.entries({ ...some, ...time }).filter(([, value]) => value !== '');
  return `/log?${new URLSearchParams(given)}`;
}

/** How the log is narrowed to one row of a table. */
export function filterOf(by: Dimension, { id, name, username }: TrafficSeries): Readonly<Record<string, string>> {
  if (by === 'channel') return { channel: String(id) };
  // What is of no key has no name to look for.
  if (name === '' || by === 'label') return {};
  if (by === 'token') return username === '' ? { token: name } : { token: name, user: username };
  return by === 'user' ? { user: name } : { model: name };
}
