/** Queues commands and commits them in groups: whatever arrived while one commit ran forms the next, without any waiting time of its own. */

import { AppError } from '../../contract/errors.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import { systemTimers, type Timer, type Timers } from '../../contract/timers.ts';
import type { Outbox, Outcome } from '../ports.ts';
import { type BalanceEvent, keptUntilWritten, type LedgerCommand, type LedgerResult } from './commands.ts';

export type StoreHealth = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Books that may be far away: what answers at once is not waited for. */
export interface EngineStore {
  apply(commands: readonly LedgerCommand[]): Outcome | Promise<Outcome>;
  /** A durable write of nothing that matters. */
  probe(): void | Promise<void>;
  /** Something inside the batch is to blame, not storage. */
  isInvalidCommand(error: unknown): boolean;
  /** It is unknown whether it was written: the same commands have to be applied next, and nothing else. */
  isUncertain?(error: unknown): boolean;
  /** Why nothing is written, where the error's own words say it only to the operator. */
  reasonOf?(error: unknown): string | null;
  /** Nothing has been written for a while. */
  checkpoint?(mode: 'TRUNCATE'): void;
}

export interface Engine {
  submit(command: LedgerCommand, done: (result: LedgerResult | AppError) => void): void;
  health(): StoreHealth;
  /** Resolves when nothing is queued any more. */
  drain(): Promise<void>;
}

/** For a database that may be replaced by an older copy of itself. */
export interface NodeEngine extends Engine {
  /** Writes commands again that an older copy of the ledger lacks. @param kept called once, when a crash cannot lose them any more. */
  resend(commands: readonly LedgerCommand[], kept: () => void): void;
}

/** Makes settlements durable while the database cannot be reached. */
export interface Standby {
  readonly outbox: Outbox;
  /** The outbox survives a crash of the machine: settlements may wait there while the database is away. */
  readonly durable: boolean;
  /** Whether paid requests are admitted meanwhile. */
  readonly mayAdmit: () => boolean;
  /** What had been kept was turned down when it was written at last. */
  readonly onRejected: (command: LedgerCommand, result: LedgerResult) => void;
}

export interface EngineDeps {
  readonly store: EngineStore;
  readonly onBalance: (event: BalanceEvent) => void;
  readonly onHealth: (health: StoreHealth) => void;
  readonly standby?: Standby;
  /** Absent = the time of this process. */
  readonly timers?: Pick<Timers, 'set' | 'every'>;
}

const largestBatch = 1000;
/** Settlements kept in memory while the disk refuses them; beyond that no paid work is admitted. */
const largestQueue = 50_000;
const firstRetryMs = 10;
const maxRetryMs = 1000;
/** The log is folded back into the file when nothing has been written for this long. */
const idleMs = 2000;
/** A commit that takes longer is not waited for by those whose end can be kept nearby. */
const timeoutMs = 250;

interface Waiting {
  readonly command: LedgerCommand;
  done: (result: LedgerResult | AppError) => void;
  /** Its number in the outbox, 0 = not there. */
  kept: number;
  /** Confirmed once already: it stays until it is written, whatever it is. */
  readonly again?: boolean;
}

/** Work that was done, or that was reported as done. */
const stays = ({ command, kept, again }: Waiting): boolean =>
  kept > 0 || again === true || keptUntilWritten.has(command.type);

const noop = () => undefined;
const durable: LedgerResult = { status: 'done' };

