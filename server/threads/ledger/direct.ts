/** The ledger in the caller's own process: for the CLI without a server, and for tests. */
import { createLedgerStore } from '../../../db/ledger/sqlite/store.ts';
import type { SqliteDatabase } from '../../../db/open.ts';
import type { Ledger, LedgerResult, MoneyEvent } from '../../billing/ledger/commands.ts';
import { LedgerEngine } from '../../billing/ledger/engine.ts';
import { recover } from '../../billing/ledger/recovery.ts';
import { AppError } from '../../contract/errors.ts';

export interface DirectLedger extends Ledger {
  onBalance(listener: (event: MoneyEvent) => void): void;
  drain(): Promise<void>;
}

/** @param database migrated; no other process may be writing to its ledger. */
export function createDirectLedger(database: SqliteDatabase): DirectLedger {
  const store = createLedgerStore(database.raw);
  // Nothing open was left: then nothing is written either, and a command that only reads waits for no disk.
  if (store.holds(Number.MAX_SAFE_INTEGER).length > 0) recover(store);
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
    healthy: () => engine.health(),
    onBalance: (listener) => void listeners.push(listener),
    drain: () => engine.drain(),
  };
}
