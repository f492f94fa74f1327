import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../db/open.ts';
import type { Hold, LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { LedgerEngine } from '../../server/billing/ledger/engine.ts';
import { recover } from '../../server/billing/ledger/recovery.ts';
import { createDirectLedger } from '../../server/threads/ledger/direct.ts';
import { diskFolder } from '../support/disk-folder.ts';
import { addUsers, balanceOf, deduct, grant, log, openBooks, reserve, settle, violations } from './support.ts';

let dir: string;
let database: SqliteDatabase;

const open = () => openBooks(join(dir, 'ledger.db'));

beforeEach(async () => {
  dir = diskFolder('ledger');
  database = await open();
  addUsers(database.raw, 1, 2);
});
afterEach(async () => {
  if (database.raw.open) await database.close();
  rmSync(dir, { recursive: true, force: true });
});

const balance = (id: number) => balanceOf(database.raw, id);
const broken = () => violations(database);

test('a settlement moves money, counters, hour and log together', async () => {
  const ledger = createDirectLedger(database);
  await ledger.execute(grant('g', 1, 1000));
  expect(await ledger.execute(settle('r1', 1, 300))).toEqual({ status: 'done' });
  expect(balance(1)).toBe(700);
  expect(database.raw.prepare('SELECT used_quota, request_count FROM accounts WHERE id = 1').get()).toEqual({
    used_quota: 300,
    request_count: 1,
  });
  expect(database.raw.prepare('SELECT used_quota FROM tokens WHERE id = 1').get()).toEqual({ used_quota: 300 });
  expect(database.raw.prepare('SELECT count, tokens, quota FROM usage_hours').get()).toEqual({
    count: 1,
    tokens: 300,
    quota: 300,
  });
  expect(database.raw.prepare('SELECT quota FROM logs').get()).toEqual({ quota: 300 });
  expect(broken()).toEqual([]);
});

test('the same ref counts once; another amount under it is a conflict', async () => {
  const ledger = createDirectLedger(database);
  await ledger.execute(grant('g', 1, 1000));
  const results = await Promise.all(
    [settle('r', 1, 5), settle('r', 1, 5), settle('r', 1, 6)].map((command) => ledger.execute(command)),
  );
  expect(results.map((result) => result.status)).toEqual(['done', 'duplicate', 'conflict']);
  expect((await ledger.execute(settle('r', 1, 5))).status).toBe('duplicate');
  expect((await ledger.execute(grant('g', 1, 1000))).status).toBe('duplicate');
  expect(balance(1)).toBe(995);
  expect(broken()).toEqual([]);
});

test.each([
  ['negative', settle('r', 1, -1)],
  ['fraction', settle('r', 1, 0.5)],
  ['not a number', settle('r', 1, Number.NaN)],
  ['too large', settle('r', 1, 1e16)],
  ['nobody', grant('r', 99, 5)],
  ['nothing granted', grant('r', 1, 0)],
  ['more than there is', deduct('r', 1, 1)],
  ['no ref', settle('', 1, 1)],
])('refused: %s', async (_name, command) => {
  const ledger = createDirectLedger(database);
  const [bad, good] = await Promise.all([ledger.execute(command), ledger.execute(grant('g', 1, 7))]);
  expect(bad.status).toBe('refused');
  expect(good.status).toBe('done');
  expect(balance(1)).toBe(7);
  expect(broken()).toEqual([]);
});

test('a crash leaves holds that recovery settles as observed, or voids, once', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000)]);
  store.apply([reserve('seen', 1, 40), reserve('unseen', 1, 0), reserve('ended', 1, 30)]);
  store.apply([settle('ended', 1, 30)]);
  await database.close();
  database = await open();
  const report = recover(createLedgerStore(database.raw));
  expect(report).toMatchObject({ settled: 1, voided: 1 });
  expect(balance(1)).toBe(1000 - 40 - 30);
  expect(recover(createLedgerStore(database.raw))).toMatchObject({ settled: 0, voided: 0 });
  expect(broken()).toEqual([]);
});