export function createEngine(deps: EngineDeps): NodeEngine {
  const { store, standby, timers = systemTimers } = deps;
  const outbox = standby?.outbox;
  let queue: Waiting[] = [];
  let running = false;
  /** Why the last commit failed; null = it did not. */
  let failing: string | null = null;
  /** The pending commit takes longer than settlements wait for. */
  let isLate = false;
  let isScheduled = false;
  /** So many at the head have to be applied together again. */
  let unresolved = 0;
  let retryMs = firstRetryMs;
  let reported = true;
  /** The outbox took nothing lately: it is full, or its disk is. */
  let full = false;
  let idle: Timer | null = null;
  let drained: (() => void)[] = [];

  const health = (): StoreHealth => {
    if ((failing !== null || isLate) && (full || standby?.mayAdmit() !== true))
      return { ok: false, reason: failing ?? reasonText('tenure_over') };
    return queue.length >= largestQueue
      ? { ok: false, reason: reasonText('crowded', { count: queue.length }) }
      : { ok: true };
  };
  const notify = () => {
    const current = health();
    if (current.ok === reported) return;
    reported = current.ok;
    deps.onHealth(current);
  };

  const dropNumbers = (numbers: readonly number[]) => {
    try {
      outbox?.drop(numbers);
    } catch {
      // They stay there, and are duplicates when they are sent again after the next start.
    }
  };

  const respond = (batch: readonly Waiting[], { results, events }: Outcome) => {
    const shipped: number[] = [];
    for (const [index, item] of batch.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      if (item.kept > 0) {
        shipped.push(item.kept);
        if (result.status !== 'done' && result.status !== 'duplicate') standby?.onRejected(item.command, result);
      } else item.done(result);
    }
    if (shipped.length > 0) dropNumbers(shipped);
    for (const event of events) deps.onBalance(event);
  };

  /** What speaks of work that is done becomes durable nearby, and is answered. */
  const keep = () => {
    const pending = queue.filter(({ kept, command }) => kept === 0 && keptUntilWritten.has(command.type));
    // No caller waits for commands that may be lost.
    for (const item of queue)
      if (item.command.type === 'note') {
        item.done(durable);
        item.done = noop;
      }
    if (outbox === undefined || pending.length === 0 || standby?.durable !== true) return;
    try {
      const numbers = outbox.keep(pending.map(({ command }) => command));
      for (const [index, item] of pending.entries()) {
        item.kept = numbers[index] ?? 0;
        item.done(durable);
        item.done = noop;
      }
      full = false;
    } catch {
      // reason: the outbox's disk alone. They wait in memory, as without an outbox, and no paid request is admitted.
      full = true;
    }
  };

  /** While the database is slow or away a settlement does not wait for it; settlements of one turn are written together. */
  const scheduleKeep = () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (failing !== null || isLate) keep();
    });
  };

  const withTimeout = async <T>(pending: Promise<T>): Promise<T> => {
    if (standby?.durable !== true) return pending;
    const notWaitedFor = () => {
      isLate = true;
      keep();
      notify();
    };
    const timer = timers.every(notWaitedFor, timeoutMs);
    try {
      return await pending;
    } finally {
      timer.close();
      isLate = false;
    }
  };

  const commit = (batch: readonly Waiting[]): void | Promise<void> => {
    const pending = store.apply(batch.map((item) => item.command));
    if (!(pending instanceof Promise)) return respond(batch, pending);
    return withTimeout(pending).then((outcome) => respond(batch, outcome));
  };

  const resolveDrained = () => {
    for (const resolve of drained) resolve();
    drained = [];
  };

  const settleDown = () => {
    running = false;
    resolveDrained();
    idle?.close();
    if (store.checkpoint === undefined) return;
    idle = timers.set(() => {
      try {
        store.checkpoint?.('TRUNCATE');
      } catch {
        // The disk is full or a reader is active; the next quiet moment will do.
      }
    }, idleMs);
    idle.unref();
  };

  const recovered = () => {
    failing = null;
    full = false;
    retryMs = firstRetryMs;
    notify();
  };

  /** No request is admitted while storage fails, so only a write of our own can show that it works again. */
  const probe = async () => {
    resolveDrained();
    try {
      const pending = store.probe();
      if (pending instanceof Promise) await pending;
    } catch (error) {
      return failure(error);
    }
    recovered();
    await turn();
  };

  /** Commands kept earlier go with the new ones. */
  const refill = () => {
    if (outbox === undefined || failing !== null || queue.length >= largestBatch) return;
    for (const { number, command } of outbox.take(largestBatch - queue.length))
      queue.push({ command, done: noop, kept: number });
  };

  /** Never rejects: what goes wrong is a failure of storage, and is tried again. */
  const turn = async (): Promise<void> => {
    try {
      refill();
    } catch (error) {
      return failure(error);
    }
    const batch = queue.slice(0, unresolved > 0 ? unresolved : largestBatch);
    if (batch.length === 0) return failing === null ? settleDown() : probe();
    try {
      const pending = commit(batch);
      if (pending instanceof Promise) await pending;
    } catch (error) {
      return store.isInvalidCommand(error) ? singly(batch) : failure(error, '', batch.length);
    }
    queue = queue.slice(batch.length);
    unresolved = 0;
    recovered();
    setImmediate(turn);
  };

  /** From the first failed commit on: work that was not done yet is refused; settlements stay, whatever the reason, until they are written. */
  const failure = (error: unknown, what = '', attempted = 0) => {
    failing = what + (store.reasonOf?.(error) ?? messageOf(error));
    unresolved = store.isUncertain?.(error) === true ? attempted : 0;
    const rejected = new AppError('storage_unavailable', { reason: failing }, error);
    keep();
    const stay: Waiting[] = [];
    const released: number[] = [];
    for (const [index, item] of queue.entries()) {
      if (index < unresolved) stay.push(item);
      else if (item.kept > 0) released.push(item.kept);
      else if (stays(item)) stay.push(item);
      else item.done(rejected);
    }
    queue = stay;
    if (released.length > 0) outbox?.release(released);
    notify();
    timers.set(turn, retryMs);
    retryMs = Math.min(maxRetryMs, retryMs * 2);
  };

  /** The batch failed as a whole for a reason inside it: one command must not stop the others. */
  const singly = async (batch: readonly Waiting[]) => {
    const stuck: Waiting[] = [];
    let reason: { readonly error: unknown; readonly what: string } | null = null;
    for (const [index, item] of batch.entries()) {
      try {
        const pending = commit([item]);
        if (pending instanceof Promise) await pending;
      } catch (error) {
        if (!store.isInvalidCommand(error)) {
          // First in the queue, so that it can be repeated alone.
          queue = [...batch.slice(index), ...stuck, ...queue.slice(batch.length)];
          return failure(error, '', 1);
        }
        if (stays(item)) {
          stuck.push(item);
          reason = { error, what: `${item.command.ref}: ` };
        } else item.done(new AppError('internal', {}, error));
      }
    }
    queue = [...stuck, ...queue.slice(batch.length)];
    unresolved = 0;
    // What was delivered and cannot be billed is a failure too: nothing more is sold until an operator has looked.
    if (reason !== null) return failure(reason.error, reason.what);
    setImmediate(turn);
  };

  const scheduleTurn = () => {
    if (running) return;
    running = true;
    setImmediate(turn);
  };
  if (outbox !== undefined && outbox.size() > 0) scheduleTurn();

  return {
    submit(command, done) {
      queue.push({ command, done, kept: 0 });
      if (standby?.durable === true && (failing !== null || isLate)) scheduleKeep();
      scheduleTurn();
    },
    resend(commands, kept) {
      try {
        if (outbox === undefined) throw new Error('there is no outbox');
        outbox.release(outbox.keep(commands));
        kept();
      } catch {
        // reason: the outbox's disk alone. They wait in memory, and a start after a crash detects that they are missing.
        let left = commands.length;
        for (const command of commands)
          queue.push({
            command,
            kept: 0,
            again: true,
            done(result) {
              if (!(result instanceof AppError) && result.status !== 'done' && result.status !== 'duplicate')
                standby?.onRejected(command, result);
              left--;
              if (left === 0) kept();
            },
          });
      }
      scheduleTurn();
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
