/** The ledger in the caller's own process: for the CLI without a server, and for tests. */
import { createLedgerStore } from '../../db/ledger-store.ts';
import type { Database } from '../../db/open.ts';
import { AppError } from '../contract/errors.ts';
import type { LedgerClient } from './client.ts';
import type { BalanceEvent, LedgerResult } from './commands.ts';
import { createEngine } from './engine.ts';
import { recover } from './recovery.ts';

export interface DirectLedger extends LedgerClient {
  drain(): Promise<void>;
}

/** @param database migrated; nobody else may be writing money to it. */
export function createDirectLedger(database: Database, now: () => number = Date.now): DirectLedger {
  const store = createLedgerStore(database.raw);
  // Nothing open was left: then nothing is written either, and a command that only reads waits for no disk.
  if (store.holds(Number.MAX_SAFE_INTEGER).length > 0) recover(store);
  const listeners: ((event: BalanceEvent) => void)[] = [];
  const engine = createEngine({
    store,
    now,
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
    healthy: engine.health,
    onBalance: (listener) => void listeners.push(listener),
    drain: engine.drain,
  };
}
