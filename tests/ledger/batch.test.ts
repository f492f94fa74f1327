/** What a batch decides over PostgreSQL, from rows that were read and locked before: without a server. */
import { expect, test } from 'vitest';
import { decideBatch } from '../../db/ledger/postgres/batch.ts';
import type { Known } from '../../db/ledger/postgres/known.ts';
import { finalRef, type LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { settle } from './support.ts';

const epoch = 3;
const known = (more: Partial<Known> = {}): Known => ({
  accounts: new Map([[1, { id: 1, balance: 1000, leased: 0, version: 1, overrun: 0, paid_in: 0 }]]),
  system: new Map(),
  tokens: new Map(),
  leases: new Map(),
  ends: new Map(),
  holds: new Map(),
  postings: new Map(),
  codes: new Map(),
  orders: new Map(),
  invoices: new Map(),
  names: new Set(),
  nameCounts: new Map(),
  ...{ budgets: new Map(), refunded: new Map(), refundedFor: new Map(), budgetUse: new Map() },
  ...more,
});
const decide = (commands: readonly LedgerCommand[], more: Partial<Known> = {}) => {
  const { outcome, statements } = decideBatch(commands, known(more), epoch);
  return { results: outcome.results, written: JSON.stringify(statements), statements };
};
const nothing = decide([]).written;
const end = { account: 1, requested: 10, paid: 10, provisional: 0 };
const ends = (more: Partial<typeof end> = {}) => ({ ends: new Map([['a', { ...end, ...more }]]) });

test('a settlement that comes again is a duplicate and writes nothing, one for another amount a conflict', () => {
  expect(decide([settle('a', 1, 10), settle('a', 1, 10)]).results).toEqual([
    { status: 'done' },
    { status: 'duplicate' },
  ]);
  expect(decide([settle('a', 1, 10)], ends())).toMatchObject({ results: [{ status: 'duplicate' }], written: nothing });
  expect(decide([settle('a', 1, 11)], ends())).toMatchObject({ results: [{ status: 'conflict' }], written: nothing });
});

test('an interim settlement is settled once more, and interim only once', () => {
  const final = decide([settle('a', 1, 25)], ends({ provisional: 1 }));
  expect(final.results).toEqual([{ status: 'done' }]);
  expect(final.written).toContain(finalRef('a'));
  const again = decide([{ ...settle('a', 1, 25), provisional: true }], ends({ provisional: 1 }));
  expect(again).toMatchObject({ results: [{ status: 'duplicate' }], written: nothing });
});

test('a note is logged once, and is an end that nobody pays', () => {
  const { log } = settle('a', 1, 0);
  if (log === null) throw new Error('no log');
  const noted: LedgerCommand = { type: 'note', ref: 'a', log };
  const { results, statements } = decide([noted, noted]);
  expect(results).toEqual([{ status: 'done' }, { status: 'duplicate' }]);
  const ends = statements.find(({ text }) => text.startsWith('INSERT INTO ends'));
  expect(ends?.values?.slice(0, 5)).toEqual(['{"note:a"}', '{0}', '{0}', '{0}', '{0}']);
  // A note is no end of the request: it can be settled too.
  expect(decide([noted, settle('a', 1, 10)]).results).toEqual([{ status: 'done' }, { status: 'done' }]);
});
