/** Which window of a budget nodes count in, by the database's clock. */
import { expect, test } from 'vitest';
import { type BudgetState, countedWindow, currentWindow } from '../../db/postgres/budgets.ts';
import { decideLeases } from '../../db/postgres/leases.ts';
import { addUse, HolderSlot, holderCellsOf, usedCell } from '../../server/billing/balances/budgets.ts';
import { createMemory } from '../../server/billing/balances/shared-memory.ts';
import { fiveHours } from '../../server/contract/budgets.ts';

const at = (text: string) => Date.parse(text) / 1000;
const state = (more: Partial<BudgetState>): BudgetState => ({
  ...{ window: 'day', zone: '', amount: 100, leased: 0, now: 0, windows: [] },
  ...more,
});
const berlin = { zone: 'Europe/Berlin' };

test.each([
  ['a day of 23 hours begins', berlin, '2026-03-29T00:00+01:00', '2026-03-29T23:59:59+02:00', '2026-03-30T00:00+02:00'],
  ['a day of 25 hours begins', berlin, '2026-10-25T00:00+02:00', '2026-10-25T23:59:59+01:00', '2026-10-26T00:00+01:00'],
  ['a day of UTC begins', {}, '2026-10-25T00:00Z', '2026-10-25T23:59:59Z', '2026-10-26T00:00Z'],
])('%s with its first second, ends with its last, and leaves nothing used', (_name, more, first, last, next) => {
  const windows = [{ at: at(first), used: 40 }];
  for (const moment of [first, last])
    expect(currentWindow(state({ ...more, windows, now: at(moment) }))).toEqual({ at: at(first), used: 40 });
  expect(currentWindow(state({ ...more, windows, now: at(next) }))).toEqual({ at: at(next), used: 0 });
});

test('in memory a use counts in its own window: a later one begins anew, an earlier one is over', () => {
  const memory = createMemory();
  const slot = memory.allocate(holderCellsOf(false));
  const place = { window: 1, unit: 0 };
  const used = (windowAt: number, amount: number) => {
    addUse(memory, slot, place, windowAt, amount);
    return memory.get(slot + usedCell(1, 0));
  };
  const [today, tomorrow] = [at('2026-05-05T00:00Z'), at('2026-05-06T00:00Z')];
  expect([used(today, 5), used(today, 3), used(tomorrow, 4), used(tomorrow, 1), used(today, 9)]).toEqual([
    5, 8, 4, 5, 5,
  ]);
  expect(used(tomorrow, -20)).toBe(0);
  expect(memory.get(slot + HolderSlot.starts + 1)).toBe(tomorrow);
});

test('a node whose clock is ahead begins no window for the others, and what comes late counts in its own', () => {
  const now = at('2026-05-05T23:59:59Z');
  const [today, tomorrow, before] = ['2026-05-05', '2026-05-06', '2026-05-04'].map((day) => at(`${day}T00:00Z`));
  const known = state({ now, windows: [{ at: today ?? 0, used: 1 }] });
  expect([tomorrow, today, before].map((one) => countedWindow(known, one ?? 0))).toEqual([today, today, before]);
});

test('a change of zone to one whose day began later is new, to one whose day began earlier goes on', () => {
  const now = at('2026-05-05T20:00Z');
  const began = at('2026-05-05T00:00Z');
  const windows = [{ at: began, used: 70 }];
  expect(currentWindow(state({ zone: 'Asia/Shanghai', now, windows }))).toEqual({
    at: at('2026-05-05T16:00Z'),
    used: 0,
  });
  expect(
    currentWindow(state({ zone: 'America/Los_Angeles', now, windows: [{ at: at('2026-05-05T16:00Z'), used: 70 }] })),
  ).toEqual({
    at: at('2026-05-05T16:00Z'),
    used: 70,
  });
});

test('five hours begin once for all nodes: what two began at the same time counts in the earlier', () => {
  const five = (now: number, windows: BudgetState['windows']) => state({ window: '5h', now, windows });
  const windows = [
    { at: 1000, used: 30 },
    { at: 1002, used: 20 },
  ];
  expect(currentWindow(five(5000, windows))).toEqual({ at: 1000, used: 50 });
  expect(countedWindow(five(5000, windows), 4000)).toBe(1000);
  expect(currentWindow(five(1000 + fiveHours, [{ at: 1000, used: 50 }]))).toEqual({ at: null, used: 0 });
  expect(countedWindow(five(1000 + fiveHours, [{ at: 1000, used: 50 }]), 1000 + fiveHours)).toBe(1000 + fiveHours);
  // Its node has begun it by its own clock, which is ahead.
  expect(countedWindow(five(9000, []), 9500)).toBe(9000);
});

const acquire = { type: 'acquire', kind: 'budget', account: 7, token: 0, tokenNeed: 0, use: 0, nodes: 3 } as const;
const decided = (left: number, leased: number, need: number, partial = false) => {
  const budget = { left, bound: 'limit' as const, leased, state: state({ window: '5h', now: 9000 }) };
  const known = {
    ...{ leases: new Map(), accounts: new Map(), tokens: new Map(), budgets: new Map([[7, budget]]) },
    leaseRows: [{ kind: 'budget' as const, subject: 7, epoch: 4 }],
  };
  const { value, statements } = decideLeases([{ ...acquire, need, partial }], known, 1);
  return { grant: value.grants[0], texts: statements.map(({ text }) => text.slice(0, 20)) };
};

test.each([
  ['its last unit', 10, 0, 10, false, 10, []],
  ['what others have leased is not free, and they are named', 10, 1, 10, false, 0, [4]],
  ['as much as there is, where less will do', 10, 4, 10, true, 6, [4]],
  ['more is used than it has by now', 0, 3, 1, true, 0, [4]],
])('leases of a budget: %s', (_name, left, leased, need, partial, granted, holders) => {
  const { grant, texts } = decided(left, leased, need, partial);
  expect(grant).toMatchObject({ account: 7, granted, holders, max: left });
  // The first lease begins five hours for all.
  expect(texts).toHaveLength(granted > 0 ? 2 : 0);
  expect(grant?.budgetState).toEqual({ windowAt: granted > 0 ? 9000 : 0, used: 0 });
});