test('a full disk refuses new work, keeps settlements and writes them when there is room again', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000)]);
  let full = true;
  const engine = new LedgerEngine({
    store: {
      ...store,
      apply: (commands) => {
        if (full) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
        return store.apply(commands);
      },
    },
    onBalance: () => undefined,
    onHealth: () => undefined,
  });
  const results: unknown[] = [];
  engine.submit(settle('kept', 1, 10), (result) => results.push(result));
  engine.submit(grant('refused', 1, 10), (result) => results.push(result));
  await expect.poll(() => results.length).toBe(1);
  expect(results[0]).toMatchObject({ code: 'storage_unavailable' });
  expect(engine.health()).toMatchObject({ ok: false, reason: 'database or disk is full' });
  full = false;
  await engine.drain();
  expect(results[1]).toEqual({ status: 'done' });
  expect(engine.health()).toEqual({ ok: true });
  expect(balance(1)).toBe(990);
});

test('a settlement that got through before the crash stays the only one, and its hold goes away', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 100), settle('r', 1, 30)]);
  store.apply([reserve('r', 1, 20)]);
  recover(createLedgerStore(database.raw));
  expect(balance(1)).toBe(70);
  expect(recover(createLedgerStore(database.raw))).toMatchObject({ settled: 0, voided: 0 });
});

const holds = () => database.raw.prepare('SELECT ref FROM holds').pluck().all();

test('a hold and the end of its request in one batch leave no hold', () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000), reserve('r', 1, 20), settle('r', 1, 30), reserve('v', 1, 20)]);
  expect(holds()).toEqual(['v']);
  store.apply([{ type: 'void', ref: 'v', log: null }]);
  expect(holds()).toEqual([]);
  // The same after a batch that had to be written row by row, because one of it was there already.
  store.apply([reserve('s', 1, 20), settle('r', 1, 30), settle('s', 1, 40)]);
  expect(holds()).toEqual([]);
  expect(balance(1)).toBe(1000 - 30 - 40);
});

/** What a checkpoint writes down, as a relay words it. */
const checkpoint = (ref: string, userId: number, observed: number): Hold => {
  const hold = reserve(ref, userId, observed);
  return { ...hold, log: { ...hold.log, endReason: 'recovered' } };
};
const rowOf = (ref: string) =>
  database.raw.prepare('SELECT quota, end_reason AS end FROM logs WHERE request_id = ?').all(ref);
const used = () => database.raw.prepare('SELECT used_quota FROM tokens WHERE id = 1').pluck().get();

test.each([
  ['more', 30],
  ['less', 5],
  ['the same', 20],
])('an end that is found after recovery charged its checkpoint corrects it, once: %s', (_name, amount) => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000), checkpoint('r', 1, 20)]);
  recover(store);
  expect([balance(1), rowOf('r')]).toEqual([980, [{ quota: 20, end: 'recovered' }]]);
  for (let time = 0; time < 3; time++) {
    const [result] = store.apply([settle('r', 1, amount)]).results;
    expect(result).toEqual({ status: time === 0 ? 'done' : 'duplicate' });
    expect([balance(1), rowOf('r'), used()]).toEqual([1000 - amount, [{ quota: amount, end: 'completed' }], amount]);
  }
  expect(store.apply([settle('r', 1, amount + 7)]).results).toEqual([{ status: 'conflict' }]);
  expect(balance(1)).toBe(1000 - amount);
  expect(broken()).toEqual([]);
});

test('an end that owes nothing gives back what recovery charged', () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000), checkpoint('r', 1, 20)]);
  recover(store);
  const end: LedgerCommand = { type: 'void', ref: 'r', log: { ...log('r', 1, 0), endReason: 'client_gone' } };
  expect(store.apply([end]).results).toEqual([{ status: 'done' }]);
  expect(store.apply([end]).results).toEqual([{ status: 'duplicate' }]);
  expect([balance(1), rowOf('r'), used()]).toEqual([1000, [{ quota: 0, end: 'client_gone' }], 0]);
  expect(broken()).toEqual([]);
});

test('the unpaid part of a recovered request is paid back before its balance', () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 10), checkpoint('r', 1, 20)]);
  recover(store);
  expect(balance(1)).toBe(0);
  store.apply([settle('r', 1, 25)]);
  expect(balance(1)).toBe(0);
  store.apply([grant('h', 1, 100)]);
  expect(balance(1)).toBe(100 - 15);
  expect(broken()).toEqual([]);
});

test('another amount for what was charged and not recovered is a conflict, as before', () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000), settle('r', 1, 20)]);
  expect(store.apply([settle('r', 1, 30)]).results).toEqual([{ status: 'conflict' }]);
  expect([balance(1), rowOf('r')]).toEqual([980, [{ quota: 20, end: 'completed' }]]);
});

