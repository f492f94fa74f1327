/** How the ledger turns names in rows of the log into numbers. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nameNumber } from '../../db/ledger/names.ts';
import { decideBatch } from '../../db/ledger/postgres/batch.ts';
import { type Known, nameKey, readsFor } from '../../db/ledger/postgres/known.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import type { Settle } from '../../server/billing/ledger/commands.ts';
import { type Names, newNamesADay, otherName } from '../../server/contract/names.ts';
import { addUsers, openBooks, settle } from './support.ts';

let database: SqliteDatabase;
beforeEach(async () => {
  database = await openBooks();
  addUsers(database.raw, 1, 2);
});
afterEach(() => database.close());

const day = 20_000;
/** A settlement whose row names somebody. */
const named = (ref: string, userId: number, names: Names, onDay = day): Settle => {
  const command = settle(ref, userId, 5);
  if (command.log === null) throw new Error('it has a row');
  return { ...command, log: { ...command.log, createdAt: onDay * 86_400 + 7, names } };
};
const rows = (sql: string) => database.raw.prepare(sql).all();
const sessions = () => rows('SELECT request_id, session_id FROM logs ORDER BY request_id');
/** As if a user had given so many new names on a day. */
const fill = (userId: number, count: number, onDay = day) =>
  database.raw
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 9 + ?)
       INSERT INTO names (user_id, id, kind, text, day) SELECT ?, i, 'prompt', 'p' || i, ? FROM n`,
    )
    .run(count, userId, onDay);

test('each kind of name has a number, equal names of a user the same, and nobody else has it', () => {
  const store = createLedgerStore(database.raw);
  const all = { agent: 'a', session: 'a', project: 'a', end_user: 'a', subagent: 'a', prompt: 'a' };
  store.apply([named('r1', 1, all), named('r2', 1, { session: 'a' }), named('r3', 2, { session: 'a' })]);
  store.apply([named('r4', 1, { session: 'a' }), settle('r5', 1, 5)]);
  const mine = nameNumber(1, 'session', 'a');
  expect(rows("SELECT * FROM logs WHERE request_id = 'r1'")).toMatchObject([
    {
      agent_id: nameNumber(1, 'agent', 'a'),
      session_id: mine,
      project_id: nameNumber(1, 'project', 'a'),
      end_user_id: nameNumber(1, 'end_user', 'a'),
      subagent_id: nameNumber(1, 'subagent', 'a'),
      prompt_id: nameNumber(1, 'prompt', 'a'),
    },
  ]);
  expect(sessions()).toEqual([
    { request_id: 'r1', session_id: mine },
    { request_id: 'r2', session_id: mine },
    { request_id: 'r3', session_id: nameNumber(2, 'session', 'a') },
    { request_id: 'r4', session_id: mine },
    { request_id: 'r5', session_id: 0 },
  ]);
  expect(rows('SELECT user_id, kind, text, day FROM names ORDER BY user_id, kind')).toEqual([
    ...['agent', 'end_user', 'project', 'prompt', 'session', 'subagent'].map((kind) => ({
      ...{ user_id: 1, kind, text: 'a', day },
    })),
    { user_id: 2, kind: 'session', text: 'a', day },
  ]);
  expect(new Set(rows('SELECT id FROM names').map((row) => (row as { id: number }).id)).size).toBe(7);
});

test('a name that is in the table is found by another process', () => {
  createLedgerStore(database.raw).apply([named('r1', 1, { session: 'a' })]);
  createLedgerStore(database.raw).apply([named('r2', 1, { session: 'a' })]);
  expect(rows('SELECT count(*) AS n FROM names')).toEqual([{ n: 1 }]);
});

test(`a user's new names of a day are kept up to ${newNamesADay}; known ones, other users and other days go on`, () => {
  const store = createLedgerStore(database.raw);
  store.apply([named('r0', 1, { session: 'old' }, day - 1)]);
  fill(1, newNamesADay - 1);
  store.apply([
    named('r1', 1, { session: 'last' }),
    named('r2', 1, { session: 'beyond' }),
    named('r3', 1, { session: 'last' }),
    named('r4', 1, { session: 'old' }),
    named('r5', 2, { session: 'beyond' }),
    named('r6', 1, { session: 'tomorrow' }, day + 1),
  ]);
  expect(sessions()).toEqual([
    { request_id: 'r0', session_id: nameNumber(1, 'session', 'old') },
    { request_id: 'r1', session_id: nameNumber(1, 'session', 'last') },
    { request_id: 'r2', session_id: otherName },
    { request_id: 'r3', session_id: nameNumber(1, 'session', 'last') },
    { request_id: 'r4', session_id: nameNumber(1, 'session', 'old') },
    { request_id: 'r5', session_id: nameNumber(2, 'session', 'beyond') },
    { request_id: 'r6', session_id: nameNumber(1, 'session', 'tomorrow') },
  ]);
});

