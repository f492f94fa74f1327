/** Keys that seem to have leaked are stopped, and what makes them seem so. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLeakStop } from '../../server/domain/budgets/leak-stop.ts';
import type { Notice } from '../../server/domain/notifications/notice.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let now = 0;
let told: (readonly [string, Notice])[] = [];
let look: () => Promise<number> = async () => 0;

const dollars = 500_000;
const hour = 3600;

beforeEach(async () => {
  now = Date.parse('2026-11-29T12:30:00Z') / 1000;
  gateway = await createTestGateway({ engine: 'sqlite', now: () => now * 1000 });
  told = [];
  const { options, audit } = gateway.services;
  ({ look } = createLeakStop({
    ...{ database: gateway.database, options, audit, now: () => now * 1000 },
    notify: async ({ username }, notice) => void told.push([username, notice]),
    report: (error) => {
      throw error;
    },
  }));
  await gateway.option('budgets.leak_stop', 'true');
});
afterEach(() => gateway.close());

const spend = (id: number, quota: number, at: number, type = 2) =>
  gateway
    .raw()
    .prepare(
      "INSERT INTO logs (user_id, created_at, type, username, token_name, token_id, model_name, quota, prompt_tokens, completion_tokens, use_time, is_stream, channel_id, group_name, content, other, usage_source, end_reason) VALUES (?, ?, ?, 'tester', 't', ?, 'm', ?, 1, 1, 1, 0, 1, 'default', '', '', '', 'completed')",
    )
    .run(gateway.userId, at, type, id, quota);
const statusOf = async (id: number) => {
  const { status, frozen_time: at } = await gateway.services.tokens.get(id, null);
  return { status, at };
};

test('a key that spends ten times its median hour, and five dollars, within five minutes is stopped, its owner told, and the user goes on', async () => {
  const [{ id }, other] = [await gateway.token({ name: 'ci' }), await gateway.token()];
  for (const [hoursAgo, quota] of [
    [30, 1],
    [29, 1],
    [5, 0.9],
    [4, 0.6],
    [3, 0.2],
  ] as const)
    spend(id, quota * dollars, now - hoursAgo * hour);
  // The median is 0.9 dollars.
  spend(id, 5 * dollars, now - 299);
  spend(id, 4 * dollars - 1, now);
  expect(await look()).toBe(0);
  spend(id, 1, now);
  expect(await look()).toBe(1);
  expect(await statusOf(id)).toEqual({ status: 2, at: now });
  expect(await statusOf(other.id)).toEqual({ status: 1, at: undefined });
  expect(told).toMatchObject([['tester', { type: 'key_frozen', values: ['ci', 9 * dollars, 0.9 * dollars] }]]);
  expect((await gateway.services.audit.page(1, 5)).items[0]).toMatchObject({ action: 'token.freeze' });
  expect(await look()).toBe(0);
  await gateway.sync();
  expect(gateway.state.token(id)?.status).toBe(2);
  expect((await gateway.services.users.find(gateway.userId))?.status).toBe(1);
});

test.each([
  ['less than five dollars', [[0, 5 * dollars - 1, 2]]],
  ['what is older than five minutes', [[301, 50 * dollars, 2]]],
  ['what was given back or failed', [[0, 50 * dollars, 5]]],
  [
    'what is usual',
    [
      [2 * hour, 1 * dollars, 2],
      [0, 9 * dollars, 2],
    ],
  ],
] as const)('%s stops no key', async (_name, rows) => {
  const { id } = await gateway.token();
  for (const [ago, quota, type] of rows) spend(id, quota, now - ago, type);
  expect(await look()).toBe(0);
});

test('usage older than fourteen days does not count as usual', async () => {
  const { id } = await gateway.token();
  spend(id, 50 * dollars, now - 15 * 24 * hour);
  spend(id, 6 * dollars, now);
  expect(await look()).toBe(1);
});

test('no key is stopped as shipped, nor where the log of usage is not kept', async () => {
  const { id } = await gateway.token();
  spend(id, 50 * dollars, now);
  await gateway.option('LogConsumeEnabled', 'false');
  expect(await look()).toBe(0);
  await gateway.option('LogConsumeEnabled', 'true');
  await gateway.option('budgets.leak_stop', 'false');
  expect(await look()).toBe(0);
});

test('a key that its owner enables again is not stopped for what it spent before, but for what it spends then', async () => {
  const { id } = await gateway.token();
  spend(id, 6 * dollars, now);
  expect(await look()).toBe(1);
  now += 10;
  await gateway.services.tokens.update(id, gateway.userId, { status: 1 }, true);
  expect(await statusOf(id)).toEqual({ status: 1, at: undefined });
  expect(await look()).toBe(0);
  spend(id, 6 * dollars, now);
  expect(await look()).toBe(1);
});
