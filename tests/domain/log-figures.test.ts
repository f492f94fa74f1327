/** What the log's figures say where something is unknown, and where a minute begins. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PurchaseShares } from '../../server/contract/pricing/purchase.ts';
import { createLogs } from '../../server/domain/logs/service.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
const second = 1_700_000_000;

beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

const logs = (atSecond = second) => createLogs({ database: gateway.database, now: () => atSecond * 1000 + 999 });
const insert = (createdAt: number, model: string, channel: number, quota: number, tokens = 0) =>
  gateway.rows(
    `INSERT INTO logs (created_at, type, user_id, model_name, channel_id, quota, prompt_tokens, completion_tokens, other)
     VALUES (?, 2, 1, ?, ?, ?, ?, 0, '{}')`,
    createdAt,
    model,
    channel,
    quota,
    tokens,
  );

test.each([[[1, 2]], [[2, 1]], [[1, 2, 1]], [[2, 1, 2]]])(
  'the cost of a model is unknown when that of one of its channels is: %j',
  async (channels) => {
    for (const [index, channel] of channels.entries()) await insert(second + index, 'mixed', channel, 100);
    await insert(second, 'known', 1, 100);
    const shares = new PurchaseShares(new Map([['1', 0.5]]));
    const rows = await logs().breakdown({}, 'model', shares);
    expect(rows.find(({ name }) => name === 'mixed')).toMatchObject({ quota: channels.length * 100, cost: null });
    expect(rows.find(({ name }) => name === 'known')?.cost).not.toBeNull();
  },
);

test('a model costs what its channel pays for it, whichever way the costs are added up', async () => {
  const charged = (model: string, channel: number, userId: number, quota: number, group: number) =>
    gateway.rows(
      `INSERT INTO logs (created_at, type, user_id, username, model_name, channel_id, quota, prompt_tokens, completion_tokens, other)
       VALUES (?, 2, ?, ?, ?, ?, ?, 0, 0, ?)`,
      ...[second, userId, `u${userId}`, model, channel, quota, JSON.stringify({ group_ratio: group })],
    );
  await charged('gpt-a', 1, 1, 1000, 1);
  await charged('gpt-b', 1, 2, 1000, 2);
  await charged('other', 1, 2, 1000, 1);
  await charged('gpt-a', 2, 2, 1000, 1);
  const shares = new PurchaseShares(
    new Map([
      ...([
        ['1', 0.5],
        ['1:gpt-*', 0.1],
        ['1:gpt-b', 0.2],
        ['2', 1],
      ] as const),
    ]),
  );
  const costs = async (by: 'model' | 'channel' | 'user') =>
    Object.fromEntries((await logs().breakdown({}, by, shares)).map(({ name, cost }) => [name, cost]));
  expect(await costs('model')).toEqual({ 'gpt-a': 100 + 1000, 'gpt-b': 100, other: 500 });
  expect(await costs('channel')).toEqual({ 1: 100 + 100 + 500, 2: 1000 });
  expect(Object.values(await costs('user')).sort()).toEqual([100, 100 + 500 + 1000].sort());
});

test('requests and tokens of the last minute are those of sixty seconds, the quota that of the whole range', async () => {
  await insert(second - 3000, 'm', 1, 1, 1000);
  await insert(second - 61, 'm', 1, 2, 100);
  await insert(second - 60, 'm', 1, 4, 20);
  await insert(second, 'm', 1, 8, 3);
  expect(await logs().stat({})).toEqual({ quota: 15, requests: 4, errors: 0, refused: 0, rpm: 2, tpm: 23 });
  expect(await logs().stat({ to: second - 61 })).toEqual({
    quota: 3,
    requests: 2,
    errors: 0,
    refused: 0,
    rpm: 2,
    tpm: 23,
  });
  expect(await logs(second + 61).stat({})).toEqual({ quota: 15, requests: 4, errors: 0, refused: 0, rpm: 0, tpm: 0 });
});

test('a row of a refusal counts for those like it that went unwritten', async () => {
  const refuse = (other: object, endReason = 'refused') =>
    gateway.rows(
      `INSERT INTO logs (created_at, type, user_id, model_name, channel_id, quota, prompt_tokens, completion_tokens, other, end_reason)
       VALUES (?, 5, 1, 'm', 0, 0, 0, 0, ?, ?)`,
      second,
      JSON.stringify(other),
      endReason,
    );
  await refuse({ refused: 'rate_limited' });
  await refuse({ refused: 'rate_limited', skipped: 7 });
  // What failed after it was admitted is one request, whatever its row says.
  await refuse({ failure: 'status 500', skipped: 3 }, 'upstream_failed');
  expect(await logs().stat({})).toMatchObject({ requests: 1, errors: 1, refused: 9 });
});
