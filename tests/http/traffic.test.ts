/** Figures of traffic through the API: who sees what, in which steps, and how channels are said to do. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChannelWindow } from '../../db/repositories/traffic.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import {
  counterAt,
  percentileOf,
  type TrafficCounter,
  trafficBounds,
  trafficCounters,
} from '../../server/contract/traffic.ts';
import type { TrafficAnswer } from '../../server/domain/traffic/service.ts';
import { type ChannelHealth, failingRun } from '../../server/domain/traffic/states.ts';
import type { Actor } from '../../server/http/call.ts';
import { rangeIn } from '../../web/lib/range.ts';
import { periodOf, queryOf } from '../../web/lib/traffic.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let now: number;
beforeEach(async () => {
  now = Date.now();
  gateway = await createTestGateway({
    now: () => now,
    relay: { timers: { ...systemTimers, now: () => now } },
    channelTests: true,
  });
  upstream = await startUpstream((response) => sendJson(response, completion(10, 5)));
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const keep = async (): Promise<void> => {
  gateway.services.trafficRecorder.add(gateway.relay.takeTraffic());
  await gateway.services.trafficRecorder.flush();
};
const ask = async (key: string, model = 'gpt-4o-mini'): Promise<number> => {
  const response = await gateway.chat(key, { model, messages: [{ role: 'user', content: 'hi' }] });
  await response.text();
  return response.status;
};
type Use = readonly [userId: number, tokenId: number, model: string, counts: number[]];
const traffic = async (id: string, input: object, actor?: Actor): Promise<TrafficAnswer> =>
  (await gateway.call(id, input, actor)) as TrafficAnswer;
const channels = async (): Promise<ChannelHealth[]> => (await gateway.call('traffic.channels', {})) as ChannelHealth[];
const counts = (given: Partial<Record<TrafficCounter, number>>): number[] => {
  const all = trafficCounters.map(() => 0);
  for (const [name, value] of Object.entries(given)) all[counterAt(name as TrafficCounter)] = value ?? 0;
  return all;
};

test('a user sees the traffic of his own keys alone, an administrator all of it', async () => {
  const channel = await gateway.channel(upstream.url, { models: 'gpt-4o-mini,gpt-4o' });
  const own = await gateway.token({ name: 'own' });
  const other = await gateway.services.users.create({
    ...{ username: 'other', password: 'password1', displayName: '', role: 1, quota: 1_000_000_000 },
  });
  const theirs = await gateway.services.tokens.create(other, { name: 'theirs', unlimited_quota: true });
  await gateway.sync();
  for (let n = 0; n < 3; n++) await ask(own.key);
  await ask(theirs.key, 'gpt-4o');
  await keep();
  const user: Actor = { via: 'session', userId: other, username: 'other', role: 1, group: 'default' };

  const all = await traffic('traffic.all', { by: 'token', range: '1h' });
  expect(all.series.map(({ name, username, total }) => [name, username, total.requests])).toEqual([
    ['own', 'tester', 3],
    ['theirs', 'other', 1],
  ]);
  expect(all.total.requests).toBe(4);
  const users = await traffic('traffic.all', { by: 'user', range: '1h' });
  expect(users.series.map(({ id, name, total }) => [id, name, total.requests])).toEqual([
    [gateway.userId, 'tester', 3],
    [other, 'other', 1],
  ]);
  const mine = await traffic('traffic.self', { by: 'token', range: '1h' }, user);
  expect(mine.series.map(({ name, username, total }) => [name, username, total.requests])).toEqual([['theirs', '', 1]]);
  expect((await traffic('traffic.self', { token: own.id }, user)).total.requests).toBe(0);
  expect((await traffic('traffic.self', { token: own.id, model: 'gpt-4o-mini' }, user)).total.requests).toBe(0);
  expect((await traffic('traffic.self', { by: 'model' }, user)).series.map(({ name }) => name)).toEqual(['gpt-4o']);
  for (const id of ['traffic.all', 'traffic.channels']) await expect(gateway.call(id, {}, user)).rejects.toThrow();

  const models = await traffic('traffic.all', { by: 'model', channel, range: '1h' });
  expect(models.series.map(({ name, total }) => [name, total.requests, total.tokens_in, total.tokens_out])).toEqual([
    ['gpt-4o-mini', 3, 30, 15],
    ['gpt-4o', 1, 10, 5],
  ]);
  const served = await traffic('traffic.all', { by: 'channel', model: 'gpt-4o', points: false });
  expect(served.series.map(({ id, name, total, points }) => [id, name, total.requests, points])).toEqual([
    [channel, 'up', 1, []],
  ]);
  const logged = (await gateway.logs()).reduce((sum, { quota }) => sum + quota, 0);
  expect([models.total.charge, all.total.charge]).toEqual([logged, logged]);
});

test('a key that was used without one, and models of which nothing is known, are no series of another key', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  expect(await ask(key, 'no-such-model')).not.toBe(200);
  await keep();
  const answer = await traffic('traffic.all', { by: 'model' });
  expect(answer.series).toEqual([]);
  expect((await traffic('traffic.all', {})).total).toMatchObject({ requests: 0, refused: 1 });
});

test.each([
  ['15m', 300],
  ['6h', 300],
  ['24h', 3600],
  ['7d', 3600],
  ['30d', 86_400],
  ['90d', 86_400],
] as const)('a range of %s comes in steps of %i seconds that begin at their edges', async (range, step) => {
  const answer = await traffic('traffic.all', { range });
  expect([answer.step, answer.from % step, answer.to % step]).toEqual([step, 0, 0]);
  expect(answer.to).toBeGreaterThan(now / 1000);
});

test.each([
  [{ by: 'token', channel: 1 }],
  [{ by: 'channel', token: 1 }],
  [{ start_timestamp: 2000, end_timestamp: 1000 }],
  [{ range: '90d', step: '5m' }],
])('%j is refused in words', async (input) => {
  await expect(gateway.call('traffic.all', input)).rejects.toMatchObject({ code: 'params_invalid' });
});

test('a channel that fails is named with the upstream’s words, since when, and who served in its place', async () => {
  await gateway.option('RetryTimes', '1');
  const failing = await gateway.channel(`${upstream.url}/bad`, { name: 'batch', priority: 9 });
  const good = await gateway.channel(upstream.url, { name: 'primary' });
  const idle = await gateway.channel(upstream.url, { name: 'gpu', models: 'llama' });
  upstream.script((response, { path }) =>
    path.startsWith('/bad')
      ? sendJson(response, { error: { message: 'Incorrect API key provided: sk-upstream-secret-key' } }, 500)
      : sendJson(response, completion(10, 5)),
  );
  const { key } = await gateway.token();
  for (let n = 0; n < 12; n++) expect(await ask(key)).toBe(200);
  await keep();
  const found = new Map((await channels()).map((one) => [one.id, one]));
  const { since, failed = 0, saved, saved_by, words, state } = found.get(failing) ?? {};
  expect(state).toBe('failing');
  expect(failed).toBeGreaterThanOrEqual(3);
  expect(saved).toBe(failed);
  expect(saved_by).toEqual([{ id: good, name: 'primary', requests: failed }]);
  expect(words).toMatch(/^500 Incorrect API key provided/);
  expect(words).not.toContain('sk-upstream');
  expect(Math.abs((since ?? 0) - now / 1000)).toBeLessThan(60);
  expect(found.get(good)?.state).toBe('serving');
  expect(found.get(idle)?.state).toBe('idle');
  // It answers again.
  const at = Math.floor(now / 300_000) * 300;
  const streak = { channelId: failing, succeeded: true, failures: 0, since: 0, lastAt: 0, words: '' };
  const routes = [[failing, 'gpt-4o-mini', counts({ requests: 40, attempts: 40 })]] as const;
  gateway.services.trafficRecorder.add([{ at, routes, callers: [], streaks: [streak], saves: [], places: [] }]);
  await gateway.services.trafficRecorder.flush();
  expect((await channels()).find(({ id }) => id === failing)).toMatchObject({ state: 'serving', failed: 0, words: '' });
});

test('slow is a channel that takes twice the time of its week, standby one that waits behind others', async () => {
  const slow = await gateway.channel(upstream.url, { name: 'slow', priority: 5 });
  const waiting = await gateway.channel(upstream.url, { name: 'waiting', priority: 1 });
  const day = Math.floor(now / 86_400_000) * 86_400;
  const window = (at: number, requests: number, bucket: number) => ({
    ...{ at, callers: [], streaks: [], saves: [], places: [] },
    routes: [
      [slow, 'm', counts({ requests, attempts: requests, charge: 250_000, [`latency_${bucket}`]: requests })],
    ] as const,
  });
  const bucket = (ms: number) => trafficBounds.findIndex((bound) => ms <= bound);
  gateway.services.trafficRecorder.add([
    window(day - 3 * 86_400, 100, bucket(2400)),
    window(Math.floor(now / 300_000) * 300, 30, bucket(9800)),
  ]);
  await gateway.services.trafficRecorder.flush();
  await gateway.database.query
    .updateTable('channels')
    .set({ balance: 4, balance_updated_at: 1 })
    .where('id', '=', slow)
    .execute();
  const [first, second] = await channels();
  expect(first).toMatchObject({ id: slow, state: 'slow', charged_today: 250_000, balance: 4 });
  expect(first?.p95 ?? 0).toBeGreaterThan(2 * (first?.usual_p95 ?? 0));
  // A dollar in three to four days.
  expect(first?.balance_lasts_days ?? 0).toBeGreaterThan(11);
  expect(first?.balance_lasts_days ?? 0).toBeLessThan(17);
  expect(second).toMatchObject({ id: waiting, state: 'standby', balance: null, balance_lasts_days: null });
});

/** In the console's playground, as the user of the test. */
const play = async (model = 'gpt-4o-mini'): Promise<number> => {
  const request = new Request('http://gateway/pg/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'New-Api-User': String(gateway.userId) },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const response = await gateway.relay.handle(request, '/pg/chat/completions', { ip: () => '127.0.0.1' });
  await response.text();
  return response.status;
};

test('tests of channels and what administrators try are no requests of the users: overview, log and channels leave them out', async () => {
  const id = await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  await ask(key);
  await gateway.call('channel.test', { id, model: 'gpt-4o-mini' });
  expect(await play()).toBe(200);
  expect(await play('unknown-model')).not.toBe(200);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 500));
  for (let n = 0; n < 3; n++) await gateway.call('channel.test', { id, model: 'gpt-4o-mini' });
  await keep();

  for (const by of ['none', 'model', 'channel', 'token', 'user'])
    expect([by, (await traffic('traffic.all', { by })).total]).toMatchObject([
      by,
      { requests: 1, errors: 0, refused: 0, attempts: 1, failed: 0 },
    ]);
  expect(await traffic('traffic.all', { by: 'user' })).toMatchObject({ series: [{ id: gateway.userId }] });
  expect(await gateway.call('log.stat', {})).toMatchObject({ requests: 1, errors: 0, refused: 0 });
  expect(await gateway.call('log.breakdown', { by: 'model' })).toMatchObject([{ requests: 1 }]);
  const [channel] = (await gateway.call('traffic.channels', { range: '24h' })) as ChannelHealth[];
  expect(channel?.period).toMatchObject({ attempts: 1, failed: 0 });
  // The rows are there, and what the playground cost is in the figures of the account that paid for it.
  expect(await gateway.call('log.list', { status: ['failed'] })).toMatchObject({ total: 3 });
  const own: Actor = { via: 'session', userId: gateway.userId, username: 'tester', role: 100, group: 'default' };
  expect(await traffic('traffic.self', {}, own)).toMatchObject({ total: { requests: 2 } });
});

