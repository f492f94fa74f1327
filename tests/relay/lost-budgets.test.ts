/** Budgets when a relay thread dies, and when one process follows another. */
import { expect, test } from 'vitest';
import { HolderSlot, holderKey, usedCell } from '../../server/billing/balances/budgets.ts';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { allocateRows, createOpenRequests } from '../../server/billing/balances/open-requests.ts';
import { attachMemory, createMemory, type Memory } from '../../server/billing/balances/shared-memory.ts';
import type { Ledger, LedgerCommand } from '../../server/billing/ledger/commands.ts';
import type { BudgetSnapshot } from '../../server/contract/budgets.ts';
import { createRemoteReservations, openMoneyOf } from '../../server/handover/open-requests.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { createRelayState } from '../../server/relay/state/state.ts';
import { endLost } from '../../server/threads/relay/lost-thread.ts';
import { watchedCells } from '../support/relay-memory.ts';

const user = {
  ...{ id: 1, username: 'u', role: 1, status: 1, group: 'default', balance: 1e9, used: 0 },
  ...{ balanceVersion: 0, overrun: 0, setting: {} },
};
const bound = (id: number, fields: Partial<BudgetSnapshot>): BudgetSnapshot => ({
  ...{ id, holder: 'user', subject: '1', window: 'total', unit: 'money', amount: 1e6, zone: '' },
  ...{ raise: 0, raiseUntil: 0, use: { at: 0, used: 0 } },
  ...fields,
});
const budgets = [
  bound(1, {}),
  bound(2, { unit: 'tokens' }),
  bound(3, { holder: 'group', subject: 'default', unit: 'requests' }),
  bound(4, { holder: 'site', subject: '', window: 'day' }),
];

function site() {
  const memory = createMemory(2);
  const balances = new Balances(createMoney(memory), () => 86_400_000);
  const state = createRelayState(balances.watcher, () => 86_400_000);
  const options = { ModelPrice: '{"m":0.001}' };
  state.apply({ kind: 'snapshot', seq: 1, users: [user], tokens: [], channels: [], options, budgets });
  return { memory, balances, state, rows: allocateRows(memory) };
}

/** As a relay thread has it. */
function threadOf({ memory, balances, rows }: ReturnType<typeof site>, wrap: (plain: Memory) => Memory) {
  const own = wrap(attachMemory(memory.parts(), 1));
  const open = createOpenRequests(own);
  open.add(rows);
  const thread = new Balances(createMoney(own, open), () => 86_400_000);
  thread.money.accounts.bind(balances.money.accounts.slotIndexes([1], []));
  thread.budgets.set(budgets);
  return thread;
}

const caller = { tokenId: 0, userId: 1, userGroup: 'default' };
const started = {
  ...{ ref: 'r', model: 'm', group: 'default', startedMs: 0, streams: true, promptTokens: 5 },
  ...{ selfUse: false, epoch: 0 },
};

/** Held by unit and used, of all who have budgets. */
function totals({ memory, balances }: ReturnType<typeof site>) {
  const slots = ['user 1', 'group default', 'site '].map((key) => balances.money.accounts.holder(key));
  return {
    held: slots.flatMap((slot) => [0, 1, 2].map((unit) => memory.get(slot + HolderSlot.held + unit))),
    money: memory.get((slots[0] ?? 0) + usedCell(4, 0)),
    tokens: memory.get((slots[0] ?? 0) + usedCell(4, 2)),
    requests: memory.get((slots[1] ?? 0) + usedCell(4, 1)),
    day: memory.get((slots[2] ?? 0) + usedCell(1, 0)),
  };
}
const nothing = { held: Array.from({ length: 9 }, () => 0), money: 0, tokens: 0, requests: 0, day: 0 };

