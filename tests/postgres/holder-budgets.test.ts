/** Budgets of all holders and windows, spent by three nodes together. `GATEWAY_LONG=1` asks for all pairs, else a share of them is tried. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type BudgetHolder,
  type BudgetUnit,
  type BudgetWindow,
  budgetHolders,
  budgetUnits,
  countedWindows,
} from '../../server/contract/budgets.ts';
import { inShare } from '../support/often.ts';
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
  await first.client.call('token.update', { id: 1, labels: subjectOf.label } as never);
});
beforeEach(() => site.upstream.script(answers));
afterEach(async () => {
  // What a test leaves behind where it fails would refuse what the next one asks.
  for (const { id } of (await nodeOf(0).client.call('budget.list', {} as never)) as readonly { id: number }[])
    await remove(id);
});
afterAll(() => site.close());

const violations = async () =>
  ((await nodeOf(0).client.call('ledger.verify')) as readonly { violations: number }[]).filter(
    (one) => one.violations > 0,
  );
const codeOf = async (response: Response): Promise<string> => {
  const { error } = (await response.json()) as { error?: { code: string } };
  return response.status === 200 ? '' : (error?.code ?? String(response.status));
};
const burst = (count: number, body: object = ask): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async (_, n) => codeOf(await insist(() => nodeOf(n).chat(key, body)))));
const subjectOf = { token: '1', user: '1', group: 'default', label: 'team', end_user: '1', site: '' } as const;

const setBudget = async (
  holder: BudgetHolder,
  window: BudgetWindow,
  unit: BudgetUnit,
  amount: number,
  more = {},
): Promise<number> => {
  const subject = subjectOf[holder];
  const made = (await nodeOf(1).client.call('budget.set', {
    ...{ holder, window, unit, amount },
    ...(subject === '' ? {} : { subject }),
    ...more,
  } as never)) as { id: number };
  return made.id;
};
const reset = (id: number) => nodeOf(2).client.call('budget.reset', { id } as never);
const remove = (id: number) => nodeOf(2).client.call('budget.delete', { id } as never);
const usedOf = async (id: number): Promise<number> => {
  const [row] = await site.rows<{ used: number }>(
    `SELECT coalesce(sum(used), 0)::bigint AS used FROM budget_use WHERE budget_id = ${id}`,
  );
  return Number(row?.used ?? 0);
};
/** By the log, of all requests so far. */
const spentIn = async (unit: BudgetUnit): Promise<number> => {
  const amount = { money: 'sum(quota)', requests: 'count(*)', tokens: 'sum(prompt_tokens + completion_tokens)' }[unit];
  const [row] = await site.rows<{ spent: number }>(
    `SELECT coalesce(${amount}, 0)::bigint AS spent FROM logs WHERE type = 2`,
  );
  return Number(row?.spent ?? 0);
};
/** In which no day, week or month ends within some hours. */
const calmZone = (): string => (Math.abs(new Date().getUTCHours() - 12) < 6 ? '' : 'Etc/GMT-12');
const spendAll = async (body: object = ask): Promise<void> => {
  for (let refused = 0; refused < nodes.length; )
    refused = (await burst(nodes.length, body)).filter((code) => code !== '').length;
};

const pairs = budgetHolders.flatMap((holder, row) =>
  countedWindows.flatMap((window, column) => {
    const unit = budgetUnits[(row + 2 * column) % budgetUnits.length];
    return unit !== undefined && inShare(row, column) ? [[holder, window, unit] as const] : [];
  }),
);

test.each(pairs)(
  '50 requests at once over three nodes, at its edge, while it is raised and while it is reset: a budget of a %s by %s in %s is spent to its last unit, and no further',
  async (holder, window, unit) => {
    const each = unit === 'money' ? need : unit === 'requests' ? 1 : tokensOf;
    // Each node has its share of an end user's.
    const unspent = holder === 'end_user' ? nodes.length * each : each;
    const body = { ...ask, user: `${window} ${unit}` };
    const zone = calmZone();
    const id = await setBudget(holder, window, unit, 1_000_000_000, { zone });
    await Bun.sleep(settleMs);
    await reset(id);
    let amount = 12 * each;
    await setBudget(holder, window, unit, amount, { zone });
    await Bun.sleep(settleMs);
    let before = await spentIn(unit);
    const spent = async () => (await spentIn(unit)) - before;
    const isWithin = async () => {
      expect(await spent()).toBeLessThanOrEqual(amount);
      if (holder !== 'end_user') expect(await usedOf(id)).toBe(await spent());
    };
    const refusals = new Set(['', `budget_${holder}${window === 'total' ? '_total' : ''}`]);
    expect(new Set(await burst(50, body))).toEqual(refusals);
    await isWithin();
    await spendAll(body);
    await isWithin();
    expect(amount - (await spent())).toBeLessThan(unspent);

    const raise = 6 * each;
    amount += raise;
    const until = Math.floor(Date.now() / 1000) + 3600;
    const raised = setBudget(holder, window, unit, 12 * each, { raise, raise_until: until });
    for (const code of await burst(50, body)) expect(refusals).toContain(code);
    await isWithin();
    await raised;
    await Bun.sleep(settleMs);
    await spendAll(body);
    await isWithin();
    expect(amount - (await spent())).toBeLessThan(unspent);

    if (holder !== 'end_user') {
      before = await spentIn(unit);
      const anew = reset(id);
      for (const code of await burst(50, body)) expect(refusals).toContain(code);
      await anew;
      await Bun.sleep(settleMs);
      await spendAll(body);
      await isWithin();
      expect(amount - (await spent())).toBeLessThan(unspent);
    }
    await remove(id);
    await expect.poll(async () => (await burst(3, body)).join(), { timeout: 10_000, interval: 100 }).toBe(',,');
    expect(await violations()).toEqual([]);
  },
  200_000,
);

test.each(budgetHolders.filter((_, row) => inShare(row, 0)))(
  '50 requests at once over three nodes: one that takes as many tokens as a %s allows each is served, one with a token more is refused, and none is counted',
  async (holder) => {
    const id = await setBudget(holder, 'request', 'tokens', 1);
    await Bun.sleep(settleMs);
    const refused = await nodeOf(0).chat(key, ask);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('request_tokens');
    const most = Number(/may take (\d+) tokens/.exec(error.message)?.[1]);
    await setBudget(holder, 'request', 'tokens', most);
    await Bun.sleep(settleMs);
    const longer = { ...ask, max_tokens: ask.max_tokens + 1 };
    const [within, beyond] = await Promise.all([burst(50), burst(50, longer)]);
    expect(new Set(within)).toEqual(new Set(['']));
    expect(new Set(beyond)).toEqual(new Set(['request_tokens']));
    expect(await usedOf(id)).toBe(0);
    await remove(id);
    await expect.poll(async () => (await burst(3, longer)).join(), { timeout: 10_000, interval: 100 }).toBe(',,');
  },
  200_000,
);

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
  await reset(id);
  await expect.poll(async () => (await burst(3)).join(), { timeout: settleMs, interval: 100 }).toBe(',,');
  await setBudget('user', 'day', 'requests', 1);
  await Bun.sleep(settleMs);
  expect(await burst(6)).toEqual(Array.from({ length: 6 }, () => 'budget_user'));
  expect(await violations()).toEqual([]);
  await remove(id);
  await expect.poll(async () => (await burst(3)).join(), { timeout: settleMs, interval: 100 }).toBe(',,');
}, 200_000);

test('the lease of a killed node is spent by the others when its time is over', async () => {
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