test('traffic by label is that of the keys that have it, to administrators alone', async () => {
  await gateway.channel(upstream.url);
  const [one, two, bare] = [await gateway.token(), await gateway.token(), await gateway.token()];
  await gateway.services.tokens.update(one.id, null, { labels: 'team-a,build' }, false);
  await gateway.services.tokens.update(two.id, null, { labels: 'build' }, false);
  await gateway.sync();
  for (const { key, times } of [
    { ...one, times: 2 },
    { ...two, times: 1 },
    { ...bare, times: 3 },
  ])
    for (let n = 0; n < times; n++) await ask(key);
  await keep();
  const { total, series } = await traffic('traffic.all', { by: 'label' });
  expect(total).toMatchObject({ requests: 6 });
  expect(series.map(({ name, total: { requests } }) => [name, requests])).toEqual([
    ['build', 3],
    ['team-a', 2],
  ]);
  for (const { points, total: all } of series) {
    expect(new Set(points.map(({ at }) => at)).size).toBe(points.length);
    expect(points.reduce((sum, { requests }) => sum + requests, 0)).toBe(all.requests);
    expect(points.reduce((sum, { charge }) => sum + charge, 0)).toBe(all.charge);
  }
  await expect(traffic('traffic.self', { by: 'label' })).rejects.toThrow();
});

