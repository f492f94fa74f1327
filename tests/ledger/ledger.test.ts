import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLedgerStore } from '../../db/ledger-store.ts';
import { migrate } from '../../db/migrate.ts';
import { type Database, openDatabase } from '../../db/open.ts';
import type { LedgerCommand, LogEntry, Settle } from '../../server/ledger/commands.ts';
import { createDirectLedger } from '../../server/ledger/direct.ts';
import { createEngine } from '../../server/ledger/engine.ts';
import { recover } from '../../server/ledger/recovery.ts';
import { verifyLedger } from '../../server/ledger/verify.ts';

let dir: string;
let database: Database;

const open = async () => {
  const opened = openDatabase(join(dir, 'ledger.db'));
  await migrate(opened);
  return opened;
};

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ledger-'));
  database = await open();
  database.raw.exec(`INSERT INTO users (id, username, password_hash, created_at) VALUES (1, 'a', 'x', 1), (2, 'b', 'x', 1);
    INSERT INTO accounts (id) VALUES (1), (2);
    INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) VALUES (1, 1, 't', 'h', 's', '', 1);
    INSERT INTO channels (id, type, name, key_sealed, created_at) VALUES (1, 1, 'c', 's', 1);`);
});
afterEach(async () => {
  if (database.raw.open) await database.close();
  rmSync(dir, { recursive: true, force: true });
});

// Facts that recompute to `amount`: ratio 1, group 1, that many input tokens.
const log = (ref: string, userId: number, amount: number): LogEntry => ({
  requestId: ref,
  createdAt: 7200,
  type: 2,
  userId,
  username: `u${userId}`,
  tokenId: 1,
  tokenName: 't',
  channelId: 1,
  group: 'default',
  model: 'm',
  isStream: false,
  useTime: 0,
  promptTokens: amount,
  completionTokens: 0,
  quota: amount,
  content: '',
  other: JSON.stringify({
    model_ratio: 1,
    model_price: -1,
    completion_ratio: 1,
    group_ratio: 1,
    cache_ratio: 1,
    input: amount,
    output: 0,
  }),
  usageSource: 'reported',
  endReason: 'completed',
});
const settle = (ref: string, userId: number, amount: number): Settle => ({
  type: 'settle',
  ref,
  userId,
  tokenId: 1,
  channelId: 1,
  amount,
  at: 7200,
  log: log(ref, userId, amount),
  tokens: Math.max(1, amount),
  model: 'm',
  username: `u${userId}`,
});
const grant = (ref: string, userId: number, amount: number): LedgerCommand => ({
  type: 'grant',
  ref,
  userId,
  amount,
  at: 1,
  log: null,
});
const deduct = (ref: string, userId: number, amount: number): LedgerCommand => ({
  type: 'deduct',
  ref,
  userId,
  amount,
  at: 1,
  log: null,
});
const balance = (id: number) =>
  Number(database.raw.prepare<number>('SELECT balance FROM accounts WHERE id = ?').pluck().get(id));
const violations = () => verifyLedger(database).filter((report) => report.violations > 0);

test('a settlement moves money, counters, hour and log together', async () => {
  const ledger = createDirectLedger(database);
  await ledger.execute(grant('g', 1, 1000));
  expect(await ledger.execute(settle('r1', 1, 300))).toEqual({ status: 'done' });
  expect(balance(1)).toBe(700);
  expect(database.raw.prepare('SELECT used_quota, request_count FROM accounts WHERE id = 1').get()).toEqual({
    used_quota: 300,
    request_count: 1,
  });
  expect(database.raw.prepare('SELECT used_quota FROM tokens').get()).toEqual({ used_quota: 300 });
  expect(database.raw.prepare('SELECT count, tokens, quota FROM usage_hours').get()).toEqual({
    count: 1,
    tokens: 300,
    quota: 300,
  });
  expect(database.raw.prepare('SELECT quota FROM logs').get()).toEqual({ quota: 300 });
  expect(violations()).toEqual([]);
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
  expect(violations()).toEqual([]);
});

test.each([
  ['negative', settle('r', 1, -1)],
  ['fraction', settle('r', 1, 0.5)],
  ['not a number', settle('r', 1, Number.NaN)],
  ['too large', settle('r', 1, 1e16)],
  ['nobody', settle('r', 99, 5)],
  ['nothing granted', grant('r', 1, 0)],
  ['more than there is', deduct('r', 1, 1)],
  ['no ref', settle('', 1, 1)],
])('refused: %s', async (_name, command) => {
  const ledger = createDirectLedger(database);
  const [bad, good] = await Promise.all([ledger.execute(command), ledger.execute(grant('g', 1, 7))]);
  expect(bad.status).toBe('refused');
  expect(good.status).toBe('done');
  expect(balance(1)).toBe(7);
  expect(violations()).toEqual([]);
});

