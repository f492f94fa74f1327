import { expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import {
  addCode,
  addOrder,
  addUsers,
  breakable,
  deduct,
  grant,
  log,
  openBooks,
  redeem,
  refund,
  reserve,
  reward,
  settle,
  topUp,
  transfer,
  violations,
} from './support.ts';

const tables = [
  'accounts',
  'postings',
  'holds',
  'logs',
  'usage_hours',
  'tokens',
  'channels',
  'users',
  'redemptions',
  'top_ups',
];

test.each<[string, LedgerCommand]>([
  ['settle', settle('r', 1, 20)],
  ['hold', reserve('h2', 1, 5)],
  ['void', { type: 'void', ref: 'h', log: null }],
  ['note', { type: 'note', ref: 'n', log: log('n', 1, 0) }],
  ['grant', grant('g2', 1, 5)],
  ['deduct', deduct('d', 1, 5)],
  ['redeem', redeem(1, 1, 500)],
  ['topup', topUp('T1', 1, 700)],
  ['reward', reward(7, 1, 10)],
  ['transfer', transfer('n', 1, 40)],
  ['refund', refund('old', 1, 30)],
])('%s: whichever write fails, all is there or nothing', async (_name, command) => {
  const database = await openBooks();
  addUsers(database.raw, 1, 2);
  addCode(database.raw, 1, 500);
  addOrder(database.raw, 'T1', 1, 700);
  const disk = breakable(database.raw);
  const store = createLedgerStore(disk.raw);
  store.apply([grant('g', 1, 100), settle('old', 1, 30), reward(2, 1, 40), reserve('h', 1, 1)]);
  const everything = () => JSON.stringify(tables.map((table) => database.raw.prepare(`SELECT * FROM ${table}`).all()));
  const before = everything();
  let failed = 0;
  for (let n = 1; ; n++) {
    disk.arm(n);
    try {
      expect(store.apply([command]).results).toEqual([{ status: 'done' }]);
      break;
    } catch (error) {
      expect(error).toMatchObject({ code: 'SQLITE_FULL' });
      failed++;
      expect(everything()).toBe(before);
    }
  }
  expect(failed).toBe(disk.disarm());
  expect(failed).toBeGreaterThan(0);
  expect(everything()).not.toBe(before);
  expect(violations(database)).toEqual([]);
  await database.close();
});
