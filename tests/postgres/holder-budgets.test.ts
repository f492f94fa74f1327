/** Budgets of keys, users, groups and the site, spent by three nodes together. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BudgetUnit, BudgetWindow } from '../../server/contract/budgets.ts';
import {
  answers,
  ask,
  insist,
  needOf,
  openSellingSite,
  type SellingSite,
  type ServingNode,
  setBalance,
} from './serving.ts';

let site: SellingSite;
let nodes: ServingNode[];
let key: string;
/** What a request holds, and how many tokens at most. */
let need: number;
const tokensOf = 64;
/** Within it a change has reached all nodes. */
const settleMs = 1000;

const nodeOf = (index: number): ServingNode => {
  const node = nodes[index % nodes.length];
  if (node === undefined) throw new Error(`no node ${index}`);
  return node;
};

beforeAll(async () => {
  site = await openSellingSite();
  const first = await site.start();
  key = await site.furnish(first);
  nodes = [first, await site.start({ args: ['--relays', '2'] }), await site.start()];
  ({ need } = await needOf(site, first, key));
  await setBalance(first, 10_000_000);
});
beforeEach(() => site.upstream.script(answers));
afterAll(() => site.close());

const violations = async () =>
  ((await nodeOf(0).client.call('ledger.verify')) as readonly { violations: number }[]).filter(
    (one) => one.violations > 0,
  );
const codeOf = async (response: Response): Promise<string> => {
  const { error } = (await response.json()) as { error?: { code: string } };
  return response.status === 200 ? '' : (error?.code ?? String(response.status));
};
const burst = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async (_, n) => codeOf(await insist(() => nodeOf(n).chat(key, ask)))));
const subjectOf = { token: '1', user: '1', group: 'default', site: '' } as const;

const setBudget = async (
  holder: keyof typeof subjectOf,
  window: BudgetWindow,
  unit: BudgetUnit,
  amount: number,
  more = {},
) => {
  const subject = subjectOf[holder];
  const made = (await nodeOf(1).client.call('budget.set', {
    ...{ holder, window, unit, amount },
    ...(subject === '' ? {} : { subject }),
    ...more,
  } as never)) as { id: number };
  return made.id;
};
const remove = (id: number) => nodeOf(2).client.call('budget.delete', { id } as never);
const usedOf = async (id: number): Promise<number> => {
  const [row] = await site.rows<{ used: number }>(
    `SELECT coalesce(sum(used), 0)::bigint AS used FROM budget_use WHERE budget_id = ${id}`,
  );
  return Number(row?.used ?? 0);
};

test.each([
  ['token', '5h', 'money'],
  ['user', 'day', 'requests'],
  ['group', 'week', 'tokens'],
  ['site', 'total', 'money'],
] as const)(
  '50 requests at once over three nodes: a budget of a %s by %s in %s is spent to its last unit, and no further',
  async (holder, window, unit) => {
    const each = unit === 'money' ? need : unit === 'requests' ? 1 : tokensOf;
    const id = await setBudget(holder, window, unit, 1_000_000_000);
    await Bun.sleep(settleMs);
    const before = await usedOf(id);
    const amount = before + 10 * each;
    await setBudget(holder, window, unit, amount);
    await Bun.sleep(settleMs);
    expect(new Set(await burst(50))).toEqual(new Set(['', `budget_${holder}${window === 'total' ? '_total' : ''}`]));
    expect(await usedOf(id)).toBeLessThanOrEqual(amount);
    for (let n = 0; n < 30; n++) await burst(1);
    expect(await usedOf(id)).toBeLessThanOrEqual(amount);
    expect(amount - (await usedOf(id))).toBeLessThan(each);
    expect(await violations()).toEqual([]);
    await remove(id);
    await expect.poll(async () => (await burst(3)).join(), { timeout: 10_000, interval: 100 }).toBe(',,');
  },
  200_000,
);

const spendAll = async (): Promise<void> => {
  for (let refused = 0; refused < nodes.length; )
    refused = (await burst(nodes.length)).filter((code) => code !== '').length;
};

test('a raise, its end, a reset, a change of zone and a lower amount act on all nodes within a second', async () => {
  const id = await setBudget('user', 'day', 'requests', 1_000_000);
  await Bun.sleep(settleMs);
  const before = await usedOf(id);
  await setBudget('user', 'day', 'requests', before + 6);
  await Bun.sleep(settleMs);
  await spendAll();
  expect(await usedOf(id)).toBe(before + 6);
  const until = Math.floor(Date.now() / 1000) + 8;
  await setBudget('user', 'day', 'requests', before + 6, { raise: 300, raise_until: until });
  await expect.poll(async () => (await burst(3)).join(), { timeout: settleMs, interval: 100 }).toBe(',,');
  await Bun.sleep(Math.max(0, until * 1000 - Date.now()) + settleMs);
  expect(await burst(6)).toEqual(Array.from({ length: 6 }, () => 'budget_user'));
  await nodeOf(2).client.call('budget.reset', { id } as never);
  await expect.poll(async () => (await burst(3)).join(), { timeout: settleMs, interval: 100 }).toBe(',,');
  await setBudget('user', 'day', 'requests', 1);
  await Bun.sleep(settleMs);
  expect(await burst(6)).toEqual(Array.from({ length: 6 }, () => 'budget_user'));
  expect(await violations()).toEqual([]);
  await remove(id);
  await expect.poll(async () => (await burst(3)).join(), { timeout: settleMs, interval: 100 }).toBe(',,');
}, 200_000);

test('what a node that was killed had leased of a budget is spent by the others when its time is over', async () => {
  const id = await setBudget('site', 'total', 'requests', 1_000_000);
  await Bun.sleep(settleMs);
  await burst(9);
  const before = await usedOf(id);
  await setBudget('site', 'total', 'requests', before + 40);
  await Bun.sleep(settleMs);
  await burst(6);
  const dead = nodes.pop();
  dead?.process.kill('SIGKILL');
  await dead?.process.exited;
  await expect
    .poll(
      async () => {
        await spendAll();
        return usedOf(id);
      },
      { timeout: 60_000, interval: 1000 },
    )
    .toBe(before + 40);
  await remove(id);
  expect(await violations()).toEqual([]);
}, 200_000);
