/** Hit rates of providers' caches: equal to the log, by channel, key, agent, model and day; and the alert when one halves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CacheRateRow, createCacheRatesRepository } from '../../db/repositories/cache-rates.ts';
import type { CacheRates } from '../../server/contract/cache-rates.ts';
import { type ApiFixture, createApiFixture, type Headers } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let api: ApiFixture;
let upstream: Upstream;
let root: Headers;
let ann: { id: number; headers: Headers };
let bob: { id: number; headers: Headers };
let channels: readonly number[];
let keys: { ann: number; bob: number };
/** 15 November 2026, noon. */
const noon = Date.UTC(2026, 10, 15, 12) / 1000;
const day = 86_400;
let cached = 0;
let now = noon;

async function ask(key: string, model: string, read: number, at: number, agent = 'claude-cli/2.1'): Promise<void> {
  cached = read;
  const body = { model, messages: [{ role: 'user', content: 'hi' }] };
  await (await api.gateway.chat(key, body, { 'user-agent': agent })).text();
  await api.gateway.ledger.drain();
  await api.gateway.database.query
    .updateTable('logs')
    .set({ created_at: at })
    .where('id', '=', (eb) => eb.selectFrom('logs').select((one) => one.fn.max('id').as('id')))
    .execute();
}

beforeAll(async () => {
  api = await createApiFixture({}, { now: () => now * 1000 });
  ({ headers: root } = await api.addUser('root', 100));
  ann = await api.addUser('ann', 1);
  bob = await api.addUser('bob', 1);
  for (const { id } of [ann, bob]) await api.send('PUT', '/api/user/', { id, add_quota: 50_000_000 }, root);
  upstream = await startUpstream((response) =>
    sendJson(response, completion(1000, 5, { prompt_tokens_details: { cached_tokens: cached } })),
  );
  channels = [
    await api.gateway.channel(upstream.url, { models: 'gpt-4o-mini', name: 'small' }),
    await api.gateway.channel(upstream.url, { models: 'gpt-4o', name: 'big' }),
  ];
  const made = async (owner: number, name: string) =>
    api.gateway.services.tokens.create(owner, { name, unlimited_quota: true });
  const [one, other] = [await made(ann.id, 'laptop'), await made(bob.id, 'ci')];
  keys = { ann: one.id, bob: other.id };
  await api.gateway.sync();
  await ask(one.key, 'gpt-4o-mini', 800, noon - 3 * day);
  await ask(one.key, 'gpt-4o-mini', 900, noon - 3 * day);
  await ask(one.key, 'gpt-4o', 0, noon - 2 * day);
  await ask(other.key, 'gpt-4o-mini', 100, noon - 3600, 'curl/8');
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

const rates = async (query: string, as = root, path = '/api/log/cache'): Promise<CacheRates> =>
  (await api.send('GET', `${path}?${query}`, undefined, as)).body.data as CacheRates;
const short = (found: CacheRates) =>
  found.map(({ id, name, requests, input_tokens, cached_tokens }) => [id, name, requests, input_tokens, cached_tokens]);

test('rates by channel, key, model and day say what the rows say', async () => {
  expect(short(await rates('by=channel'))).toEqual([
    [channels[0], 'small', 3, 3000, 1800],
    [channels[1], 'big', 1, 1000, 0],
  ]);
  expect(short(await rates(''))).toEqual(short(await rates('by=channel')));
  expect(short(await rates('by=key'))).toEqual([
    [keys.ann, 'laptop', 3, 3000, 1700],
    [keys.bob, 'ci', 1, 1000, 100],
  ]);
  expect(short(await rates('by=model'))).toEqual([
    [0, 'gpt-4o-mini', 3, 3000, 1800],
    [0, 'gpt-4o', 1, 1000, 0],
  ]);
  expect(short(await rates('by=day'))).toEqual([
    [0, '2026-11-12', 2, 2000, 1700],
    [0, '2026-11-13', 1, 1000, 0],
    [0, '2026-11-15', 1, 1000, 100],
  ]);
  expect(short(await rates(`by=day&channel=${channels[1]}`))).toEqual([[0, '2026-11-13', 1, 1000, 0]]);
});

test('rows that do not say how much was read, as those of an import, are in no rate', async () => {
  await api.gateway.rows(
    `INSERT INTO logs (user_id, created_at, type, username, token_name, model_name, quota, prompt_tokens, channel_id, other)
      VALUES (?, ?, 2, 'ann', 'k', 'gpt-4o', 5, 1000, ?, '{"model_ratio":1,"cache_tokens":900}')`,
    ann.id,
    noon - 2 * day,
    channels[1] ?? 0,
  );
  expect(short(await rates('by=model'))).toContainEqual([0, 'gpt-4o', 1, 1000, 0]);
  await api.gateway.rows("DELETE FROM logs WHERE token_name = 'k'");
});

test('an agent is one, whoever uses it; requests that name none stand together', async () => {
  const found = await rates('by=agent');
  expect(found.map(({ name, requests }) => [name, requests])).toEqual([
    ['claude-code', 3],
    ['', 1],
  ]);
});

test('a user reads his own, and not which channel served', async () => {
  expect(short(await rates('by=day', ann.headers, '/api/log/self/cache'))).toEqual([
    [0, '2026-11-12', 2, 2000, 1700],
    [0, '2026-11-13', 1, 1000, 0],
  ]);
  expect(short(await rates('', bob.headers, '/api/log/self/cache'))).toEqual([[keys.bob, 'ci', 1, 1000, 100]]);
  const { body } = await api.send('GET', '/api/log/self/cache?by=channel', undefined, ann.headers);
  expect(body.success).toBe(false);
  expect((await api.send('GET', '/api/log/cache', undefined, ann.headers)).body.success).toBe(false);
});

test('the costs of misses that rows state are added up', async () => {
  const [row] = await api.gateway.rows<{ id: number; other: string }>(
    "SELECT id, other FROM logs WHERE model_name = 'gpt-4o'",
  );
  const other = {
    ...JSON.parse(row?.other ?? '{}'),
    cache_miss: { by: 'client', at: 'system', tokens: 900, lost: 77 },
  };
  await api.gateway.database.query
    .updateTable('logs')
    .set({ other: JSON.stringify(other) })
    .where('id', '=', row?.id ?? 0)
    .execute();
  const found = await rates('by=channel');
  expect(found.map(({ name, missed, lost }) => [name, missed, lost])).toEqual([
    ['small', 0, 0],
    ['big', 1, 77],
  ]);
});

test('a channel whose rate halves within 24 hours is alerted about, once the hour is over, and not with too few requests', async () => {
  const { alerts } = api.gateway.services;
  const open = async () => {
    await alerts.check();
    return (await alerts.list()).alerts.filter(({ kind }) => kind === 'cache_halved');
  };
  await api.gateway.option('alert_setting.cache_requests', '3');
  expect(await open()).toEqual([]);
  now += 3600;
  await api.gateway.option('alert_setting.cache_requests', '1');
  expect(await open()).toEqual([
    expect.objectContaining({
      subject: String(channels[0]),
      text: expect.stringMatching(/small.*10\.0%.*85\.0%|10\.0%.*85\.0%/),
    }),
  ]);
  now += 3600;
  await api.gateway.option('alert_setting.cache_requests', '0');
  expect(await open()).toEqual([]);
});

test('an unreadable log keeps no other alert back, and is tried again in the next hour', async () => {
  const { alerts } = api.gateway.services;
  const open = async () => new Set((await alerts.list()).alerts.map(({ kind }) => kind));
  await api.gateway.option('alert_setting.cache_requests', '1');
  const rows = await api.gateway.rows<{ id: number; other: string; created_at: number; channel_id: number }>(
    'SELECT id, other, created_at, channel_id FROM logs WHERE type = 2 ORDER BY id LIMIT 2',
  );
  expect(rows).toHaveLength(2);
  const change = async (to: (row: (typeof rows)[number]) => object) => {
    for (const row of rows)
      await api.gateway.database.query.updateTable('logs').set(to(row)).where('id', '=', row.id).execute();
  };
  // More tokens than a sum of either engine holds.
  const other = '{"input":9000000000000000000,"cache_tokens":0}';
  await change(() => ({ created_at: now - 600, channel_id: channels[0] ?? 0, other }));
  await api.gateway.database.query
    .updateTable('channels')
    .set({ status: 3 })
    .where('id', '=', channels[1] ?? 0)
    .execute();
  now += 3600;
  expect(await open()).toContain('channel_disabled');
  await change(({ id: _, ...row }) => row);
  expect(await open()).not.toContain('cache_halved');
  now += 3600;
  expect(await open()).toContain('cache_halved');
});

test('cache rates of a long log come from some of its rows, are nearly the same, and say that they are estimates', async () => {
  const { database } = api.gateway;
  const { rates: ratesOf } = createCacheRatesRepository(database);
  const begin = noon - 90 * day;
  // Every third request of one channel in four misses; of the other channel's prompts a quarter is cached.
  const rows = Array.from({ length: 6000 }, (_, at) => {
    const isBig = at % 4 === 3;
    const missed = !isBig && at % 3 === 0;
    return {
      ...{
        user_id: ann.id,
        username: 'ann',
        token_name: 'long',
        type: 2,
        created_at: begin + at,
        model_name: 'gpt-4o',
      },
      channel_id: channels[isBig ? 1 : 0] ?? 0,
      other: JSON.stringify({
        ...{ input: isBig ? 750 : missed ? 1000 : 0, cache_tokens: isBig ? 250 : missed ? 0 : 1000 },
        ...(missed ? { cache_miss: { by: 'client', lost: 10 } } : {}),
      }),
    };
  });
  for (let from = 0; from < rows.length; from += 500)
    await database.query
      .insertInto('logs')
      .values(rows.slice(from, from + 500) as never)
      .execute();
  const filter = { from: begin, to: begin + rows.length };
  const byChannel = (found: readonly CacheRateRow[]) =>
    found.toSorted((one, other) => Number(one.key) - Number(other.key));
  const all = byChannel(await ratesOf(filter, 'channel_id'));
  const some = byChannel(await ratesOf(filter, 'channel_id', 600));
  expect(all).toEqual([
    {
      ...{ key: channels[0], user_id: 0, requests: 4500, input_tokens: 4_500_000, cached_tokens: 3_000_000 },
      ...{ missed: 1500, lost: 15_000, sampled: false },
    },
    {
      ...{ key: channels[1], user_id: 0, requests: 1500, input_tokens: 1_500_000, cached_tokens: 375_000 },
      ...{ missed: 0, lost: 0, sampled: false },
    },
  ]);
  expect(some.map(({ sampled }) => sampled)).toEqual([true, true]);
  for (const [at, one] of all.entries())
    for (const name of ['requests', 'input_tokens', 'cached_tokens', 'missed', 'lost'] as const) {
      expect(some[at]?.[name], name).toBeGreaterThanOrEqual(one[name] * 0.7);
      expect(some[at]?.[name], name).toBeLessThanOrEqual(one[name] * 1.3);
    }
  // So few that all are read, although the log is long.
  expect(
    byChannel(await ratesOf({ ...filter, to: begin + 499 }, 'channel_id', 600)).map(({ requests, sampled }) => [
      requests,
      sampled,
    ]),
  ).toEqual([
    [375, false],
    [125, false],
  ]);
  await api.gateway.rows("DELETE FROM logs WHERE token_name = 'long'");
});
