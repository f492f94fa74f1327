import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BudgetHolder, BudgetUnit, BudgetWindow } from '../../server/contract/budgets.ts';
import { createBudgets } from '../../server/domain/budgets/service.ts';
import { createBudgetAlerts } from '../../server/domain/notifications/budget-alerts.ts';
import type { Notice } from '../../server/domain/notifications/notice.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let clock: number;
let sent: [id: number, notice: Notice][];

beforeEach(async () => {
  gateway = await createTestGateway({ engine: 'sqlite' });
  clock = Date.UTC(2026, 10, 29, 12);
  sent = [];
});
afterEach(() => gateway.close());

const budgets = () => createBudgets({ database: gateway.database, ledger: gateway.ledger, now: () => clock });
const look = () =>
  createBudgetAlerts({
    database: gateway.database,
    options: gateway.services.options,
    budgets: budgets(),
    notify: async ({ id }, notice) => void sent.push([id, notice]),
    report: (error) => {
      throw error;
    },
    now: () => clock,
  }).look();
const set = async (holder: BudgetHolder, subject: string, window: BudgetWindow, unit: BudgetUnit, amount: number) =>
  (await budgets().set({ holder, subject, window, unit, amount })).budget.id;
const use = (budgetId: number, delta: number, windowAt = Date.UTC(2026, 10, 29) / 1000) =>
  gateway.ledger.execute({ type: 'budget', ref: `${budgetId} ${sent.length} ${delta}`, budgetId, windowAt, delta });
const english = (id: number) =>
  gateway.database.query.updateTable('users').set({ setting: '{"language":"en"}' }).where('id', '=', id).execute();

test('each level is told once in a window, of several passed at once the highest, and anew in the next', async () => {
  await english(gateway.userId);
  const id = await set('user', String(gateway.userId), 'day', 'money', 1_000_000);
  await use(id, 749_999);
  await look();
  expect(sent).toEqual([]);
  await use(id, 1);
  await Promise.all([look(), look()]);
  expect(sent).toEqual([
    [
      gateway.userId,
      {
        type: 'budget_used',
        title: '75% of a budget is used',
        content: 'Your daily budget, $1.50 of $2.00 used. It resets at 2026-11-30T00:00:00.000Z.',
        values: [75, 750_000, 1_000_000, '2026-11-30T00:00:00.000Z'],
      },
    ],
  ]);
  await use(id, 210_000);
  await look();
  await use(id, 40_000);
  await look();
  await look();
  expect(sent.map(([, { values }]) => values[0])).toEqual([75, 95, 100]);
  clock += 86_400_000;
  await look();
  expect(sent).toHaveLength(3);
  await use(id, 860_000, Date.UTC(2026, 10, 30) / 1000);
  await look();
  expect(sent.map(([, { values }]) => values[0])).toEqual([75, 95, 100, 85]);
});

test('the owner of a key, and the super administrator for a group and the site, read of it in their language', async () => {
  const { users, tokens } = gateway.services;
  const ann = await users.create({ username: 'ann', password: 'password1', displayName: '', role: 1, quota: 0 });
  const key = await tokens.create(ann, { name: 'ci', unlimited_quota: true });
  await english(gateway.userId);
  const ofKey = await set('token', String(key.id), 'day', 'requests', 10);
  const ofGroup = await set('group', 'vip', 'day', 'tokens', 10);
  const ofSite = await set('site', '', 'total', 'requests', 10);
  for (const id of [ofKey, ofGroup]) await use(id, 9);
  await use(ofSite, 10, 0);
  await look();
  const ends = '2026-11-30T00:00:00.000Z';
  expect(sent.map(([id, { content }]) => [id, content])).toEqual([
    [ann, `令牌 ci：按天的预算已用 9 次请求，共 10 次请求。${ends} 重置。`],
    [gateway.userId, `Group vip: daily budget, 9 tokens of 10 tokens used. It resets at ${ends}.`],
    [gateway.userId, 'The whole site: total budget, 10 requests of 10 requests used.'],
  ]);
});

test('a raise counts, and who is banned hears nothing', async () => {
  const day = await set('user', String(gateway.userId), 'day', 'requests', 10);
  await use(day, 8);
  const raise = {
    holder: 'user',
    subject: String(gateway.userId),
    window: 'day',
    unit: 'requests',
    amount: 10,
  } as const;
  await budgets().set({ ...raise, raise: 10, raise_until: clock / 1000 + 60 });
  await look();
  expect(sent).toEqual([]);
  clock += 60_000;
  await gateway.database.query.updateTable('users').set({ status: 2 }).execute();
  await look();
  expect(sent).toEqual([]);
  await gateway.database.query.updateTable('users').set({ status: 1 }).execute();
  await look();
  expect(sent).toHaveLength(1);
});
