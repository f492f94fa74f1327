import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger-store.ts';
import { migrations } from '../../db/migrate.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import { openDatabase } from '../../db/open.ts';
import { Account } from '../../server/ledger/commands.ts';
import { recover } from '../../server/ledger/recovery.ts';
import {
  addCode,
  addOrder,
  addUsers,
  balanceOf,
  deduct,
  grant,
  hold,
  openBooks,
  redeem,
  refund,
  reward,
  settle,
  topUp,
  transfer,
  violations,
} from './support.ts';

let database: SqliteDatabase;
let store: ReturnType<typeof createLedgerStore>;

beforeEach(async () => {
  database = await openBooks();
  addUsers(database.raw, 1, 2);
  store = createLedgerStore(database.raw);
});
afterEach(async () => {
  expect(violations(database)).toEqual([]);
  await database.close();
});

const apply = (...commands: Parameters<typeof store.apply>[0]) =>
  store.apply(commands).results.map(({ status }) => status);
const unpaid = (id: number) =>
  Number(database.raw.prepare<number>('SELECT overrun FROM accounts WHERE id = ?').pluck().get(id));

test('M2: what a settlement costs beyond the balance goes to overrun; the user stops at 0 and the log says both', () => {
  apply(grant('g', 1, 1010));
  const { results, events } = store.apply([settle('r', 1, 1013)]);
  expect(results).toEqual([{ status: 'done' }]);
  expect([balanceOf(database.raw, 1), balanceOf(database.raw, Account.overrun), unpaid(1)]).toEqual([0, -3, 3]);
  expect(balanceOf(database.raw, Account.revenue)).toBe(1013);
  // The relay has taken 1013 off; it is told of the 3 that somebody else paid.
  expect(events).toMatchObject([{ userId: 1, delta: 3, overrun: 3 }]);
  const row = database.raw.prepare<{ quota: number; other: string }>('SELECT quota, other FROM logs').all()[0];
  expect(row?.quota).toBe(1013);
  expect(JSON.parse(row?.other ?? '{}')).toMatchObject({ overrun: 3, input: 1013 });
});

test('M2: a repeated settlement is a duplicate at whatever balance it comes again; another amount is a conflict', () => {
  for (const [n, before] of [1000, 40, 0].entries()) {
    const ref = `same${n}`;
    const rest = balanceOf(database.raw, 1);
    if (rest > 0) apply(deduct(`d${n}`, 1, rest));
    if (before > 0) apply(grant(`g${n}`, 1, before + unpaid(1)));
    expect(balanceOf(database.raw, 1)).toBe(before);
    expect(apply(settle(ref, 1, 50))).toEqual(['done']);
    for (const again of [0, 5, 500]) {
      if (again > 0) apply(grant(`again${n}-${again}`, 1, again));
      expect(apply(settle(ref, 1, 50), settle(ref, 1, 51))).toEqual(['duplicate', 'conflict']);
    }
  }
});

test('M2: overrun is taken from whatever the user is credited next, once, and never more than there is', () => {
  apply(settle('r', 1, 100));
  expect(unpaid(1)).toBe(100);
  const { events } = store.apply([grant('g', 1, 30)]);
  expect(events).toMatchObject([{ delta: 0, overrun: -30 }]);
  addCode(database.raw, 1, 20);
  addOrder(database.raw, 't', 1, 10);
  apply(redeem(1, 1, 20), topUp('t', 1, 10), reward(2, 1, 15), transfer('n', 1, 15), refund('r', 1, 5));
  expect([unpaid(1), balanceOf(database.raw, 1)]).toEqual([20, 0]);
  expect(apply(grant('g2', 1, 50), grant('g2', 1, 50))).toEqual(['done', 'duplicate']);
  expect([unpaid(1), balanceOf(database.raw, 1), balanceOf(database.raw, Account.overrun)]).toEqual([0, 30, 0]);
});

test('M2: several settlements of one commit share what is there', () => {
  apply(grant('g', 1, 100));
  expect(apply(settle('a', 1, 60), settle('b', 1, 60), grant('h', 1, 5), settle('c', 1, 7))).toEqual(
    Array(4).fill('done'),
  );
  expect([balanceOf(database.raw, 1), unpaid(1)]).toEqual([0, 22]);
});

test('a settlement for an account that is not there is kept, by overrun', () => {
  expect(apply(settle('r', 9, 40), settle('r', 9, 40))).toEqual(['done', 'duplicate']);
  expect(balanceOf(database.raw, Account.overrun)).toBe(-40);
});

test('what the house pays leaves the balance alone, whatever it is, and is counted as used', () => {
  apply(grant('g', 1, 10));
  const { events } = store.apply([{ ...settle('r', 1, 40), house: true }]);
  expect(events).toEqual([]);
  expect([balanceOf(database.raw, 1), balanceOf(database.raw, Account.house), unpaid(1)]).toEqual([10, -40, 0]);
  const used = database.raw.prepare<number>('SELECT used_quota FROM accounts WHERE id = 1').pluck().get();
  expect(used).toBe(40);
});

test('a crash charges the house for what the house had begun', () => {
  store.apply([{ ...hold('h', 1, 25), house: true }]);
  recover(store);
  expect([balanceOf(database.raw, 1), balanceOf(database.raw, Account.house)]).toEqual([0, -25]);
});

test('M17: no balance grows past what a number can say, and one that large can be taken back', () => {
  const most = 10 ** 15;
  for (let n = 0; n < 9; n++) expect(apply(grant(`g${n}`, 1, most))).toEqual(['done']);
  expect(store.apply([grant('more', 1, most)]).results).toMatchObject([{ status: 'refused', reason: 'too_large' }]);
  expect(store.apply([grant('more', 2, most)]).results).toMatchObject([{ status: 'refused', reason: 'too_large' }]);
  for (let n = 0; n < 9; n++) expect(apply(deduct(`d${n}`, 1, most))).toEqual(['done']);
  expect(balanceOf(database.raw, 1)).toBe(0);
});

test('M2: books that were below zero are brought to zero by the upgrade', async () => {
  const old = openDatabase(':memory:');
  const names = Object.keys(migrations).sort();
  const upgrade = names.find((name) => name.includes('overrun')) ?? '';
  for (const name of names) if (name < upgrade) await migrations[name]?.up(old.query);
  addUsers(old.raw, 1, 2);
  old.raw.exec(`INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES ('r', 1, -2, 3, 'settle', 5);
    UPDATE accounts SET balance = -3, used_quota = 3 WHERE id = 1; UPDATE accounts SET balance = 3 WHERE id = -2`);
  await migrations[upgrade]?.up(old.query);
  expect([balanceOf(old.raw, 1), balanceOf(old.raw, Account.overrun)]).toEqual([0, -3]);
  expect(violations(old)).toEqual([]);
  await old.close();
});
