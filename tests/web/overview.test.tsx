/** The overview: whole steps, stacked series, changes, and where each mark leads. */
import i18next from 'i18next';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { edgesOfNamed } from '../../server/contract/counted.ts';
import {
  barAt,
  before,
  changeOf,
  errorRate,
  type Figures,
  filterOf,
  labelOf,
  logLink,
  periodOf,
  pointSeconds,
  queryOf,
  sketchOf,
  stacked,
  stacksOf,
  startsOf,
  stepsOfBar,
  sumsOf,
  type TrafficSeries,
  ticksOf,
  valuesOf,
} from '../../web/lib/traffic.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

const hour = 3600;
const day = 86_400;
/** 2026-11-26 15:20 UTC. */
const now = 1_795_706_400;
const spread = { mean: 500, p50: 520, p95: 1870 };
const figures = (some: Partial<Figures>): Figures =>
  ({
    ...{
      requests: 0,
      errors: 0,
      refused: 0,
      retried: 0,
      saved: 0,
      attempts: 0,
      failed: 0,
      error_by: {},
      failed_by: {},
    },
    ...{ tokens_in: 0, tokens_out: 0, tokens_cached: 0, charge: 0, latency: spread, first_token: spread },
    ...{ tokens_per_second: null, ...some },
  }) as Figures;
const series = (name: string, values: Readonly<Record<number, number>>, id = 0): TrafficSeries => {
  const points = Object.entries(values).map(([at, charge]) => ({
    at: Number(at),
    ...figures({ charge, requests: 1 }),
  }));
  const total = figures({ charge: points.reduce((sum, { charge }) => sum + charge, 0), requests: points.length });
  return { id, name, username: '', total, points };
};

test('a range becomes whole steps, the one under way included: five minutes, hours or days', () => {
  const day24 = periodOf({ from: now - day, to: now }, now);
  expect(day24).toEqual({ from: now - (now % hour) - 24 * hour, to: now - (now % hour) + hour, step: hour });
  expect(startsOf(day24)).toHaveLength(25);
  // Named ranges end at an edge after now; 15 minutes are three steps and the one under way.
  const quarter = edgesOfNamed('15m', now);
  expect(startsOf(periodOf(quarter, now))).toHaveLength(4);
  expect(periodOf(quarter, now)).toEqual(quarter);
  expect(periodOf({ from: now - 6 * hour, to: now }, now).step).toBe(300);
  expect(periodOf({ from: now - 6 * hour - 1, to: now }, now).step).toBe(hour);
  expect(periodOf({ from: now - 90 * day, to: now }, now).step).toBe(day);
  expect(startsOf(periodOf({ from: now - 90 * day, to: now }, now))).toHaveLength(91);
  expect(startsOf(periodOf({ from: now - 1, to: now }, now))).toHaveLength(1);
  // Open ends: up to now, and no longer than the figures are kept for.
  expect(periodOf({ from: 0, to: 0 }, now)).toEqual(periodOf({ from: now - 90 * day, to: now }, now));
});

test('on a phone a bar is the sum of so many steps that it can be seen', () => {
  const bars = (length: number) => stepsOfBar(periodOf({ from: now - length, to: now }, now));
  expect([hour, 6 * hour, day, 7 * day, 30 * day, 90 * day].map(bars)).toEqual([1, 2, 1, 4, 1, 2]);
  expect(sumsOf([1, 2, 3, 4, 5], 2)).toEqual([3, 7, 5]);
  expect(sumsOf([1, 2], 1)).toEqual([1, 2]);
});

test('the period before is as long and ends where this one begins; neither asks for a step of the other', () => {
  const period = periodOf({ from: now - day, to: now }, now);
  const earlier = before(period);
  expect([earlier.to, earlier.to - earlier.from]).toEqual([period.from, period.to - period.from]);
  expect(queryOf(earlier)).toEqual({ start_timestamp: earlier.from, end_timestamp: period.from - 1, step: '1h' });
});

