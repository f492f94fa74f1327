/** Times of expiry as they are typed. */
import { expect, test } from 'vitest';
import { parseExpiry } from '../../web/lib/expiry.ts';

const now = new Date(2026, 10, 24, 12, 0, 0).getTime();
const at = (year: number, month: number, ...rest: number[]) => ({
  kind: 'at',
  seconds: new Date(year, month - 1, ...(rest as [number])).getTime() / 1000,
});

test.each([
  ['', { kind: 'at', seconds: -1 }],
  ['-1', { kind: 'at', seconds: -1 }],
  ['2026-12-31', at(2026, 12, 31, 23, 59, 59)],
  ['2026-11-24', at(2026, 11, 24, 23, 59, 59)],
  ['2026/12/31', at(2026, 12, 31, 23, 59, 59)],
  ['２０２６-１２-３１', at(2026, 12, 31, 23, 59, 59)],
  ['2026-12-31 18:30', at(2026, 12, 31, 18, 30)],
  ['2026-12-31T18:30:15', at(2026, 12, 31, 18, 30, 15)],
  ['2028-02-29', at(2028, 2, 29, 23, 59, 59)],
])('%s is taken', (text, expiry) => {
  expect(parseExpiry(text, now)).toEqual(expiry);
});

test.each([
  ['2026-02-30', 'impossible'],
  ['2027-02-29', 'impossible'],
  ['2027-13-01', 'impossible'],
  ['2027-00-10', 'impossible'],
  ['2027-01-01 24:00:00', 'impossible'],
  ['2027-01-01 12:61:00', 'impossible'],
  ['2026-11-23', 'past'],
  ['2026-11-24 11:59:59', 'past'],
  ['1999-12-31', 'past'],
  ['tomorrow', 'unreadable'],
  ['31.12.2026', 'unreadable'],
  ['2026-12', 'unreadable'],
  ['1798675200', 'unreadable'],
])('%s is refused, never moved to another time', (text, reason) => {
  expect(parseExpiry(text, now)).toEqual({ kind: 'wrong', reason });
});
