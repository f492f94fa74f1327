/** Budgets of each end user of a key: of the person for whom its requests say that they are made. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BudgetBook } from '../../server/billing/balances/budgets.ts';
import { EndUserTable } from '../../server/billing/balances/end-users.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { createAccounts } from '../../server/billing/balances/slot.ts';
import type { BudgetSnapshot, BudgetUnit, BudgetWindow } from '../../server/contract/budgets.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let now = 0;

beforeEach(async () => {
  now = Date.parse('2026-11-29T12:00:00Z');
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  const timers = { ...systemTimers, now: () => now };
  gateway = await createTestGateway({ engine: 'sqlite', quota: 10_000_000, now: () => now, relay: { timers } });
  await gateway.channel(upstream.url);
});
afterEach(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

const ask = (user?: string) => ({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 500,
  ...(user === undefined ? {} : { user }),
});
const code = async (response: Response) =>
  response.ok ? 'ok' : ((await response.json()) as { error: { code: string } }).error.code;
const each = async (tokenId: number, window: BudgetWindow, unit: BudgetUnit, amount: number) => {
  const order = { holder: 'end_user', subject: String(tokenId), window, unit, amount } as const;
  const { budget } = await gateway.services.budgets.set(order);
  await gateway.sync();
  return budget;
};

test('each end user of a key has a budget of his own, those who are not named share one, and other keys have none', async () => {
  const { key, id } = await gateway.token();
  const other = await gateway.token();
  await each(id, 'day', 'requests', 2);
  for (const name of ['ann', 'ben', undefined]) {
    expect(await code(await gateway.chat(key, ask(name)))).toBe('ok');
    expect(await code(await gateway.chat(key, ask(name)))).toBe('ok');
    expect(await code(await gateway.chat(key, ask(name)))).toBe('budget_end_user');
  }
  // A header names him too.
  expect(await code(await gateway.chat(key, ask(), { 'x-openwebui-user-email': 'ann' }))).toBe('budget_end_user');
  expect(await code(await gateway.chat(key, ask(), { 'x-openwebui-user-email': 'cem' }))).toBe('ok');
  for (let times = 0; times < 3; times++) expect(await code(await gateway.chat(other.key, ask('ann')))).toBe('ok');
  now += 12 * 3600_000;
  expect(await code(await gateway.chat(key, ask('ann')))).toBe('ok');
});

test.each([
  ['money', 225, 'budget_end_user_total'],
  ['tokens', 1500, 'budget_end_user_total'],
] as const)('what is left of a total in %s is spendable, and no more', async (unit, one, refused) => {
  const { key, id } = await gateway.token();
  await each(id, 'total', unit, 2 * one + 1);
  const codes: string[] = [];
  for (let times = 0; times < 4; times++) codes.push(await code(await gateway.chat(key, ask('ann'))));
  expect(codes).toEqual(['ok', 'ok', refused, refused]);
  expect(await code(await gateway.chat(key, ask('ben')))).toBe('ok');
});

test('a refund is left again to its end user in the window it was spent in, and to nobody else', async () => {
  const { key, id } = await gateway.token();
  await each(id, 'day', 'money', 450);
  const refs = async (name: string) =>
    (
      await gateway.rows<{ ref: string }>(
        `SELECT request_id AS ref FROM logs LEFT JOIN names ON names.id = end_user_id
          WHERE type = 2 AND coalesce(text, '') = ? ORDER BY logs.id`,
        name,
      )
    ).map(({ ref }) => ref);
  const refund = async (of: string, amount: number) => {
    const at = Math.floor(now / 1000);
    const back = { type: 'refund', ref: `refund:${of}`, of, userId: gateway.userId, amount, at } as const;
    expect(await gateway.ledger.execute({ ...back, model: '', username: '', log: null })).toEqual({ status: 'done' });
  };
  const spendAll = async (name?: string) => {
    const codes: string[] = [];
    for (let times = 0; times < 4; times++) codes.push(await code(await gateway.chat(key, ask(name))));
    return codes.filter((one) => one === 'ok').length;
  };
  for (const name of ['ann', 'ben', undefined]) expect(await spendAll(name)).toBe(2);
  await gateway.ledger.drain();
  const [first = '', second = ''] = await refs('ann');
  await refund(first, 225);
  expect([await spendAll('ann'), await spendAll('ben'), await spendAll()]).toEqual([1, 0, 0]);
  const [unnamed = ''] = await refs('');
  await refund(unnamed, 225);
  expect([await spendAll('ann'), await spendAll('ben'), await spendAll()]).toEqual([0, 0, 1]);
  // A part leaves less than a request takes.
  await refund(second, 5);
  expect(await spendAll('ann')).toBe(0);
  now += 12 * 3600_000;
  expect(await spendAll('ann')).toBe(2);
  const [before = ''] = await refs('ben');
  expect(await spendAll('ben')).toBe(2);
  await refund(before, 225);
  expect(await spendAll('ben')).toBe(0);
});

test('fifty at once of five end users: each gets what his budget has, and nothing stays held', async () => {
  const { key, id } = await gateway.token();
  await each(id, 'day', 'requests', 3);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const name = names[at % 5];
      return [name, await code(await gateway.chat(key, ask(name)))] as const;
    }),
  );
  for (const name of names)
    expect(answers.filter(([whose, what]) => whose === name && what === 'ok').length, name).toBe(3);
  const caller = { tokenId: id, userId: gateway.userId, userGroup: 'default' };
  const { memory } = gateway.balances.money;
  for (const endUser of names) {
    const [holder] = gateway.balances.budgets.of({ ...caller, endUser }) ?? [];
    expect([0, 1, 2].map((cell) => memory.get((holder?.slot ?? 0) + cell))).toEqual([0, 0, 0]);
  }
});

test('a single request of an end user is bounded too', async () => {
  const { key, id } = await gateway.token();
  await each(id, 'request', 'tokens', 300);
  expect(await code(await gateway.chat(key, ask('ann')))).toBe('request_tokens');
});

test('its use is in no table, and a reset changes nothing', async () => {
  const { key, id } = await gateway.token();
  const budget = await each(id, 'day', 'requests', 1);
  await gateway.chat(key, ask('ann'));
  await gateway.ledger.drain();
  expect(await gateway.services.budgets.get(budget.id)).toMatchObject({ name: 't', used: 0 });
  expect(gateway.raw().prepare<{ n: number }>('SELECT count(*) AS n FROM budget_use').all()).toEqual([{ n: 0 }]);
  expect(await gateway.services.budgets.reset(budget.id)).toMatchObject({ used: 0 });
});

const template = (subject: string, amount: number): BudgetSnapshot => ({
  ...{ id: 1, holder: 'end_user', subject, window: 'day', unit: 'requests', amount, zone: '' },
  ...{ raise: 0, raiseUntil: 0, use: { at: 0, used: 0 } },
});

test('each of several machines has its part', () => {
  const memory = createMemory();
  const accounts = createAccounts(memory);
  const budgets = [template('7', 10)];
  accounts.observeBudgets(budgets);
  const book = new BudgetBook(memory, accounts.holder, () => 1_790_000_000);
  book.set(budgets);
  const caller = { tokenId: 7, userId: 1, userGroup: 'default', endUser: 'ann' };
  const left = (nodes: number) => book.of({ ...caller, nodes })?.[0]?.left(1, 1_790_000_000);
  expect([1, 2, 3].map(left)).toEqual([10, 5, 3]);
  expect(book.of({ tokenId: 7, userId: 1, userGroup: 'default' })).toBeNull();
  expect(book.of({ ...caller, tokenId: 8 })).toBeNull();
});

test('names beyond what fits take the place of those that asked least lately, never of one with an open request', () => {
  const memory = createMemory();
  const first = [memory.allocate(1 << 16)];
  const table = new EndUserTable(memory, first);
  const held = table.find(1, 'held', 1);
  memory.set(held, 5);
  const kept = new Map<string, number>();
  for (let at = 0; at < 6000; at++) {
    const slot = table.find(1, `user ${at}`, 2 + at);
    expect(slot).not.toBe(held);
    kept.set(`user ${at}`, slot);
  }
  expect(table.find(1, 'held', 200_000)).toBe(held);
  const late = [...kept].slice(-500).filter(([name, slot]) => table.find(1, name, 200_001) === slot);
  expect(late.length).toBeGreaterThan(450);
});