test('the six largest stand apart and the rest together, so that all of it is in the chart', () => {
  const starts = [100, 200];
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const by = names.map((name, at) => series(name, { 100: at + 1, 200: at === 7 ? 0 : 1 }));
  const all = series('', { 100: 40, 200: 7 });
  const stacks = stacksOf(by, all, starts, 'charge');
  expect(stacks.map((stack) => [stack.series?.name ?? null, stack.total])).toEqual([
    ['g', 8],
    ['h', 8],
    ['f', 7],
    ['e', 6],
    ['d', 5],
    ['c', 4],
    [null, 9],
  ]);
  expect(stacks.reduce((sum, { total }) => sum + total, 0)).toBe(47);
  expect(stacksOf(by.slice(0, 2), series('', { 100: 3, 200: 2 }), starts, 'charge')).toHaveLength(2);
});

test('steps without traffic are nothing, and no error rate of nothing is made up', () => {
  expect(valuesOf(series('a', { 200: 5 }).points, [100, 200, 300], ({ charge }) => charge, 0)).toEqual([0, 5, 0]);
  expect(valuesOf(undefined, [100], ({ charge }: Figures) => charge, null)).toEqual([null]);
  expect([errorRate({ errors: 0, requests: 0 }), errorRate({ errors: 1, requests: 4 })]).toEqual([null, 0.25]);
  expect([changeOf(15, 10), changeOf(5, 0), changeOf(5, undefined)]).toEqual([0.5, null, null]);
});

test('bars lie on each other, and a click finds the one it hits', () => {
  const lines = [{ values: [3, 1] }, { values: [2, null] }];
  expect(stacked(lines)).toEqual([
    [3, 1],
    [5, 1],
  ]);
  expect([barAt(lines, 0, 2), barAt(lines, 0, 4), barAt(lines, 0, 6), barAt(lines, 1, 1)]).toEqual([0, 1, null, 0]);
});

test('days are named as the days of UTC that they are, times as the reader has them', () => {
  const at = new Date('2026-11-26T15:00:00').getTime() / 1000;
  expect([labelOf(at, hour, false), labelOf(at, hour, true)]).toEqual(['15:00', '11-26 15:00']);
  expect(labelOf(Date.UTC(2026, 10, 26) / 1000, day, true)).toBe('11-26');
});

test('an axis names round times: midnights of the reader by their day, hours within a day', () => {
  const midnight = new Date(2026, 10, 20).getTime() / 1000;
  const week = { from: midnight + 16 * hour, to: midnight + 184 * hour, step: hour };
  const days = ticksOf(week, 10);
  expect(days.map(({ text }) => text)).toEqual(['11-21', '11-22', '11-23', '11-24', '11-25', '11-26', '11-27']);
  expect(days.every(({ at }) => new Date(at * 1000).getHours() === 0)).toBe(true);
  expect(ticksOf(week, 5).length).toBeLessThan(days.length);
  const oneDay = ticksOf({ from: midnight + 16 * hour, to: midnight + 40 * hour, step: hour }, 10);
  expect(oneDay.map(({ text }) => text)).toEqual([
    ...['18:00', '21:00', '11-21', '03:00', '06:00', '09:00', '12:00', '15:00'],
  ]);
  const quarter = ticksOf({ from: midnight + 16 * hour, to: midnight + 17 * hour, step: 300 }, 5);
  expect(quarter.map(({ text }) => text)).toEqual(['16:00', '16:15', '16:30', '16:45']);
});

test('days of UTC are named in the middle of their bars, weeks by their Mondays', () => {
  const from = Date.UTC(2026, 10, 2) / 1000;
  const days = ticksOf({ from, to: from + 4 * day, step: day }, 10);
  expect(days.map(({ at, text }) => [at - from, text])).toEqual([
    [day / 2, '11-02'],
    [1.5 * day, '11-03'],
    [2.5 * day, '11-04'],
    [3.5 * day, '11-05'],
  ]);
  expect(ticksOf({ from: from - day, to: from + 29 * day, step: day }, 5).map(({ text }) => text)).toEqual([
    ...['11-02', '11-09', '11-16', '11-23', '11-30'],
  ]);
  expect(ticksOf({ from, to: from + 90 * day, step: day }, 0)).toEqual([]);
});

