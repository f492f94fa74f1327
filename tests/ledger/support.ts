/** Books in a temporary file or in memory, and commands as short calls. */
import type { Database as RawDatabase } from 'better-sqlite3';
import { ledgerStats } from '../../db/ledger/sqlite/stats.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import {
  type Adjust,
  type Hold,
  type LogEntry,
  type Redeem,
  type Refund,
  type Reward,
  redeemRef,
  refundRef,
  rewardRef,
  type Settle,
  type TopUp,
  type Transfer,
  topUpRef,
} from '../../server/billing/ledger/commands.ts';
import { type InvariantReport, logReport, reportsOf } from '../../server/billing/ledger/verify.ts';
import type { InvoiceDraft } from '../../server/contract/invoice.ts';
import { recompute } from '../../server/contract/pricing/charge.ts';

export async function openBooks(file = ':memory:'): Promise<SqliteDatabase> {
  const database = openDatabase(file);
  await migrate(database);
  return database;
}

/** Users with accounts, each with a token and a channel of the same id. */
export function addUsers(raw: RawDatabase, ...ids: readonly number[]): void {
  const user = raw.prepare("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)");
  const account = raw.prepare('INSERT INTO accounts (id) VALUES (?)');
  const token = raw.prepare(
    "INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) VALUES (?, ?, 't', ?, 's', '', 1)",
  );
  const channel = raw.prepare(
    "INSERT INTO channels (id, type, name, key_sealed, created_at) VALUES (?, 1, 'c', 's', 1)",
  );
  for (const id of ids) {
    user.run(id, `u${id}`);
    account.run(id);
    token.run(id, id, `h${id}`);
    channel.run(id);
  }
}

export const addCode = (raw: RawDatabase, id: number, quota: number, status = 1): void =>
  void raw
    .prepare(
      "INSERT INTO redemptions (id, user_id, name, key_hmac, key_sealed, status, quota, created_at) VALUES (?, 1, 'n', 'c' || ?, 's', ?, ?, 1)",
    )
    .run(id, id, status, quota);

export const addOrder = (raw: RawDatabase, tradeNo: string, userId: number, quota: number): void =>
  void raw
    .prepare(
      "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, ?, 'epay', 1, ?, 730, 'cny', 1)",
    )
    .run(userId, tradeNo, quota);

