/** Queues commands and commits them in groups: whatever arrived while one commit ran forms the next, without any waiting time of its own. */

import type { LedgerStore } from '../../db/ledger-store.ts';
import { AppError } from '../contract/errors.ts';
import type { BalanceEvent, LedgerCommand, LedgerResult } from './commands.ts';

export type Health = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface Engine {
  submit(command: LedgerCommand, done: (result: LedgerResult | AppError) => void): void;
  health(): Health;
  /** Resolves when nothing is queued any more. */
  drain(): Promise<void>;
}

export interface EngineDeps {
  readonly store: LedgerStore;
  readonly now: () => number;
  readonly onBalance: (event: BalanceEvent) => void;
  readonly onHealth: (health: Health) => void;
}

const largestBatch = 1000;
/** Settlements kept in memory while the disk refuses them; beyond that no paid work is admitted. */
const largestQueue = 50_000;
const unhealthyAfterMs = 2000;
const longestRetryMs = 1000;
/** The log is folded back into the file when nothing has been written for this long. */
const idleMs = 2000;

/** Commands that speak of work already done. */
const outlives: ReadonlySet<LedgerCommand['type']> = new Set(['settle', 'hold', 'void'] as const);

interface Waiting {
  readonly command: LedgerCommand;
  readonly done: (result: LedgerResult | AppError) => void;
}

export function createEngine(deps: EngineDeps): Engine {
  let queue: Waiting[] = [];
  let running = false;
  let failingSince: number | null = null;
  let reason = '';
  let retryMs = 10;
  let told = true;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let drained: (() => void)[] = [];

  const health = (): Health => {
    const late = failingSince !== null && deps.now() - failingSince >= unhealthyAfterMs;
    return late || queue.length >= largestQueue ? { ok: false, reason } : { ok: true };
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

  const settleDown = () => {
    running = false;
    for (const resolve of drained) resolve();
    drained = [];
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

  const turn = () => {
    const batch = queue.slice(0, largestBatch);
    if (batch.length === 0) return settleDown();
    try {
      commit(batch);
      queue = queue.slice(batch.length);
      failingSince = null;
      retryMs = 10;
      tell();
      setImmediate(turn);
    } catch (error) {
      fail(batch, error);
    }
  };

  const fail = (batch: readonly Waiting[], error: unknown) => {
    if (!isDiskTrouble(error) && batch.length > 1) return one(batch);
    if (!isDiskTrouble(error)) {
      // One command the schema refuses must not stop the others.
      queue = queue.slice(1);
      batch[0]?.done(new AppError('internal', {}, error));
      setImmediate(turn);
      return;
    }
    failingSince ??= deps.now();
    reason = error instanceof Error ? error.message : String(error);
    // Work that was not done yet is refused; settlements stay, their answers have been given.
    const refused = new AppError('storage_unavailable', { reason }, error);
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

  /** The batch failed as a whole for a reason inside it: find the culprit by committing singly. */
  const one = (batch: readonly Waiting[]) => {
    queue = queue.slice(batch.length);
    for (const item of batch) {
      try {
        commit([item]);
      } catch (error) {
        if (isDiskTrouble(error)) queue.unshift(item);
        else item.done(new AppError('internal', {}, error));
      }
    }
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

function isDiskTrouble(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^SQLITE_(FULL|READONLY|IOERR|BUSY|LOCKED|CANTOPEN|NOMEM)/.test(code);
}
