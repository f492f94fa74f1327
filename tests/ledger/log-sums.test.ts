/** Sums that the ledger keeps of the log's rows. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import { sourcesOf } from '../../db/repositories/log-sums.ts';
import { addedUpFrom, allSums, expectEqualSums, variedSettlements } from './sum-cases.ts';
import { addUsers, openBooks, reserve, settle } from './support.ts';

let database: SqliteDatabase;
beforeEach(async () => {
  database = await openBooks();
  addUsers(database.raw, 1, 2);
});
afterEach(() => database.close());

const rows = (sql: string) => database.raw.prepare(sql).all();

test('every grouping says the same of hours and days as of the log, whatever the range begins and ends with', async () => {
  const store = createLedgerStore(database.raw);
  const commands = variedSettlements(240, 7);
  for (let from = 0; from < commands.length; from += 60) store.apply(commands.slice(from, from + 60));
  // Repeated ones count once.
  store.apply(commands.slice(0, 30));
  await expectEqualSums(database);
});

test('a row that is replaced by the request’s own end leaves the sums with it', async () => {
  const store = createLedgerStore(database.raw);
  const held = reserve('r', 1, 20);
  const names = { agent: 'a', session: 's' };
  store.apply([{ ...settle('r', 1, 20), log: { ...held.log, endReason: 'recovered', names } }]);
  const own = settle('r', 1, 35);
  store.apply([{ ...own, log: own.log === null ? null : { ...own.log, names: { agent: 'a', session: 't' } } }]);
  await addedUpFrom(database, null);
  const fromLog = await allSums(database);
  expect(rows('SELECT requests, errors, quota FROM log_sums')).toEqual([
    { requests: 1, errors: 0, quota: 35 },
    { requests: 1, errors: 0, quota: 35 },
  ]);
  expect(
    rows('SELECT kind, requests, quota FROM name_sums WHERE span = 86400 AND requests <> 0 ORDER BY kind'),
  ).toEqual([
    { kind: 'agent', requests: 1, quota: 35 },
    { kind: 'session', requests: 1, quota: 35 },
  ]);
  await addedUpFrom(database, 0);
  expect(await allSums(database)).toEqual(fromLog);
});

test('the first start of a file adds up from the next whole hour on, later ones go on', () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  const [first] = rows("SELECT CAST(value AS INTEGER) AS at FROM meta WHERE key = 'sums_from'") as { at: number }[];
  const now = Date.now() / 1000;
  expect((first?.at ?? 0) % 3600).toBe(0);
  expect(first?.at).toBeGreaterThan(now - 1);
  expect(first?.at).toBeLessThan(now + 3601);
  database.raw.exec("UPDATE meta SET value = '7200' WHERE key = 'sums_from'");
  store.nextEpoch();
  expect(rows("SELECT value FROM meta WHERE key = 'sums_from'")).toEqual([{ value: '7200' }]);
});

const day = 86_400;
test.each([
  ['a part of an hour is read from the log alone', { from: 3601, to: 7100 }, 0, null],
  ['nothing is added up before the beginning', { from: 0, to: 7199 }, 7200, null],
  [
    'hours within one day',
    { from: 3601, to: 14_399 },
    0,
    { days: [], hours: [{ from: 7200, to: 14_400 }], log: [{ from: 3601, to: 7200 }] },
  ],
  [
    'days, hours before and behind them, and what is left at both ends',
    { from: day - 5000, to: 3 * day + 4000 },
    0,
    {
      days: [{ from: day, to: 3 * day }],
      hours: [
        { from: day - 3600, to: day },
        { from: 3 * day, to: 3 * day + 3600 },
      ],
      log: [
        { from: day - 5000, to: day - 3600 },
        { from: 3 * day + 3600, to: 3 * day + 4001 },
      ],
    },
  ],
  [
    'what is older than the beginning is read from the log',
    { from: 0, to: 2 * day - 1 },
    day,
    { days: [{ from: day, to: 2 * day }], hours: [], log: [{ from: 0, to: day }] },
  ],
] as const)('%s', (_name, range, begin, expected) => {
  expect(sourcesOf(range, begin, 'both')).toEqual(expected);
});

test('sums of hours alone have no days, sums of days alone no hours', () => {
  const range = { from: day - 3600, to: 2 * day - 1 };
  expect(sourcesOf(range, 0, 'hours')).toEqual({ days: [], hours: [{ from: day - 3600, to: 2 * day }], log: [] });
  expect(sourcesOf(range, 0, 'days')).toEqual({
    days: [{ from: day, to: 2 * day }],
    hours: [],
    log: [{ from: day - 3600, to: day }],
  });
});