test('a channel that fails only its tests is failing, and one that passes one is not', async () => {
  const id = await gateway.channel(upstream.url);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 500));
  for (let n = 0; n < 5; n++) await gateway.call('channel.test', { id, model: 'gpt-4o-mini' });
  await keep();
  expect((await channels())[0]).toMatchObject({ state: 'failing', failed: 5 });
  upstream.script((response) => sendJson(response, completion(10, 5)));
  await gateway.call('channel.test', { id, model: 'gpt-4o-mini' });
  await keep();
  expect((await channels())[0]?.state).toBe('serving');
});

test('the same range has the same requests in overview, channels, models and log', async () => {
  await gateway.channel(upstream.url);
  const { key } = await gateway.token();
  // Two hours before the end of a day, so that each edge lies somewhere else.
  now += 79_230_000 - (now % 86_400_000);
  const begins = Math.floor(now / 1000);
  const before = [86_400 + 4000, 86_400 + 20, 86_400 - 100, 8 * 86_400, 6 * 86_400, 60];
  for (const seconds of before) {
    now = (begins - seconds) * 1000;
    await ask(key);
    await keep();
  }
  now = begins * 1000;
  for (const [range, expected] of [
    ['24h', 3],
    ['7d', 5],
  ] as const) {
    const { from, to } = rangeIn(() => '', range, now);
    const shown = periodOf({ from, to }, begins);
    const given = { start_timestamp: from, end_timestamp: to - 1 };
    const [channel] = (await gateway.call('traffic.channels', { range })) as ChannelHealth[];
    const sums = [
      (await traffic('traffic.all', { range })).total.requests,
      (await traffic('traffic.all', queryOf(shown))).total.requests,
      channel?.period?.attempts,
      ((await gateway.call('log.stat', given)) as { requests: number }).requests,
    ];
    expect([range, ...sums]).toEqual([range, expected, expected, expected, expected]);
  }
  const [model] = (await gateway.services.models.rows()) as { requests: number }[];
  expect(model?.requests).toBe(5);
});

