import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());

test('a copy has the settings of its original and nothing of what happened to it', async () => {
  const id = await gateway.channel('http://127.0.0.1:1', { priority: 3, tag: 'a' });
  const past = { test_at: 5, response_time_ms: 6, used_quota: 7, balance: 8, balance_updated_at: 9, created_at: 1 };
  await gateway.database.query.updateTable('channels').set(past).where('id', '=', id).execute();
  const copy = await gateway.services.channels.copy(id);
  const row = await gateway.database.query
    .selectFrom('channels')
    .selectAll()
    .where('id', '=', copy.id)
    .executeTakeFirstOrThrow();
  const fresh = { test_at: 0, response_time_ms: 0, used_quota: 0, balance: 0, balance_updated_at: 0 };
  expect(row).toMatchObject({ name: 'up_复制', priority: 3, tag: 'a', models: 'gpt-4o-mini', ...fresh });
  expect(row.created_at).toBeGreaterThan(1);
});
