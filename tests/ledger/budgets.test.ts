import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import type { LedgerStore } from '../../server/billing/ports.ts';
import { addUsers, grant, openBooks, refund, reserve, settle, violations } from './support.ts';

let books: SqliteDatabase;
let store: LedgerStore;

beforeEach(async () => {
  books = await openBooks();
  addUsers(books.raw, 1, 2);
  store = createLedgerStore(books.raw);
  store.apply([grant('first', 1, 1000)]);
  const insert = books.raw.prepare(
    'INSERT INTO budgets (id, holder, subject, period, unit, amount, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 1000, 1, 1)',
  );
  insert.run(1, 'user', '1', 'day', 'money');
  insert.run(2, 'token', '1', 'total', 'requests');
  insert.run(3, 'site', '', 'day', 'tokens');
});
afterEach(() => {
  expect(violations(books)).toEqual([]);
  books.raw.close();
});

/** Of user 1: its money in the day, the key's requests, the site's tokens. */
const parts = [1, 7200, 0, 2, 0, 1, 3, 7200, 2];
const uses = () =>
  books.raw
    .prepare<[number, number, number]>('SELECT budget_id, window_at, used FROM budget_use ORDER BY 1, 2')
    .raw()
    .all();
const change = (budgetId: number, delta: number, windowAt = 7200) =>
  ({ type: 'budget', ref: `${budgetId} ${delta}`, budgetId, windowAt, delta }) as const;

test('a settlement counts in its budgets, each in its unit, once', () => {
  const ended = { ...settle('a', 1, 30), budgets: parts };
  store.apply([ended, { ...settle('b', 1, 12), budgets: [1, 7200, 0] }]);
  store.apply([ended]);
  expect(uses()).toEqual([
    [1, 7200, 42],
    [2, 0, 1],
    [3, 7200, ended.tokens],
  ]);
});

test('a request that a crash left open counts in the budgets that its hold names', () => {
  store.nextEpoch();
  const held = reserve('a', 1, 30);
  store.apply([{ ...held, log: { ...held.log, endReason: 'recovered' }, budgets: parts }]);
  recover(createLedgerStore(books.raw));
  expect(uses()).toEqual([
    [1, 7200, 30],
    [2, 0, 1],
    [3, 7200, 30],
  ]);
  // Its own end, found later, says more: the money is corrected, the request was counted.
  store.apply([{ ...settle('a', 1, 50), budgets: parts }]);
  expect(uses().map(([, , used]) => used)).toEqual([50, 1, 30]);
});

test('a refund lowers use in the window of its settlement', () => {
  store.apply([{ ...settle('a', 1, 30), budgets: parts }]);
  const { events } = store.apply([refund('a', 1, 20)]);
  expect(uses()).toContainEqual([1, 7200, 10]);
  expect(events).toContainEqual({ kind: 'budget', budgetId: 1, windowAt: 7200, delta: -20 });
  store.apply([{ ...settle('b', 1, 5), at: 93_600, budgets: [1, 93_600, 0] }]);
  store.apply([{ ...settle('c', 1, 7), budgets: [1, 7200, 0] }]);
  store.apply([refund('c', 1, 7)]);
  expect(uses()).toContainEqual([1, 93_600, 5]);
  expect(uses()).toContainEqual([1, 7200, 10]);
});

test('a refund goes back to the budgets of all labels of its key, and of no other label', () => {
  books.raw.exec("UPDATE tokens SET labels = 'red,blue' WHERE id = 1; UPDATE tokens SET labels = 'green' WHERE id = 2");
  const insert = books.raw.prepare(
    "INSERT INTO budgets (id, holder, subject, period, unit, amount, created_at, updated_at) VALUES (?, 'label', ?, 'day', 'money', 1000, 1, 1)",
  );
  for (const [at, label] of ['red', 'blue', 'green', 'blu'].entries()) insert.run(11 + at, label);
  store.apply([{ ...settle('a', 1, 30), budgets: [11, 7200, 0, 12, 7200, 0] }]);
  store.apply([{ ...settle('b', 2, 30), budgets: [13, 7200, 0, 14, 7200, 0] }]);
  store.apply([refund('a', 1, 20)]);
  expect(uses()).toEqual([
    [11, 7200, 10],
    [12, 7200, 10],
    [13, 7200, 30],
    [14, 7200, 30],
  ]);
});

test('a count by hand never takes off more than was used, and says what it changed', () => {
  const first = store.apply([{ ...settle('a', 1, 30), budgets: parts }, change(1, -1000)]);
  expect(first.events).toEqual([{ kind: 'budget', budgetId: 1, windowAt: 7200, delta: -30 }]);
  expect(uses()).toContainEqual([1, 7200, 0]);
  expect(store.apply([change(1, 12)]).events).toMatchObject([{ delta: 12 }]);
  expect(uses()).toContainEqual([1, 7200, 12]);
  store.apply([change(1, -12)]);
});

test('a budget that is gone counts nothing', () => {
  books.raw.exec('DELETE FROM budgets WHERE id = 1');
  store.apply([{ ...settle('a', 1, 30), budgets: parts }, change(1, 5)]);
  expect(uses().map(([id]) => id)).toEqual([2, 3]);
});

test('the check of the books finds a use that was never settled', () => {
  store.apply([{ ...settle('a', 1, 30), budgets: parts }]);
  books.raw.exec('UPDATE budget_use SET used = 31 WHERE budget_id = 1');
  expect(violations(books)).toMatchObject([{ id: 'I13', examples: ['budget 1: 31 > 30'] }]);
  books.raw.exec('UPDATE budget_use SET used = 30 WHERE budget_id = 1');
});