test('a range shows in bars of an hour how a channel did: what failed, what took twice its time, where nothing was sent', async () => {
  const id = await gateway.channel(upstream.url, { name: 'bars' });
  await gateway.channel(upstream.url, { name: 'unused' });
  // At noon: the usual latency is that of the days before, so the slow bar has to be of today.
  now += 43_200_000 - (now % 86_400_000);
  const hour = Math.floor(now / 3_600_000) * 3600;
  const window = (at: number, of: Partial<Record<TrafficCounter, number>>) => ({
    ...{ at, callers: [], places: [], streaks: [], saves: [] },
    routes: [[id, 'm', counts(of)]] as const,
  });
  const good = { requests: 100, attempts: 100, latency_ms: 90_000, latency_8: 100, first_5: 100 };
  gateway.services.trafficRecorder.add([
    window(hour - 3 * 86_400, good),
    window(hour - 23 * 3600, good),
    window(hour - 2 * 3600, { ...good, latency_ms: 200_000 }),
    window(hour - 3600, { requests: 90, attempts: 100, failed_upstream: 10, failed_invalid: 50, latency_ms: 9000 }),
    window(hour, { requests: 0, attempts: 10, failed_auth: 6 }),
  ]);
  await gateway.services.trafficRecorder.flush();
  const asked = async (range?: string) =>
    (await gateway.call('traffic.channels', range === undefined ? {} : { range })) as ChannelHealth[];

  const [day, unused] = await asked('24h');
  const bars = day?.period?.bars ?? [];
  expect(bars.map(({ level }) => level[0]).join('')).toBe(`ng${'n'.repeat(20)}spb`);
  expect([bars[0]?.at, bars[24]?.at]).toEqual([hour - 24 * 3600, hour]);
  expect(day?.period).toMatchObject({ attempts: 310, failed: 16 });
  expect(bars[22]?.latency).toBe(2000);
  expect(day?.period?.first_token ?? 0).toBeGreaterThan(trafficBounds[4]);
  expect(day?.period?.first_token ?? 0).toBeLessThanOrEqual(trafficBounds[5]);
  expect(unused?.period).toBeNull();

  const week = (await asked('7d'))[0]?.period;
  expect(week?.bars).toHaveLength(25);
  expect(week).toMatchObject({ attempts: 410, failed: 16 });
  expect(week?.bars.filter(({ attempts }) => attempts > 0).length).toBeGreaterThanOrEqual(3);
  expect((await asked())[0]?.period).toBeNull();
});