test('a crash leaves holds that recovery settles as observed, or voids, once', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000)]);
  const hold = (ref: string, observed: number): LedgerCommand => ({
    type: 'hold',
    ref,
    userId: 1,
    tokenId: 1,
    channelId: 1,
    estimate: 100,
    observed,
    at: 1,
    log: log(ref, 1, observed),
  });
  store.apply([hold('seen', 40), hold('unseen', 0), hold('ended', 30)]);
  store.apply([settle('ended', 1, 30)]);
  await database.close();
  database = await open();
  const report = recover(createLedgerStore(database.raw));
  expect(report).toMatchObject({ settled: 1, voided: 1 });
  expect(balance(1)).toBe(1000 - 40 - 30);
  expect(recover(createLedgerStore(database.raw))).toMatchObject({ settled: 0, voided: 0 });
  expect(violations()).toEqual([]);
});

test('when the n-th write fails, all of the batch is there or nothing', async () => {
  const commands = [grant('g1', 1, 500), settle('r1', 1, 20), deduct('d1', 1, 10), settle('r2', 1, 3)];
  let failed = 0;
  for (let n = 1; ; n++) {
    let writes = 0;
    // The driver's statements, with the n-th run breaking like a full disk.
    const raw = new Proxy(database.raw, {
      get(target, name) {
        if (name !== 'prepare')
          return Reflect.get(target, name, target)?.bind?.(target) ?? Reflect.get(target, name, target);
        return (sql: string) => {
          const statement = target.prepare(sql);
          if (!/^\s*(INSERT|UPDATE|DELETE)/.test(sql)) return statement;
          const run = statement.run.bind(statement);
          return Object.assign(Object.create(statement), {
            run: (...params: unknown[]) => {
              if (++writes === n) throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
              return run(...params);
            },
          });
        };
      },
    });
    const store = createLedgerStore(raw);
    writes = 0;
    const before = balance(1);
    try {
      store.apply(commands);
    } catch {
      failed++;
      expect(balance(1)).toBe(before);
      expect(violations()).toEqual([]);
      continue;
    }
    break;
  }
  expect(failed).toBeGreaterThan(5);
  expect(balance(1)).toBe(467);
  expect(violations()).toEqual([]);
});

test('a full disk refuses new work, keeps settlements and writes them when there is room again', async () => {
  const store = createLedgerStore(database.raw);
  store.nextEpoch();
  store.apply([grant('g', 1, 1000)]);
  let full = true;
  let clock = 0;
  const engine = createEngine({
    store: {
      ...store,
      apply: (commands) => {
        if (full) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
        return store.apply(commands);
      },
    },
    now: () => clock,
    onBalance: () => undefined,
    onHealth: () => undefined,
  });
  const results: unknown[] = [];
  engine.submit(settle('kept', 1, 10), (result) => results.push(result));
  engine.submit(grant('refused', 1, 10), (result) => results.push(result));
  await expect.poll(() => results.length).toBe(1);
  expect(results[0]).toMatchObject({ code: 'storage_unavailable' });
  clock = 3000;
  expect(engine.health()).toMatchObject({ ok: false, reason: 'database or disk is full' });
  full = false;
  await engine.drain();
  expect(results[1]).toEqual({ status: 'done' });
  expect(engine.health()).toEqual({ ok: true });
  expect(balance(1)).toBe(990);
});

type Step =
  | {
      readonly kind: 'grant' | 'deduct' | 'settle';
      readonly ref: number;
      readonly user: 1 | 2;
      readonly amount: number;
    }
  | { readonly kind: 'restart' };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom('grant', 'deduct', 'settle'),
      ref: fc.integer({ min: 0, max: 30 }),
      user: fc.constantFrom(1, 2),
      amount: fc.integer({ min: 1, max: 500 }),
    }) as fc.Arbitrary<Step>,
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' } as const) },
);

test('any history keeps the books balanced and agrees with a model of it', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      run++;
      let ledger = createDirectLedger(database);
      const known = new Map<string, string>();
      const model = new Map([1, 2].map((user) => [user, balance(user)]));
      for (const one of steps) {
        if (one.kind === 'restart') {
          await ledger.drain();
          await database.close();
          database = await open();
          ledger = createDirectLedger(database);
          continue;
        }
        const ref = `${run}-${one.kind}-${one.ref}`;
        const command =
          one.kind === 'settle'
            ? settle(ref, one.user, one.amount)
            : one.kind === 'grant'
              ? grant(ref, one.user, one.amount)
              : deduct(ref, one.user, one.amount);
        const { status } = await ledger.execute(command);
        const facts = `${one.user} ${one.amount}`;
        const have = model.get(one.user) ?? 0;
        if (one.kind === 'deduct' && have < one.amount) {
          expect(status).toBe('refused');
          continue;
        }
        expect(status).toBe(known.has(ref) ? (known.get(ref) === facts ? 'duplicate' : 'conflict') : 'done');
        if (status !== 'done') continue;
        known.set(ref, facts);
        model.set(one.user, have + (one.kind === 'grant' ? one.amount : -one.amount));
      }
      await ledger.drain();
      for (const [user, expected] of model) expect(balance(user)).toBe(expected);
      // A balance may only be negative because a hold was too small for the work done; the books balance all the same.
      expect(violations().filter((report) => report.id !== 'I6')).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
