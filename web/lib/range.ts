/** The span of time that a page shows: in the address, the same for the log, the overview and the traffic. Pure. */

import { edgesOfNamed, type NamedRange } from '../../server/contract/counted.ts';

/** Names in the address. Their ends lie on edges: within a step nothing is asked for again. */
export const spans = ['15m', '1h', '24h', '7d', '30d', '90d'] as const satisfies readonly NamedRange[];
export type Span = (typeof spans)[number];

export interface Range {
  /** all = without ends. */
  readonly span: Span | 'custom' | 'all';
  /** Epoch seconds, the second excluded; 0 = open. */
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
  const span = spans.find((name) => name === spanName) ?? spans.find((name) => name === initial && spanName !== 'all');
  if (span === undefined && typeof initial === 'object' && spanName === '') return { span: 'custom', ...initial };
  if (span === undefined) return { span: 'all', from: 0, to: 0 };
  const { from: begins, to: ends } = edgesOfNamed(span, Math.floor(now / 1000));
  return { span, from: begins, to: ends };
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
