/** The span of time in the address. */
import { afterEach, expect, test, vi } from 'vitest';
import { edgesOfNamed } from '../../server/contract/counted.ts';
import { rangeIn, rangeQuery, spans, zoneName } from '../../web/lib/range.ts';

const now = Date.UTC(2026, 10, 26, 12, 34, 56);
const range = (query: string, usual: Parameters<typeof rangeIn>[1] = '24h') => {
  const address = new URLSearchParams(query);
  return rangeIn((name) => address.get(name) ?? '', usual, now);
};

afterEach(() => vi.unstubAllEnvs());

test.each(spans)('%s covers its whole length up to now, with ends that stand still for a while', (span) => {
  const length = Number.parseInt(span, 10) * { m: 60, h: 3600, d: 86_400 }[span.slice(-1) as 'm' | 'h' | 'd'];
  const { from, to } = range(`range=${span}`);
  expect(to * 1000).toBeGreaterThanOrEqual(now);
  expect(from).toBeLessThanOrEqual(Math.floor(now / 1000) - length);
  const { step } = edgesOfNamed(span, Math.floor(now / 1000));
  expect([from % step, to % step]).toEqual([0, 0]);
  expect(to - from).toBe(length + step);
});

test('an address without a range means the usual one, and a made-up name too', () => {
  expect(range('').span).toBe('24h');
  expect(range('range=5y').span).toBe('24h');
  expect(range('', 'all')).toEqual({ span: 'all', from: 0, to: 0 });
  expect(range('range=all')).toEqual({ span: 'all', from: 0, to: 0 });
  expect(range('', { from: 5, to: 9 })).toEqual({ span: 'custom', from: 5, to: 9 });
  expect(range('range=all', { from: 5, to: 9 }).span).toBe('all');
});

test('two moments go before a span; either end may be open', () => {
  const seconds = Date.UTC(2026, 0, 31, 9, 30) / 1000;
  expect(range('range=7d&from=2026-01-31T09:30Z')).toEqual({ span: 'custom', from: seconds, to: 0 });
  expect(range(`to=${seconds}`)).toEqual({ span: 'custom', from: 0, to: seconds });
  expect(range('from=yesterday&range=7d').span).toBe('7d');
});

test('a range in the address is read back as the same range', () => {
  const custom = { span: 'custom', from: Date.UTC(2026, 1, 1) / 1000, to: Date.UTC(2026, 1, 2) / 1000 } as const;
  expect(range(String(new URLSearchParams(rangeQuery(custom))))).toEqual(custom);
  expect(range(String(new URLSearchParams(rangeQuery(range('range=7d')))))).toEqual(range('range=7d'));
});

test('a zone is named by its place and its distance from UTC', () => {
  const at = { getTimezoneOffset: () => -345 } as Date;
  const name = vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions');
  name.mockReturnValue({ timeZone: 'Asia/Kathmandu' } as Intl.ResolvedDateTimeFormatOptions);
  expect(zoneName(at)).toBe('Kathmandu, UTC+5:45');
  name.mockReturnValue({ timeZone: 'America/New_York' } as Intl.ResolvedDateTimeFormatOptions);
  expect(zoneName({ getTimezoneOffset: () => 300 } as Date)).toBe('New York, UTC−5');
  name.mockReturnValue({ timeZone: 'UTC' } as Intl.ResolvedDateTimeFormatOptions);
  expect(zoneName({ getTimezoneOffset: () => 0 } as Date)).toBe('UTC');
  name.mockRestore();
});
