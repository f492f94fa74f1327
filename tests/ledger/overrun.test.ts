import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../db/migrate.ts';
import { Account, type LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { openOld } from '../support/old-schema.ts';
import { type LedgerState, openSelectedLedger } from './open-ledger.ts';
import {
  addUsers,
  balanceOf,
  deduct,
  grant,
  redeem,
  refund,
  reserve,
  reward,
  settle,
  topUp,
  transfer,
  violations,
} from './support.ts';

let state: LedgerState;

beforeEach(async () => {
  state = await openSelectedLedger();
  await state.addUsers(1, 2);
});
afterEach(async () => {
  expect(await state.violations()).toEqual([]);
  await state.close();
});

const apply = async (...commands: readonly LedgerCommand[]) =>
  (await state.apply(...commands)).results.map(({ status }) => status);
const unpaid = async (id: number) =>
  (await state.rows<{ overrun: number }>('SELECT overrun FROM accounts WHERE id = ?', id))[0]?.overrun;
const balance = (id: number) => state.balance(id);
const each = <Value>(...values: readonly Promise<Value>[]) => Promise.all(values);

test('a settlement beyond the balance goes to overrun; the user stops at 0 and the log says both', async () => {
  await apply(grant('g', 1, 1010));
  const { results, events } = await state.apply(settle('r', 1, 1013));
  expect(results).toEqual([{ status: 'done' }]);
  expect(await each(balance(1), balance(Account.overrun), unpaid(1))).toEqual([0, -3, 3]);
  expect(await balance(Account.revenue)).toBe(1013);
  // The relay has taken 1013 off; it receives the 3 that another user paid.
  expect(events).toMatchObject([{ userId: 1, delta: 3, overrun: 3 }]);
  const [row] = await state.rows<{ quota: number; other: string }>('SELECT quota, other FROM logs');
  expect(row?.quota).toBe(1013);
  expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ overrun: 3, input: 1013 });
});

test('a repeated settlement is a duplicate at whatever balance it comes again; another amount is a conflict', async () => {
  for (const [n, before] of [1000, 40, 0].entries()) {
    const ref = `same${n}`;
    const rest = await balance(1);
    if (rest > 0) await apply(deduct(`d${n}`, 1, rest));
    if (before > 0) await apply(grant(`g${n}`, 1, before + ((await unpaid(1)) ?? 0)));
    expect(await balance(1)).toBe(before);
    expect(await apply(settle(ref, 1, 50))).toEqual(['done']);
    for (const again of [0, 5, 500]) {
      if (again > 0) await apply(grant(`again${n}-${again}`, 1, again));
      expect(await apply(settle(ref, 1, 50), settle(ref, 1, 51))).toEqual(['duplicate', 'conflict']);
    }
  }
});

test('overrun is taken from whatever the user is credited next, once, and never more than there is', async () => {
  await apply(settle('r', 1, 100));
  expect(await unpaid(1)).toBe(100);
  const { events } = await state.apply(grant('g', 1, 30));
  expect(events).toMatchObject([{ delta: 0, overrun: -30 }]);
  await state.addCode(1, 20);
  await state.addOrder('t', 1, 10);
  await apply(redeem(1, 1, 20), topUp('t', 1, 10), reward(2, 1, 15), transfer('n', 1, 15), refund('r', 1, 5));
  expect(await each(unpaid(1), balance(1))).toEqual([20, 0]);
  expect(await apply(grant('g2', 1, 50), grant('g2', 1, 50))).toEqual(['done', 'duplicate']);
  expect(await each(unpaid(1), balance(1), balance(Account.overrun))).toEqual([0, 30, 0]);
});

test('several settlements of one commit share what is there', async () => {
  await apply(grant('g', 1, 100));
  expect(await apply(settle('a', 1, 60), settle('b', 1, 60), grant('h', 1, 5), settle('c', 1, 7))).toEqual(
    Array(4).fill('done'),
  );
  expect(await each(balance(1), unpaid(1))).toEqual([0, 22]);
});

test('a settlement for an account that is not there is kept, by overrun', async () => {
  expect(await apply(settle('r', 9, 40), settle('r', 9, 40))).toEqual(['done', 'duplicate']);
  expect(await balance(Account.overrun)).toBe(-40);
});

test('self-use leaves the balance alone, whatever it costs, and counts as used', async () => {
  await apply(grant('g', 1, 10));
  const { events } = await state.apply({ ...settle('r', 1, 40), house: true });
  expect(events).toEqual([]);
  expect(await each(balance(1), balance(Account.house), unpaid(1))).toEqual([10, -40, 0]);
  expect(await state.rows('SELECT used_quota FROM accounts WHERE id = 1')).toEqual([{ used_quota: 40 }]);
});

test('a crash charges the house for what the house had begun', async () => {
  await state.apply({ ...reserve('h', 1, 25), house: true });
  await state.recover();
  expect(await each(balance(1), balance(Account.house))).toEqual([0, -25]);
});

test('no balance grows past what a number can say, and one that large can be taken back', async () => {
  const max = 10 ** 15;
  for (let n = 0; n < 9; n++) expect(await apply(grant(`g${n}`, 1, max))).toEqual(['done']);
  expect((await state.apply(grant('more', 1, max))).results).toMatchObject([
    { status: 'refused', reason: 'too_large' },
  ]);
  expect((await state.apply(grant('more', 2, max))).results).toMatchObject([
    { status: 'refused', reason: 'too_large' },
  ]);
  for (let n = 0; n < 9; n++) expect(await apply(deduct(`d${n}`, 1, max))).toEqual(['done']);
  expect(await balance(1)).toBe(0);
});

test('books that were below zero are brought to zero by the upgrade', async () => {
  const old = openOld(':memory:', '0004-sign-in');
  addUsers(old.raw, 1, 2);
  old.raw.exec(`INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES ('r', 1, -2, 3, 'settle', 5);
    UPDATE accounts SET balance = -3, used_quota = 3 WHERE id = 1; UPDATE accounts SET balance = 3 WHERE id = -2`);
  await migrate(old);
  expect([balanceOf(old.raw, 1), balanceOf(old.raw, Account.overrun)]).toEqual([0, -3]);
  expect(violations(old)).toEqual([]);
  await old.close();
});