test('a small chart has at most 48 points, each the sum of its steps, and percentiles weigh by requests', () => {
  const week = { from: 0, to: 168 * hour, step: hour };
  expect(pointSeconds(week)).toBe(4 * hour);
  for (const steps of [1, 3, 24, 48, 49, 97, 168, 192]) {
    const seconds = pointSeconds({ from: 0, to: steps * hour, step: hour });
    const points = startsOf({ from: 0, to: steps * hour, step: seconds }).length;
    expect(points).toBeLessThanOrEqual(48);
    expect(points * seconds).toBeGreaterThanOrEqual(steps * hour);
  }
  const one = (at: number, requests: number, p95: number | null) => ({
    at,
    ...figures({ requests, errors: 1, charge: 10, first_token: { mean: null, p50: null, p95 } }),
  });
  const points = [one(0, 1, 1000), one(3 * hour, 3, 2000), one(4 * hour, 5, null)];
  const merged = { charge: 20, requests: 4, errors: 2, first_token: { mean: null, p50: null, p95: 1750 } };
  expect(sketchOf(points, week)[0]).toEqual({ at: 0, ...merged });
  expect(sketchOf(points, week)[1]).toMatchObject({ at: 4 * hour, requests: 5, first_token: { p95: null } });
  const shifted = { from: 168 * hour, to: 336 * hour, step: hour };
  expect(sketchOf(points, shifted, 168 * hour)[0]).toEqual({ at: 168 * hour, ...merged });
});

test('every mark leads to its part of the log', () => {
  const link = new URL(logLink({ from: now, to: now + 299 }, { channel: '7' }), 'https://site.example');
  expect(link.pathname).toBe('/log');
  expect(Object.fromEntries(link.searchParams)).toMatchObject({ channel: '7', from: '2026-11-26T15:20Z' });
  const one = { ...series('laptop', {}, 3), username: 'ann' };
  expect([filterOf('model', one), filterOf('channel', one), filterOf('user', one), filterOf('token', one)]).toEqual([
    { model: 'laptop' },
    { channel: '3' },
    { user: 'laptop' },
    { token: 'laptop', user: 'ann' },
  ]);
  // The playground has no key: a filter by none would find every key.
  expect(filterOf('token', series('', {}))).toEqual({});
});

