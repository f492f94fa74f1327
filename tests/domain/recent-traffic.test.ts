/** The last minute by channel, model and key, and no percentile above the slowest request. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { trafficCounters } from '../../server/contract/traffic.ts';
import { createRecent } from '../../server/domain/traffic/recent.ts';
import { type Counters, statsOf } from '../../server/domain/traffic/stats.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

const second = 1_700_000_000;
let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

interface Row {
  readonly at?: number;
  readonly type?: number;
  readonly end?: string;
  readonly channel?: number;
  readonly token?: number;
  readonly quota?: number;
  readonly other?: object;
}
const add = ({ at = second - 10, type = 2, end = 'completed', channel = 1, token = 7, quota = 5, other = {} }: Row) =>
  gateway.rows(
    `INSERT INTO logs (created_at, type, user_id, username, token_id, token_name, model_name, channel_id, quota, prompt_tokens, completion_tokens, is_stream, other, end_reason)
     VALUES (?, ?, 1, 'mira', ?, 'laptop', 'm', ?, ?, 1, 100, 1, ?, ?)`,
    ...[at, type, token, channel, quota, JSON.stringify(other), end],
  );
const recent = () => createRecent({ database: gateway.database, now: () => second * 1000 })();

test('the last minute has attempts by channel, requests by model and key, and refused ones beside', async () => {
  await add({ other: { ms: 1100, frt: 100 } });
  // Served after another channel had failed.
  await add({
    other: { ms: 3000, frt: 500, admin_info: { attempts: [{ channel: 2, reason: 'timeout' }, { channel: 1 }] } },
  });
  await add({ type: 5, end: 'upstream_failed', channel: 2, quota: 0, other: { ms: 40 } });
  await add({ type: 5, end: 'refused', channel: 0, quota: 0, other: { refused: 'rate_limited', skipped: 4 } });
  // Own tries, top-ups and what is older count nowhere.
  await add({ token: 0, other: { own: true } });
  await add({ type: 1 });
  await add({ at: second - 61 });
  const found = await recent();
  expect(found).toMatchObject({ seconds: 60, refused: 5 });
  const shared = { p95: 3000, first_token: 100, charge: 10 };
  expect(found.total).toEqual({ ...shared, count: 3, failed: 1, tokens_per_second: 57.1 });
  expect(found.channels.toSorted((a, b) => a.id - b.id)).toEqual([
    { id: 1, count: 2, failed: 0, ...shared, tokens_per_second: 57.1 },
    { id: 2, count: 2, failed: 2, p95: null, first_token: null, tokens_per_second: null, charge: 0 },
  ]);
  expect(found.models).toMatchObject([{ name: 'm', count: 3, failed: 1 }]);
  expect(found.keys).toMatchObject([{ id: 7, name: 'laptop', user: 'mira', count: 3, failed: 1, charge: 10 }]);
});

test('figures over more requests than are read say how many seconds they are about', async () => {
  const rows = Array.from(
    { length: 2100 },
    (_, n) => `(${second - Math.floor(n / 500)}, 2, 1, 'm', 1, 1, '{}', 'completed')`,
  );
  await gateway.rows(
    `INSERT INTO logs (created_at, type, user_id, model_name, channel_id, quota, other, end_reason) VALUES ${rows.join(',')}`,
  );
  const { seconds, total } = await recent();
  // The newest 2,000 reach into the fourth second, of which not all were read.
  expect([seconds, total.count]).toEqual([3, 1500]);
});

test('no percentile is above what the slowest request can have taken', () => {
  const none = Object.fromEntries(trafficCounters.map((name) => [name, 0])) as Counters;
  const top = trafficCounters.filter((name) => /^latency_\d+$/.test(name)).at(-3) as keyof Counters;
  const alone = statsOf({ ...none, requests: 1, [top]: 1, latency_ms: 75_600 });
  expect(alone.latency.p95).toBeLessThanOrEqual(75_600);
  const among = statsOf({ ...none, requests: 11, [top]: 1, latency_0: 10, latency_ms: 75_600 + 10 });
  expect(among.latency.p95).toBeLessThanOrEqual(75_610);
  expect(statsOf(none).latency).toEqual({ mean: null, p50: null, p95: null });
});
