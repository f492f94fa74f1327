/** What older nodes do not keep to, while nodes are upgraded one after the other. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBudgets } from '../../server/domain/budgets/service.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { createTokens } from '../../server/domain/tokens/service.ts';
import { openSite, type Site } from './site.ts';

let site: Site;

beforeEach(async () => {
  site = await openSite();
});
afterEach(() => site.drop());

test('a budget is neither made nor changed while a node lives that keeps to none, and the refusal names it', async () => {
  const budgets = createBudgets({ database: site.database, ledger: site.node().store as never, now: Date.now });
  const order = { holder: 'site', window: 'day', unit: 'money' } as const;
  const set = (amount: number) => budgets.set({ ...order, amount }, false).then(({ result }) => result);
  const node = (name: string, schema: string, rest: string) =>
    site.rows(`INSERT INTO nodes (node, schema, state, expires_at) VALUES ($1, $2, ${rest})`, name, schema);
  await node('of now', '0022-leases', "'live', now() + interval '1 hour'");
  await node('over', '0021-audit-changes', "'live', now() - interval '1 s'");
  await node('gone', '0021-audit-changes', "'expired', now() + interval '1 hour'");
  expect(await set(5)).toBe('created');

  await node('before', '0021-audit-changes', "'draining', now() + interval '1 hour'");
  const refused = { code: 'budget_node', params: { name: 'before' } };
  expect(await set(5)).toBe('unchanged');
  await expect(set(6)).rejects.toMatchObject(refused);
  await expect(budgets.set({ ...order, unit: 'tokens', amount: 5 }, false)).rejects.toMatchObject(refused);
  expect((await budgets.list()).map(({ unit, amount }) => [unit, amount])).toEqual([['money', 5]]);
  await site.rows("DELETE FROM nodes WHERE node = 'before'");
  expect(await set(6)).toBe('changed');
});

test('a key is not bound to channels while a node lives that would serve it by any, and is set free all the same', async () => {
  const vault = createVault(Buffer.alloc(32, 7));
  const tokens = createTokens({ database: site.database, vault, now: Date.now });
  const { id } = await tokens.create(1, { name: 'ci', channels: '3' });
  await site.rows(
    "INSERT INTO nodes (node, schema, state, expires_at) VALUES ('before', '0024-any', 'live', now() + interval '1 hour')",
  );
  const refused = { code: 'token_channels_node', params: { name: 'before' } };
  await expect(tokens.update(id, null, { channels: '3,4' }, false)).rejects.toMatchObject(refused);
  await expect(tokens.create(1, { name: 'other', channels: '3' })).rejects.toMatchObject(refused);
  expect(await tokens.update(id, null, { channels: '3' }, false)).toMatchObject({ channels: '3' });
  expect(await tokens.update(id, null, { channels: '' }, false)).not.toHaveProperty('channels');
  await site.rows("DELETE FROM nodes WHERE node = 'before'");
  expect(await tokens.update(id, null, { channels: '3,4' }, false)).toMatchObject({ channels: '3,4' });
});