test('a thread that dies at any store leaves nothing held, and what it delivered is used once', async () => {
  const seen = new Set<string>();
  for (let most = 0; ; most++) {
    const all = site();
    let left = most;
    const step = () => {
      if (left-- <= 0) throw new Error('dead');
    };
    const thread = threadOf(all, (plain) => ({
      ...plain,
      put(cell, value) {
        step();
        plain.put(cell, value);
      },
      add(cell, amount) {
        step();
        plain.add(cell, amount);
      },
      cells: (first, count) => watchedCells(plain.cells(first, count), step),
      note(first, count) {
        step();
        plain.note(first, count);
      },
      release: (stripe) => void (left >= 0 && plain.release(stripe)),
    }));
    let isWhole = false;
    try {
      const account = thread.account(1, 0);
      const open = thread.money.open.begin(account, started);
      const holders = thread.budgets.of(caller);
      if (open === null || holders === null) throw new Error('no rows');
      account.reserve(800, { max: 800, budget: 800, holders, requests: 1, tokens: 40, open });
      open.used({ ...emptyUsage, input: 5, output: 3 });
      open.delivered(3);
      account.settle({
        ...{ reserved: 800, charged: 500, max: 800, budget: 800, open },
        budgets: {
          slots: holders.map(({ slot }) => slot),
          held: { money: 800, requests: 1, tokens: 40 },
          ...{ holders, requests: 1, tokens: 8, parts: [] },
        },
      });
      isWhole = true;
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'dead') throw error;
    }
    const commands: LedgerCommand[] = [];
    const ledger: Ledger = {
      execute: async (command) => {
        commands.push(command);
        return { status: 'done' };
      },
      healthy: () => ({ ok: true }),
    };
    const { balances, state, rows } = all;
    const report = await endLost({ balances, state, ledger, now: () => 86_400_000, pause: async () => undefined }, 1, [
      rows,
    ]);
    await report.written;
    const found = totals(all);
    expect(found.held, `after ${most} stores`).toEqual(nothing.held);
    const settled = commands.filter(({ type }) => type === 'settle');
    if (settled.length === 0) expect(found).toEqual(nothing);
    else {
      expect(found).toMatchObject({ money: 500, requests: 1, day: 500 });
      // As much as it had noted.
      expect(found.tokens).toBeOneOf([3, 5, 8]);
      expect(settled).toMatchObject([{ amount: 500, budgets: [1, 0, 0, 2, 0, 2, 3, 0, 1, 4, 86_400, 0] }]);
    }
    seen.add(settled.length === 0 ? 'nothing' : 'settled');
    if (isWhole) break;
  }
  expect(seen.size).toBe(2);
});

test('a process that follows another holds what that one’s requests hold of budgets', () => {
  const before = site();
  const after = site();
  const holders = before.balances.budgets.of(caller);
  before.balances.account(1, 0).reserve(800, { max: 800, budget: 800, holders, requests: 1, tokens: 40 });
  const remote = createRemoteReservations(after.balances.money);
  remote.set(openMoneyOf(before.balances.money, { user: () => user, token: () => undefined }));
  expect(totals(after).held).toEqual([800, 1, 40, 800, 1, 40, 800, 1, 40]);
  remote.set({ users: [], tokens: [], groups: [] });
  expect(totals(after)).toEqual(nothing);
  expect(holderKey('site', '')).toBe('site ');
});

test.each([
  ['half of it at a factor of 0.5', 0.5, 250],
  ['twice as much at a factor of 2', 2, 1000],
  ['the price where there is none', 1, 500],
])(
  'what a lost thread delivered costs by the channel that served, which is gone: %s',
  async (_name, factor, amount) => {
    const all = site();
    const thread = threadOf(all, (memory) => memory);
    const account = thread.account(1, 0);
    const open = thread.money.open.begin(account, started);
    if (open === null) throw new Error('no rows');
    account.reserve(800, { max: 800, budget: 800, open });
    open.servedBy(7, factor);
    open.delivered(3);
    const commands: LedgerCommand[] = [];
    const ledger: Ledger = {
      execute: async (command) => {
        commands.push(command);
        return { status: 'done' };
      },
      healthy: () => ({ ok: true }),
    };
    const { balances, state, rows } = all;
    const lost = { balances, state, ledger, now: () => 86_400_000, pause: async () => undefined };
    await (await endLost(lost, 1, [rows])).written;
    expect(commands.filter(({ type }) => type === 'settle')).toMatchObject([{ amount, channelId: 7 }]);
  },
);
