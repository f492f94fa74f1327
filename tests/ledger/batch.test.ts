/** What a batch decides over PostgreSQL, from rows that were read and locked before: without a server. */
import { expect, test } from 'vitest';
import { decideBatch } from '../../db/ledger/postgres/batch.ts';
import type { Known } from '../../db/ledger/postgres/known.ts';
import { finalRef, type LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { settle } from './support.ts';

const epoch = 3;
const known = (more: Partial<Known> = {}): Known => ({
  accounts: new Map([[1, { id: 1, balance: 1000, leased: 0, version: 1, overrun: 0 }]]),
  system: new Map(),
  tokens: new Map(),
  leases: new Map(),
  ends: new Map(),
  holds: new Map(),
  postings: new Map(),
  codes: new Map(),
  orders: new Map(),
  ...more,
});
const decide = (commands: readonly LedgerCommand[], more: Partial<Known> = {}) => {
  const { outcome, statements } = decideBatch(commands, known(more), epoch);
  return { results: outcome.results, written: JSON.stringify(statements) };
};
const nothing = decide([]).written;
const end = { account: 1, requested: 10, paid: 10, provisional: 0 };
const ends = (more: Partial<typeof end> = {}) => ({ ends: new Map([['a', { ...end, ...more }]]) });

test('a settlement that comes again is a duplicate and writes nothing, one for another amount a conflict', () => {
  expect(decide([settle('a', 1, 10), settle('a', 1, 10)]).results).toEqual([
    { status: 'done' },
    { status: 'duplicate' },
  ]);
  expect(decide([settle('a', 1, 10)], ends())).toEqual({ results: [{ status: 'duplicate' }], written: nothing });
  expect(decide([settle('a', 1, 11)], ends())).toEqual({ results: [{ status: 'conflict' }], written: nothing });
});

test('what was settled for the time being is settled once more, and for the time being only once', () => {
  const final = decide([settle('a', 1, 25)], ends({ provisional: 1 }));
  expect(final.results).toEqual([{ status: 'done' }]);
  expect(final.written).toContain(finalRef('a'));
  const again = decide([{ ...settle('a', 1, 25), provisional: true }], ends({ provisional: 1 }));
  expect(again).toEqual({ results: [{ status: 'duplicate' }], written: nothing });
});