beforeEach(async () => {
  vi.useFakeTimers({ now: now * 1000 });
  await aroundPages(reader(100));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const traffic = (total: Partial<Figures>, ...rows: readonly TrafficSeries[]) => ({
  ...{ from: 0, to: 0, step: hour, total: figures(total), series: rows },
});

test('figures stand with what they were before, rows with their errors and the way to them', async () => {
  const { DashboardPage } = await import('../../web/features/dashboard/dashboard-page.tsx');
  const period = periodOf({ from: now - day, to: now }, now);
  const key = (what: string, asked: object, by: string, points: boolean) => ['overview', what, true, asked, by, points];
  const given: (readonly [readonly unknown[], unknown])[] = [
    [key('all', period, 'none', true), traffic({ charge: 91_320_000, requests: 214_306, errors: 812 })],
    [key('earlier', before(period), 'none', false), traffic({ charge: 81_250_000, requests: 198_000, errors: 990 })],
    [
      [...key('by', period, 'model', true), 'charge'],
      traffic({}, { ...series('gpt-5', {}), total: figures({ requests: 20, errors: 2, charge: 500_000 }) }),
    ],
  ];
  const html = rendered(<DashboardPage />, {
    path: '/detail?range=24h',
    answers: {
      status: { quota_per_unit: 500_000, display_in_currency: true, checklist_enabled: false },
      'channel-traffic': [{ id: 4, name: 'main', state: 'failing', words: 'credit balance is too low' }],
    },
    lists: given,
  });
  for (const text of [
    '$182.64',
    '214,306',
    '0.38%',
    '0.52 / 1.87',
    '+12.4%',
    '+8.2%',
    '−0.12',
    '214,306 个中的 812 个',
    '每分钟 147 次',
  ])
    expect(html).toContain(text);
  // Fewer errors are good, more are bad.
  expect(html).toMatch(/text-success" title="[^"]*">−0\.12 /);
  expect(html).toContain('credit balance is too low');
  const links = linksIn(html).map((link) => link.replaceAll('&amp;', '&'));
  expect(links.some((link) => link.startsWith('/log?model=gpt-5&from=') && !link.includes('type='))).toBe(true);
  expect(links.some((link) => link.startsWith('/log?model=gpt-5&from=') && link.endsWith('&type=5'))).toBe(true);
  expect(html).toContain('>10.0%<');
});

test('the figures of the period before stand on the cards while they are compared', async () => {
  const { DashboardPage } = await import('../../web/features/dashboard/dashboard-page.tsx');
  const period = periodOf({ from: now - day, to: now }, now);
  const page = (path: string, earlier: Partial<Figures>) =>
    rendered(<DashboardPage />, {
      path,
      answers: { status: { quota_per_unit: 500_000, display_in_currency: true, checklist_enabled: false } },
      lists: [
        [['overview', 'all', true, period, 'none', true], traffic({ charge: 1_000_000, requests: 20 })],
        [['overview', 'earlier', true, before(period), 'none', path.includes('compare')], traffic(earlier)],
      ],
    });
  const was = i18next.t('dashboard.before', { value: '$1.50' });
  expect(page('/detail?range=24h&compare=1', { charge: 750_000, requests: 10, errors: 1 })).toContain(was);
  expect(page('/detail?range=24h', { charge: 750_000, requests: 10 })).not.toContain(was);
  expect(page('/detail?range=24h&compare=1', {})).toContain(i18next.t('dashboard.nothingBefore'));
});

test('figures stay readable where they are extreme: ten times more is ×10, a year is as far as anybody sees, a moment is not 0.00', async () => {
  const { DashboardPage } = await import('../../web/features/dashboard/dashboard-page.tsx');
  const period = periodOf({ from: now - day, to: now }, now);
  const page = (charge: number, then: number, more: Partial<Figures> = {}) =>
    rendered(<DashboardPage />, {
      path: '/detail?range=24h',
      answers: {
        status: { quota_per_unit: 500_000, display_in_currency: true, checklist_enabled: false },
        self: { quota: 5_000_000 },
      },
      lists: [
        [['overview', 'all', false, period, 'none', true], traffic({ charge, requests: 1, ...more })],
        [['overview', 'earlier', false, before(period), 'none', false], traffic({ charge: then, requests: 1 })],
      ],
    });
  await aroundPages(reader(1));
  expect(page(999, 100)).toContain('+899.0%');
  for (const [charge, shown] of [
    [1000, '×10'],
    [303_000, '×3,030'],
  ] as const) {
    const html = page(charge, 100);
    expect(html).toContain(`>${shown}<`);
    expect(html).not.toMatch(/\+\d{4,}/);
  }
  expect(page(1, 1)).toContain(i18next.t('dashboard.lastsLong'));
  const quick = page(1, 1, { first_token: { mean: 3, p50: 3, p95: 1200 }, tokens_per_second: 12_345 });
  expect(quick).toContain('&lt;0.01 / 1.20');
  expect(quick).toContain('12,345 tok/s');
});

test('a user sees how long the balance lasts at what was spent, and nothing of it where nothing was', async () => {
  const { DashboardPage } = await import('../../web/features/dashboard/dashboard-page.tsx');
  await aroundPages(reader(1));
  const period = periodOf({ from: now - day, to: now }, now);
  const page = (charge: number) =>
    rendered(<DashboardPage />, {
      path: '/detail?range=24h',
      answers: { status: { quota_per_unit: 500_000, display_in_currency: true }, self: { quota: 1000 } },
      lists: [[['overview', 'all', false, period, 'none', true], traffic({ charge, requests: 1 })]],
    });
  expect(page(300)).toContain(i18next.t('dashboard.lasts', { count: 3 }));
  for (const spent of [0, -5]) expect(page(spent)).not.toMatch(/约可用/);
});
