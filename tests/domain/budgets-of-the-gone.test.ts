/** Budgets of keys and users that are gone make room for others. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { maxBudgets } from '../../server/contract/budgets.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

const day = { window: 'day', unit: 'requests', amount: 1 } as const;
const member = async (username: string) =>
  ((await gateway.call('user.create', { username, password: 'long-enough-1' })) as { id: number }).id;

test('budgets of a key that was deleted, of its end users and of a deleted user go, all others stay', async () => {
  const { budgets, tokens } = gateway.services;
  const [left, stays] = [await member('left'), await member('stays')];
  const [gone, kept] = [await gateway.token({ name: 'gone' }), await gateway.token({ name: 'kept' })];
  for (const { id } of [gone, kept])
    for (const holder of ['token', 'end_user'] as const) await budgets.set({ ...day, holder, subject: String(id) });
  for (const id of [left, stays]) await budgets.set({ ...day, holder: 'user', subject: String(id) });
  for (const subject of ['team-a', String(gone.id)]) await budgets.set({ ...day, holder: 'label', subject });
  await budgets.set({ ...day, holder: 'group', subject: 'vip' });
  await budgets.set({ ...day, holder: 'site' });
  const before = await budgets.list();
  await budgets.removeGone();
  expect(await budgets.list()).toEqual(before);
  await tokens.remove(gone.id, null);
  await gateway.call('user.manage', { id: left, action: 'delete' });
  await budgets.removeGone();
  const isGone = ({ holder, subject }: { holder: string; subject: string }) =>
    (subject === String(gone.id) && (holder === 'token' || holder === 'end_user')) ||
    (subject === String(left) && holder === 'user');
  expect((await budgets.list()).map(({ id }) => id)).toEqual(
    before.filter((budget) => !isGone(budget)).map(({ id }) => id),
  );
  expect(before.filter(isGone)).toHaveLength(3);
});

test('where a site has all the budgets that it can have, those of deleted keys make room', async () => {
  const { budgets, tokens } = gateway.services;
  const gone = await gateway.token({ name: 'gone' });
  await budgets.set({ ...day, holder: 'token', subject: String(gone.id) });
  const row = { holder: 'group', period: 'day', unit: 'money', amount: 1, zone: '', raise_amount: 0, raise_until: 0 };
  const rest = Array.from({ length: maxBudgets - 1 }, (_, at) => ({
    ...{ ...row, subject: `g${at}` },
    ...{ counted: 1, created_at: 1, updated_at: 1 },
  }));
  for (let from = 0; from < rest.length; from += 1000)
    await gateway.database.query
      .insertInto('budgets')
      .values(rest.slice(from, from + 1000))
      .execute();
  await expect(budgets.set({ ...day, holder: 'site' })).rejects.toMatchObject({ code: 'budget_many' });
  await tokens.remove(gone.id, null);
  expect((await budgets.set({ ...day, holder: 'site' })).result).toBe('created');
});
