/** The span of time that a page shows: in the address, the same for the log, the overview and the traffic. Pure. */

/** Name in the address, length in seconds, and the step its ends lie on: within a step nothing is asked for again. */
const rows = [
  ['15m', 900, 60],
  ['1h', 3600, 60],
  ['24h', 86_400, 300],
  ['7d', 604_800, 3600],
  ['30d', 2_592_000, 3600],
  ['90d', 7_776_000, 3600],
] as const;

export type Span = (typeof rows)[number][0];
export const spans: readonly Span[] = rows.map(([name]) => name);

export interface Range {
  /** all = without ends. */
  readonly span: Span | 'custom' | 'all';
  /** Epoch seconds; 0 = open. */
  readonly from: number;
  readonly to: number;
}

/** Epoch seconds of what an address says: seconds, or a date that JavaScript reads; 0 = nothing. */
const timeIn = (text: string): number =>
  /^\d{9,11}$/.test(text) ? Number(text) : Math.floor(new Date(text).getTime() / 1000) || 0;

/** What a page shows where its address says nothing. */
export type DefaultRange = Span | 'all' | Pick<Range, 'from' | 'to'>;

/** @param now epoch milliseconds. */
export function rangeIn(get: (name: string) => string, initial: DefaultRange, now = Date.now()): Range {
  const [from, to] = [timeIn(get('from')), timeIn(get('to'))];
  if (from !== 0 || to !== 0) return { span: 'custom', from, to };
  const spanName = get('range');
  const row = rows.find(([name]) => name === spanName) ?? rows.find(([name]) => name === initial && spanName !== 'all');
  if (row === undefined && typeof initial === 'object' && spanName === '') return { span: 'custom', ...initial };
  if (row === undefined) return { span: 'all', from: 0, to: 0 };
  const [span, seconds, step] = row;
  const at = Math.floor(now / 1000);
  return { span, from: Math.floor((at - seconds) / step) * step, to: Math.ceil(at / step) * step };
}

/** How an address spells a time: every reader of the link sees the same one. */
const spelt = (seconds: number): string =>
  seconds === 0 ? '' : `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`;

/** What an address says of a range; '' = nothing. Also for links from one page to another. */
export const rangeQuery = ({ span, from, to }: Range): Readonly<Record<'range' | 'from' | 'to', string>> =>
  span === 'custom' ? { range: '', from: spelt(from), to: spelt(to) } : { range: span, from: '', to: '' };

/** Berlin, UTC+1: the reader's zone. */
export function zoneName(at = new Date()): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const place = timeZone.split('/').at(-1)?.replaceAll('_', ' ') ?? '';
  const offset = -at.getTimezoneOffset();
  const hours = Math.floor(Math.abs(offset) / 60);
  const minutes = Math.abs(offset) % 60;
  const utc =
    offset === 0
      ? 'UTC'
      : `UTC${offset < 0 ? '−' : '+'}${hours}${minutes === 0 ? '' : `:${String(minutes).padStart(2, '0')}`}`;
  return place === 'UTC' || place === '' ? utc : `${place}, ${utc}`;
}