test('a call with a fixed price and no tokens counts like any other', async () => {
  const ledger = createDirectLedger(database);
  await ledger.execute(grant('g', 1, 100));
  await ledger.execute({ ...settle('r', 1, 30), tokens: 0 });
  expect(database.raw.prepare('SELECT used_quota FROM tokens WHERE id = 1').get()).toEqual({ used_quota: 30 });
  expect(broken()).toEqual([]);
});

test('50,000 settlements wait for the disk without holding up the thread, then no paid work is admitted', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1_000_000)]);
  let full = true;
  const stalls: number[] = [];
  const engine = new LedgerEngine({
    store: {
      ...store,
      apply: (commands) => {
        if (!full) return store.apply(commands);
        const startedAt = performance.now();
        setImmediate(() => stalls.push(performance.now() - startedAt));
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      },
    },
    onBalance: () => undefined,
    onHealth: () => undefined,
  });
  for (let n = 0; n < 50_000; n++) engine.submit(settle(`r${n}`, 1, 1), () => undefined);
  await expect.poll(() => stalls.length).toBeGreaterThan(4);
  // A machine that is busy holds it up now and then, and not each time.
  expect(Math.min(...stalls)).toBeLessThan(250);
  expect(engine.health().ok).toBe(false);
  full = false;
  await engine.drain();
  expect(balance(1)).toBe(950_000);
  expect(engine.health()).toEqual({ ok: true });
});

/** The books on a driver whose commits fail as long as `broken` says how. */
async function failing(broken: (commands: readonly LedgerCommand[]) => Error | null) {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000)]);
  const healths: boolean[] = [];
  const engine = new LedgerEngine({
    store: {
      ...store,
      apply: (commands) => {
        const error = broken(commands);
        if (error !== null) throw error;
        return store.apply(commands);
      },
      probe: () => {
        const error = broken([]);
        if (error !== null) throw error;
      },
    },
    onBalance: () => undefined,
    onHealth: (health) => healths.push(health.ok),
  });
  const results: unknown[] = [];
  return {
    engine,
    healths,
    results,
    submit: (command: LedgerCommand) => engine.submit(command, (one) => results.push(one)),
  };
}
const driverError = (code: string) => Object.assign(new Error(code), { code });

test.each([
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_CORRUPT_INDEX',
  'SQLITE_PROTOCOL',
  'SQLITE_IOERR_FSYNC',
  'SQLITE_ERROR',
])(
  '%s never drops a settlement: paid work stops with the first failed commit, and what is owed is written when that is over',
  async (code) => {
    let broken = true;
    const { engine, healths, results, submit } = await failing(() => (broken ? driverError(code) : null));
    submit(settle('r1', 1, 10));
    submit(settle('r2', 1, 20));
    submit(grant('refused', 1, 10));
    await expect.poll(() => engine.health().ok).toBe(false);
    expect(engine.health()).toMatchObject({ reason: code });
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({ code: 'storage_unavailable' });
    broken = false;
    await engine.drain();
    await expect.poll(() => engine.health().ok).toBe(true);
    expect(results.slice(1)).toEqual([{ status: 'done' }, { status: 'done' }]);
    expect(healths).toEqual([false, true]);
    expect(balance(1)).toBe(970);
  },
);

test('a settlement that the schema turns down is kept and stops paid work, the others are written', async () => {
  let broken = true;
  const { engine, results, submit } = await failing((commands) =>
    broken && commands.some(({ ref }) => ref === 'bad') ? driverError('SQLITE_CONSTRAINT_CHECK') : null,
  );
  submit(settle('good', 1, 10));
  submit(settle('bad', 1, 20));
  submit(settle('also good', 1, 30));
  await expect.poll(() => results.length).toBe(2);
  expect(engine.health()).toEqual({ ok: false, reason: 'bad: SQLITE_CONSTRAINT_CHECK' });
  expect(balance(1)).toBe(960);
  broken = false;
  await engine.drain();
  expect(balance(1)).toBe(940);
  expect(engine.health()).toEqual({ ok: true });
});

test('trouble that ends without requests is noticed by a write of our own', async () => {
  let broken = true;
  const { engine, submit } = await failing(() => (broken ? driverError('SQLITE_FULL') : null));
  submit(grant('refused', 1, 10));
  await expect.poll(() => engine.health().ok).toBe(false);
  broken = false;
  await expect.poll(() => engine.health().ok).toBe(true);
});