test('names that a rollback took away are learnt again', () => {
  const store = createLedgerStore(database.raw);
  database.raw.exec(
    "CREATE TRIGGER stops BEFORE INSERT ON logs WHEN NEW.request_id = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END",
  );
  expect(() => store.apply([named('r1', 1, { session: 'a' }), named('bad', 1, { session: 'a' })])).toThrow('no');
  expect(rows('SELECT * FROM names')).toEqual([]);
  store.apply([named('r2', 1, { session: 'a' })]);
  expect(rows('SELECT text FROM names')).toEqual([{ text: 'a' }]);
});

test('a settlement that comes again leaves its row and its names as they are', () => {
  const store = createLedgerStore(database.raw);
  store.apply([named('r1', 1, { session: 'a' })]);
  expect(store.apply([named('r1', 1, { session: 'b' })]).results).toEqual([{ status: 'duplicate' }]);
  expect(sessions()).toEqual([{ request_id: 'r1', session_id: nameNumber(1, 'session', 'a') }]);
});

const known = (more: Partial<Known> = {}): Known => ({
  accounts: new Map([1, 2].map((id) => [id, { id, balance: 1000, leased: 0, version: 1, overrun: 0, paid_in: 0 }])),
  ...{
    system: new Map(),
    tokens: new Map(),
    leases: new Map(),
    ends: new Map(),
    holds: new Map(),
    refundedFor: new Map(),
  },
  ...{
    postings: new Map(),
    codes: new Map(),
    orders: new Map(),
    invoices: new Map(),
    names: new Set(),
    nameCounts: new Map(),
  },
  ...{ budgets: new Map(), refunded: new Map(), budgetUse: new Map() },
  ...more,
});
const inserts = (commands: readonly Settle[], more: Partial<Known> = {}) =>
  decideBatch(commands, known(more), 3)
    .statements.filter(({ text }) => /INSERT INTO (names|logs) /.test(text))
    .map(({ text, values }) => [/INTO (\w+)/.exec(text)?.[1], JSON.stringify(values)] as const);

test('over PostgreSQL, names go before their rows, ordered, each once', () => {
  const written = inserts([
    named('r1', 2, { session: 'a', agent: 'x' }),
    named('r2', 1, { session: 'a' }),
    named('r3', 1, { session: 'a' }),
  ]);
  expect(written.map(([table]) => table)).toEqual(['names', 'logs']);
  const users = JSON.parse(written[0]?.[1] ?? '[]') as string[];
  expect(users[0]).toBe('{1,2,2}');
  expect(written[1]?.[1]).toContain(String(nameNumber(1, 'session', 'a')));
});

test('over PostgreSQL, names that the table has are not written, and what is beyond the day is nobody', () => {
  const id = nameNumber(1, 'session', 'a');
  expect(
    inserts([named('r1', 1, { session: 'a' })], { names: new Set([nameKey(1, id)]) }).map(([table]) => table),
  ).toEqual(['logs']);
  const [first, ...more] = inserts([named('r1', 1, { session: 'a' })], {
    nameCounts: new Map([[nameKey(1, day), newNamesADay]]),
  });
  expect(first?.[0]).toBe('logs');
  expect(more).toEqual([]);
  expect(first?.[1]).not.toContain(String(id));
});

test('the database is asked about names only where rows have some that are not known', () => {
  const asked = (command: Settle, before?: ReturnType<typeof decideBatch>['names']) =>
    readsFor([command], before).statements.filter(({ text }) => text.includes('names')).length;
  expect(asked(settle('r', 1, 5))).toBe(0);
  expect(asked(named('r', 1, { session: 'a' }))).toBe(2);
  const { names } = decideBatch([named('r', 1, { session: 'a' })], known(), 3);
  expect(asked(named('r2', 1, { session: 'a' }), names)).toBe(0);
  expect(asked(named('r2', 1, { session: 'b' }), names)).toBe(2);
});