/** Facts that recompute to `amount`: ratio 1, group 1, that many input tokens. */
export const log = (ref: string, userId: number, amount: number): LogEntry => ({
  requestId: ref,
  createdAt: 7200,
  type: 2,
  userId,
  username: `u${userId}`,
  tokenId: userId,
  tokenName: 't',
  channelId: userId,
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

export const settle = (ref: string, userId: number, amount: number): Settle => ({
  type: 'settle',
  ref,
  userId,
  tokenId: userId,
  channelId: userId,
  amount,
  at: 7200,
  log: log(ref, userId, amount),
  tokens: Math.max(1, amount),
  model: 'm',
  username: `u${userId}`,
});

export const reserve = (ref: string, userId: number, observed: number): Hold => ({
  type: 'hold',
  ref,
  userId,
  tokenId: userId,
  channelId: userId,
  estimate: Math.max(100, observed),
  observed,
  at: 1,
  log: log(ref, userId, observed),
});

const at = 10_000;
const adjust = (type: 'grant' | 'deduct', ref: string, userId: number, amount: number): Adjust => ({
  type,
  ref,
  userId,
  amount,
  at,
  log: null,
});
export const grant = (ref: string, userId: number, amount: number): Adjust => adjust('grant', ref, userId, amount);
export const deduct = (ref: string, userId: number, amount: number): Adjust => adjust('deduct', ref, userId, amount);

export const redeem = (redemptionId: number, userId: number, amount: number): Redeem => ({
  type: 'redeem',
  ref: redeemRef(redemptionId),
  redemptionId,
  userId,
  amount,
  at,
  log: null,
});

export const topUp = (tradeNo: string, userId: number, amount: number, callbackId = 0): TopUp => ({
  type: 'topup',
  ref: topUpRef(tradeNo),
  tradeNo,
  userId,
  amount,
  callbackId,
  at,
  log: null,
});

/** @param gross smallest units, 19 % of tax in them. */
export const invoiceDraft = (tradeNo: string, userId: number, gross: number): InvoiceDraft => ({
  ...{
    kind: 'invoice',
    issued_at: 1_795_000_000,
    date: '2026-11-18',
    corrects: '',
    trade_no: tradeNo,
    method: 'stripe',
  },
  seller: { name: 'Seller', address: 'Street 1\nCity', tax_id: 'T1' },
  buyer: { name: 'Buyer', address: '', tax_id: '', user_id: userId, username: `u${userId}` },
  ...{ currency: 'usd', minor: 100, gross, net: gross, tax: 0, tax_name: '', tax_rate: '' },
  ...{ quota: 700, quota_per_unit: 500_000, in_currency: true, note: '' },
});

export const transfer = (nonce: string, userId: number, amount: number): Transfer => ({
  type: 'transfer',
  ref: `transfer:${userId}:${nonce}`,
  userId,
  amount,
  at,
  log: null,
});

export const reward = (inviteeId: number, userId: number, amount: number): Reward => ({
  type: 'reward',
  ref: rewardRef(inviteeId),
  userId,
  amount,
  at,
  log: null,
});

export const refund = (of: string, userId: number, amount: number): Refund => ({
  type: 'refund',
  ref: refundRef(of),
  of,
  userId,
  amount,
  model: 'm',
  username: `u${userId}`,
  at,
  log: null,
});

export const balanceOf = (raw: RawDatabase, id: number): number =>
  Number(raw.prepare<number>('SELECT balance FROM accounts WHERE id = ?').pluck().get(id) ?? 0);

/** Every invariant that does not hold. */
export function violations(database: SqliteDatabase): InvariantReport[] {
  const rows = database.raw
    .prepare<{ request_id: string; quota: number; other: string }>(
      'SELECT request_id, quota, other FROM logs WHERE type = 2 AND quota > 0',
    )
    .all();
  const wrong = rows.filter((row) => recompute(JSON.parse(row.other) as Record<string, unknown>)?.quota !== row.quota);
  const names = wrong.map((row) => row.request_id);
  return [...reportsOf(ledgerStats(database.raw)), logReport(rows.length, wrong.length, names)].filter(
    (one) => one.violations > 0,
  );
}

export interface BreakableDisk {
  readonly raw: RawDatabase;
  arm(n: number): void;
  /** @returns writes since it was armed. */
  disarm(): number;
}

/** The driver with its n-th write (counted from `arm`) breaking like a full disk. Statements are prepared once per disk. */
export function breakable(raw: RawDatabase): BreakableDisk {
  let left = Number.POSITIVE_INFINITY;
  let writes = 0;
  const prepared = new Map<string, unknown>();
  const statementOf = (target: RawDatabase, sql: string): unknown => {
    const statement = target.prepare(sql);
    if (!/^\s*(INSERT|UPDATE|DELETE)/.test(sql)) return statement;
    const run = statement.run.bind(statement);
    return Object.assign(Object.create(statement), {
      run: (...params: unknown[]) => {
        writes++;
        if (--left === 0) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
        return run(...params);
      },
    });
  };
  const proxy = new Proxy(raw, {
    get(target, name) {
      if (name !== 'prepare') {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (sql: string) => {
        const known = prepared.get(sql) ?? statementOf(target, sql);
        prepared.set(sql, known);
        return known;
      };
    },
  });
  return {
    raw: proxy,
    arm(n) {
      left = n;
      writes = 0;
    },
    disarm() {
      left = Number.POSITIVE_INFINITY;
      return writes;
    },
  };
}
