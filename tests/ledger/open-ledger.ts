/** Books of either engine, and all that is asked of them. */

import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { statsOf } from '../../db/ledger/stats.ts';
import type { Database } from '../../db/open.ts';
import { openLine } from '../../db/postgres/line.ts';
import { expireNodes, orphans } from '../../db/postgres/nodes.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { endFor, recover } from '../../server/billing/ledger/recovery.ts';
import { type InvariantReport, logReport, reportsOf } from '../../server/billing/ledger/verify.ts';
import type { Outcome } from '../../server/billing/ports.ts';
import { recompute } from '../../server/contract/pricing/charge.ts';
import { onServer, openChosen, rowsOf } from '../support/engines.ts';
import { ledgerOn, type TestLedger } from '../support/ledger-on.ts';
import { openBooks } from './support.ts';

export interface LedgerState {
  readonly database: Database;
  readonly ledger: TestLedger;
  /** In one commit. */
  apply(...commands: readonly LedgerCommand[]): Promise<Outcome>;
  /** Users with accounts, each with a token and a channel of the same id. */
  addUsers(...ids: readonly number[]): Promise<void>;
  addCode(id: number, quota: number, status?: number): Promise<void>;
  addOrder(tradeNo: string, userId: number, quota: number): Promise<void>;
  balance(id: number): Promise<number>;
  rows<Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]>;
  /** What those left behind who died. */
  recover(): Promise<void>;
  /** Every invariant that does not hold. */
  violations(): Promise<InvariantReport[]>;
  close(): Promise<void>;
}

async function recoverOn(database: PostgresDatabase, ledger: TestLedger): Promise<void> {
  const line = await openLine(database.place);
  const nodes = await rowsOf<{ epoch: number }>(database, 'SELECT epoch FROM nodes');
  await expireNodes(
    line,
    nodes.map(({ epoch }) => epoch),
  );
  const ends = (await orphans(line, -3600)).map((reserve) => ({ ...endFor(reserve), provisional: true }));
  line.close();
  ledger.close();
  const next = await ledgerOn(database);
  for (const end of ends) await next.execute(end);
  next.close();
}

export async function openSelectedLedger(): Promise<LedgerState> {
  const database = onServer ? await openChosen('') : await openBooks();
  const ledger = await ledgerOn(database);
  const rows = <Row extends object>(text: string, ...values: readonly unknown[]) =>
    rowsOf<Row>(database, text, ...values);
  const parts = onServer
    ? ' + coalesce((SELECT sum(balance) FROM account_parts WHERE account_id = accounts.id), 0)'
    : '';

  return {
    database,
    ledger,
    rows,
    apply: (...commands) => ledger.apply(commands),
    async addUsers(...ids) {
      for (const id of ids) {
        await rows("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)", id, `u${id}`);
        await rows('INSERT INTO accounts (id) VALUES (?)', id);
        await rows(
          "INSERT INTO tokens (id, user_id, name, key_hmac, key_sealed, key_hint, created_at) VALUES (?, ?, 't', ?, 's', '', 1)",
          id,
          id,
          `h${id}`,
        );
        await rows("INSERT INTO channels (id, type, name, key_sealed, created_at) VALUES (?, 1, 'c', 's', 1)", id);
      }
    },
    addCode: async (id, quota, status = 1) =>
      void (await rows(
        "INSERT INTO redemptions (id, user_id, name, key_hmac, key_sealed, status, quota, created_at) VALUES (?, 1, 'n', ?, 's', ?, ?, 1)",
        id,
        `c${id}`,
        status,
        quota,
      )),
    addOrder: async (tradeNo, userId, quota) =>
      void (await rows(
        "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, ?, 'epay', 1, ?, 730, 'cny', 1)",
        userId,
        tradeNo,
        quota,
      )),
    balance: async (id) =>
      (await rows<{ balance: number }>(`SELECT balance${parts} AS balance FROM accounts WHERE id = ?`, id))[0]
        ?.balance ?? 0,
    async recover() {
      if (database.engine === 'sqlite') recover(createLedgerStore(database.raw));
      else await recoverOn(database, ledger);
    },
    async violations() {
      const logs = await rows<{ request_id: string; quota: number; other: string }>(
        'SELECT request_id, quota, other FROM logs WHERE type = 2 AND quota > 0',
      );
      const wrong = logs.filter(({ other, quota }) => recompute(JSON.parse(other))?.quota !== quota);
      const names = wrong.map((row) => row.request_id);
      return [...reportsOf(await statsOf(database)), logReport(logs.length, wrong.length, names)].filter(
        (one) => one.violations > 0,
      );
    },
    async close() {
      ledger.close();
      await database.close();
    },
  };
}
