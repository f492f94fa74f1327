/** Rows by the hour become stacked series by hour, day or week, in the reader's time zone. Pure. */
export interface UsageRow {
  readonly created_at: number;
  readonly model_name: string;
  readonly username: string;
  readonly quota: number;
  readonly count: number;
  readonly token_used: number;
}

export const granularities = ['hour', 'day', 'week'] as const;
export type Granularity = (typeof granularities)[number];
export const metrics = ['quota', 'count', 'token_used'] as const;
export type Metric = (typeof metrics)[number];

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  readonly total: number;
}

export interface Chart {
  /** Where each bar begins, epoch seconds. */
  readonly starts: readonly number[];
  /** Largest first; what is small is added up at the end under ''. */
  readonly series: readonly Series[];
}

const most = 6;

/** Seconds of a default window. */
export const windows: Readonly<Record<Granularity, number>> = { hour: 86_400, day: 7 * 86_400, week: 30 * 86_400 };

export function startOf(seconds: number, granularity: Granularity): number {
  const at = new Date(seconds * 1000);
  at.setMinutes(0, 0, 0);
  if (granularity !== 'hour') at.setHours(0);
  // Weeks begin on Monday.
  if (granularity === 'week') at.setDate(at.getDate() - ((at.getDay() + 6) % 7));
  return Math.floor(at.getTime() / 1000);
}

function next(start: number, granularity: Granularity): number {
  const at = new Date(start * 1000);
  if (granularity === 'hour') at.setHours(at.getHours() + 1);
  else at.setDate(at.getDate() + (granularity === 'day' ? 1 : 7));
  return Math.floor(at.getTime() / 1000);
}

export interface ChartWish {
  /** Epoch seconds; every bar between the two is there, empty or not. */
  readonly from: number;
  readonly to: number;
  readonly granularity: Granularity;
  readonly metric: Metric;
}

export function chartOf(rows: readonly UsageRow[], { from, to, granularity, metric }: ChartWish): Chart {
  const starts: number[] = [];
  for (let start = startOf(from, granularity); start <= to; start = next(start, granularity)) starts.push(start);
  const place = new Map(starts.map((start, index) => [start, index]));
  const byName = new Map<string, number[]>();
  for (const row of rows) {
    const index = place.get(startOf(row.created_at, granularity));
    if (index === undefined) continue;
    const values = byName.get(row.model_name) ?? new Array<number>(starts.length).fill(0);
    values[index] = (values[index] ?? 0) + row[metric];
    byName.set(row.model_name, values);
  }
  const all = [...byName]
    .map(([name, values]): Series => ({ name, values, total: values.reduce((sum, value) => sum + value, 0) }))
    .sort((one, other) => other.total - one.total);
  const small = all.slice(most);
  if (small.length === 0) return { starts, series: all };
  const rest: Series = {
    name: '',
    values: starts.map((_start, index) => small.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)),
    total: small.reduce((sum, { total }) => sum + total, 0),
  };
  return { starts, series: [...all.slice(0, most), rest] };
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `MM-DD HH:00`, `MM-DD`, or the first and last day of a week. */
export function labelOf(start: number, granularity: Granularity): string {
  const at = new Date(start * 1000);
  const day = (date: Date): string => `${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  if (granularity === 'hour') return `${day(at)} ${two(at.getHours())}:00`;
  if (granularity === 'day') return day(at);
  const end = new Date(at);
  end.setDate(end.getDate() + 6);
  return `${day(at)} – ${day(end)}`;
}
