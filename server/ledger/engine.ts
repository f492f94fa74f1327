/** Queues commands and commits them in groups: whatever arrived while one commit ran forms the next, without any waiting time of its own. */

import type { LedgerStore } from '../../db/ledger-store.ts';
import { AppError } from '../contract/errors.ts';
import { type BalanceEvent, type LedgerCommand, type LedgerResult, outlives } from './commands.ts';

export type StoreHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface Engine {
  submit(command: LedgerCommand, done: (result: LedgerResult | AppError) => void): void;
  health(): StoreHealth;
  /** Resolves when nothing is queued any more. */
  drain(): Promise<void>;
}

export interface EngineDeps {
  readonly store: LedgerStore;
  readonly onBalance: (event: BalanceEvent) => void;
  readonly onHealth: (health: StoreHealth) => void;
}

const largestBatch = 1000;
/** Settlements kept in memory while the disk refuses them; beyond that no paid work is admitted. */
const largestQueue = 50_000;
const firstRetryMs = 10;
const longestRetryMs = 1000;
/** The log is folded back into the file when nothing has been written for this long. */
const idleMs = 2000;

interface Waiting {
  readonly command: LedgerCommand;
  readonly done: (result: LedgerResult | AppError) => void;
}

export function createEngine(deps: EngineDeps): Engine {
  let queue: Waiting[] = [];
  let running = false;
  /** Why the last commit failed; null = it did not. */
  let failing: string | null = null;
  let retryMs = firstRetryMs;
  let told = true;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let drained: (() => void)[] = [];

  const health = (): StoreHealth => {
    if (failing !== null) return { ok: false, reason: failing };
    return queue.length >= largestQueue ? { ok: false, reason: `${queue.length} commands wait` } : { ok: true };
  };
  const tell = () => {
    const current = health();
    if (current.ok === told) return;
    told = current.ok;
    deps.onHealth(current);
  };

  const commit = (batch: readonly Waiting[]) => {
    const { results, events } = deps.store.apply(batch.map((item) => item.command));
    for (const [index, item] of batch.entries()) {
      const result = results[index];
      if (result !== undefined) item.done(result);
    }
    for (const event of events) deps.onBalance(event);
  };

  const emptied = () => {
    for (const resolve of drained) resolve();
    drained = [];
  };

  const settleDown = () => {
    running = false;
    emptied();
    clearTimeout(idle);
    idle = setTimeout(() => {
      try {
        deps.store.checkpoint('TRUNCATE');
      } catch {
        // The disk is full or somebody reads; the next quiet moment will do.
      }
    }, idleMs);
    idle.unref?.();
  };

  const recovered = () => {
    failing = null;
    retryMs = firstRetryMs;
    tell();
  };

  /** Nobody may ask while storage is in trouble, so that only a write of our own can show that it is over. */
  const probe = () => {
    emptied();
    try {
      deps.store.probe();
    } catch (error) {
      return trouble(error);
    }
    recovered();
    settleDown();
  };

  const turn = () => {
    const batch = queue.slice(0, largestBatch);
    if (batch.length === 0) return failing === null ? settleDown() : probe();
    try {
      commit(batch);
    } catch (error) {
      return isCommandsFault(error) ? singly(batch) : trouble(error);
    }
    queue = queue.slice(batch.length);
    recovered();
    setImmediate(turn);
  };

  /** From the first failed commit on: work that was not done yet is refused; settlements stay, whatever the reason, until they are written. */
  const trouble = (error: unknown, what = '') => {
    failing = what + messageOf(error);
    const refused = new AppError('storage_unavailable', { reason: failing }, error);
    const kept: Waiting[] = [];
    for (const item of queue) {
      if (outlives.has(item.command.type)) kept.push(item);
      else item.done(refused);
    }
    queue = kept;
    tell();
    setTimeout(turn, retryMs);
    retryMs = Math.min(longestRetryMs, retryMs * 2);
  };

  /** The batch failed as a whole for a reason inside it: one command must not stop the others. */
  const singly = (batch: readonly Waiting[]) => {
    const rest = queue.slice(batch.length);
    const stuck: Waiting[] = [];
    let why: { readonly error: unknown; readonly what: string } | null = null;
    for (const [index, item] of batch.entries()) {
      try {
        commit([item]);
      } catch (error) {
        if (!isCommandsFault(error)) {
          queue = [...stuck, ...batch.slice(index), ...rest];
          return trouble(error);
        }
        if (outlives.has(item.command.type)) {
          stuck.push(item);
          why = { error, what: `${item.command.ref}: ` };
        } else item.done(new AppError('internal', {}, error));
      }
    }
    queue = [...stuck, ...rest];
    // What was delivered and cannot be billed is trouble too: nothing more is sold until somebody has looked.
    if (why !== null) return trouble(why.error, why.what);
    setImmediate(turn);
  };

  return {
    submit(command, done) {
      queue.push({ command, done });
      if (running) return;
      running = true;
      setImmediate(turn);
    },
    health,
    drain: () =>
      running
        ? new Promise((resolve) => {
            drained.push(resolve);
          })
        : Promise.resolve(),
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The schema or the driver refuses what one command says; everything else the driver throws is storage. */
function isCommandsFault(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code !== 'string' || !code.startsWith('SQLITE_') || /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)
  );
}