const row = (at: number, attempts: number, failed: number, more: Partial<ChannelWindow> = {}): ChannelWindow => ({
  ...{ at, subject_id: 1, attempts, failed_upstream: failed, failed_rate_limited: 0, failed_auth: 0 },
  ...{ failed_timeout: 0, failed_network: 0, saved: failed, answered: failed < attempts ? 1 : 0 },
  ...{
    streak: failed === attempts ? failed : 0,
    streak_at: failed === attempts ? at + 7 : 0,
    failed_at: at,
    words: '',
  },
  ...more,
});

test.each([
  ['one failure', [row(600, 1, 1)], null],
  ['some of many', [row(600, 200, 20), row(300, 200, 20)], null],
  ['three, nothing else', [row(600, 1, 1), row(300, 2, 2)], { since: 307, failed: 3, saved: 3 }],
  [
    'since the end of the window before',
    [row(600, 5, 5), row(300, 90, 2, { streak: 2, streak_at: 590 })],
    { since: 590, failed: 7, saved: 7 },
  ],
  ['most of them', [row(600, 10, 8), row(300, 100, 2)], { since: 600, failed: 8, saved: 8 }],
  [
    'five in a row after many good ones',
    [row(600, 500, 5, { streak: 5, streak_at: 800 })],
    { since: 800, failed: 5, saved: 5 },
  ],
  ['over, as the last answered', [row(900, 10, 0), row(600, 50, 50)], null],
] as const)('failing or not: %s', (_name, windows, run) => {
  expect(failingRun(windows)).toEqual(run);
});

test('percentiles are read within the bucket, and histograms can be added', () => {
  const histogram = trafficBounds.map(() => 0).concat(0);
  expect(percentileOf(histogram, 0.5)).toBeNull();
  histogram[trafficBounds.indexOf(500)] = 95;
  histogram[trafficBounds.indexOf(5000)] = 5;
  expect(percentileOf(histogram, 0.5)).toBeGreaterThan(350);
  expect(percentileOf(histogram, 0.5)).toBeLessThanOrEqual(500);
  expect(percentileOf(histogram, 0.99)).toBeGreaterThan(3500);
});

test('the largest are found by what is asked for, and the whole stays whole beside a few of them', async () => {
  const at = Math.floor(now / 1000 / 300) * 300;
  const use = (token: number, requests: number, charge: number, tokens: number): Use => [
    gateway.userId,
    token,
    `model-${token}`,
    counts({ requests, charge, tokens_in: tokens, tokens_out: 1 }),
  ];
  const callers = [use(1, 9, 10, 5), use(2, 5, 30, 1), use(3, 1, 20, 900)];
  gateway.services.trafficRecorder.add([{ at, routes: [], callers, streaks: [], saves: [], places: [] }]);
  await gateway.services.trafficRecorder.flush();
  const first = async (order: string, by: string, limit = 1) => {
    const { series, total } = await traffic('traffic.all', { by, order, limit, range: '1h' });
    return [series.map(({ id, name }) => name || id), total.requests, total.charge];
  };
  expect(await first('requests', 'token')).toEqual([[1], 15, 60]);
  expect(await first('charge', 'token')).toEqual([[2], 15, 60]);
  expect(await first('tokens', 'token', 2)).toEqual([[3, 1], 15, 60]);
  expect(await first('charge', 'model', 3)).toEqual([['model-2', 'model-3', 'model-1'], 15, 60]);
});
