import { expect, test } from 'vitest';
import { type CountedWindow, fiveHours, isZone, spanOf } from '../../server/contract/budgets.ts';

const at = (text: string) => Date.parse(text) / 1000;
const span = (window: CountedWindow, zone: string, text: string) => {
  const { start, end } = spanOf(window, zone, at(text));
  return [new Date(start * 1000).toISOString(), (end - start) / 3600];
};

test('days of a zone have 23, 24 and 25 hours, and each begins once', () => {
  expect(span('day', 'Europe/Berlin', '2026-03-29T10:00:00Z')).toEqual(['2026-03-28T23:00:00.000Z', 23]);
  expect(span('day', 'Europe/Berlin', '2026-10-25T10:00:00Z')).toEqual(['2026-10-24T22:00:00.000Z', 25]);
  expect(span('day', 'Europe/Berlin', '2026-11-29T23:30:00Z')).toEqual(['2026-11-29T23:00:00.000Z', 24]);
  expect(span('day', 'Asia/Kolkata', '2026-11-29T18:29:59Z')).toEqual(['2026-11-28T18:30:00.000Z', 24]);
  expect(span('day', '', '2026-11-29T18:29:59Z')).toEqual(['2026-11-29T00:00:00.000Z', 24]);
  // Beirut's clocks go from midnight to one.
  expect(span('day', 'Asia/Beirut', '2026-03-29T10:00:00Z')).toEqual(['2026-03-28T22:00:00.000Z', 23]);
});

test('a week begins on Monday, a month with its first day, by the calendar of the zone', () => {
  expect(span('week', '', '2026-11-29T12:00:00Z')).toEqual(['2026-11-23T00:00:00.000Z', 168]);
  expect(span('week', '', '2026-11-30T00:00:00Z')).toEqual(['2026-11-30T00:00:00.000Z', 168]);
  expect(span('week', 'Asia/Shanghai', '2026-11-29T16:00:00Z')).toEqual(['2026-11-29T16:00:00.000Z', 168]);
  expect(span('month', 'America/New_York', '2026-11-01T03:59:59Z')).toEqual(['2026-10-01T04:00:00.000Z', 744]);
  // The clocks are put back on 1 November.
  expect(span('month', 'America/New_York', '2026-11-01T04:00:00Z')).toEqual(['2026-11-01T04:00:00.000Z', 721]);
  expect(span('month', '', '2026-12-31T23:59:59Z')).toEqual(['2026-12-01T00:00:00.000Z', 744]);
});

test('five hours begin with the first use and last five hours; the total never ends', () => {
  const first = at('2026-11-29T10:00:00Z');
  expect(spanOf('5h', '', first + 0.7)).toEqual({ start: first, end: first + fiveHours });
  expect(spanOf('5h', '', first + fiveHours - 1, first).start).toBe(first);
  expect(spanOf('5h', '', first + fiveHours, first).start).toBe(first + fiveHours);
  expect(spanOf('total', '', first)).toEqual({ start: 0, end: Number.POSITIVE_INFINITY });
});

test('a zone is one that the calendar knows', () => {
  expect(['', 'UTC', 'Asia/Shanghai', 'America/New_York'].map(isZone)).toEqual([true, true, true, true]);
  expect(['Mars/Base', 'Asia/'].map(isZone)).toEqual([false, false]);
});
