/** The ledger in this process, on either engine. */

import { randomUUID } from 'node:crypto';
import { PostgresLedger } from '../../db/ledger/postgres/store.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import type { Database, SqliteDatabase } from '../../db/open.ts';
import { openLine } from '../../db/postgres/line.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { newestPostgres } from '../../db/schema/migrations.ts';
import type { LedgerCommand, LedgerResult, MoneyEvent } from '../../server/billing/ledger/commands.ts';
import { LedgerEngine } from '../../server/billing/ledger/engine.ts';
import type { Outcome } from '../../server/billing/ports.ts';
import { AppError } from '../../server/contract/errors.ts';
import { createDirectLedger, type DirectLedger } from '../../server/threads/ledger/direct.ts';

export interface TestLedger extends DirectLedger {
  /** In one commit. */
  apply(commands: readonly LedgerCommand[]): Promise<Outcome>;
  close(): void;
}

export const ledgerOn = async (database: Database): Promise<TestLedger> =>
  database.engine === 'sqlite' ? onFile(database) : onServer(database);

const onFile = (database: SqliteDatabase): TestLedger => ({
  ...createDirectLedger(database),
  apply: async (commands) => createLedgerStore(database.raw).apply(commands),
  close: () => undefined,
});

/** A node without leases: what nobody has leased pays. */
async function onServer({ place }: PostgresDatabase): Promise<TestLedger> {
  const store = new PostgresLedger({
    connect: () => openLine(place),
    node: { name: 'test', version: 'test', schema: newestPostgres },
    acknowledged: {
      keep: () => undefined,
      discard: () => undefined,
      since: () => [],
      markResent: () => undefined,
      marks: () => [],
    },
    onEpoch: () => undefined,
    onUnlisted: () => undefined,
    newRun: randomUUID,
    now: () => Math.floor(Date.now() / 1000),
  });
  await store.probe();
  const listeners: ((event: MoneyEvent) => void)[] = [];
  const engine = new LedgerEngine({
    store,
    onBalance: (event) => {
      for (const listener of listeners) listener(event);
    },
    onHealth: () => undefined,
  });
  return {
    execute: (command) =>
      new Promise<LedgerResult>((resolve, reject) => {
        engine.submit(command, (result) => (result instanceof AppError ? reject(result) : resolve(result)));
      }),
    apply: (commands) => store.apply(commands),
    healthy: () => engine.health(),
    onBalance: (listener) => void listeners.push(listener),
    drain: () => engine.drain(),
    close: () => store.close(),
  };
}
