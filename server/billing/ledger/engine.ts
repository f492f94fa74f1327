/** Queues commands and commits them in groups: whatever arrived while one commit ran forms the next, without any waiting time of its own. */

import { AppError } from '../../contract/errors.ts';
import { reasonText } from '../../contract/storage-reasons.ts';
import { systemTimers, type Timer, type Timers } from '../../contract/timers.ts';
import type { Outbox, Outcome } from '../ports.ts';
import { keptUntilWritten, type LedgerCommand, type LedgerResult, type MoneyEvent } from './commands.ts';

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
  /** Why what was acknowledged does not get where it is read; null = it does, or soon will. */
  trouble?(): string | null;
  /** @param changed called when `trouble` may say something else. */
  watch?(changed: () => void): void;
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
  readonly onBalance: (event: MoneyEvent) => void;
  readonly onHealth: (health: StoreHealth) => void;
  readonly standby?: Standby;
  /** Absent = the time of this process. */
  readonly timers?: Pick<Timers, 'set' | 'every'>;
}

const maxBatch = 1000;
/** Settlements kept in memory while the disk refuses them; beyond that no paid work is admitted. */
const maxQueue = 50_000;
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

export class LedgerEngine implements NodeEngine {
  readonly #store: EngineStore;
  readonly #standby: Standby | undefined;
  readonly #outbox: Outbox | undefined;
  readonly #timers: Pick<Timers, 'set' | 'every'>;
  readonly #onBalance: EngineDeps['onBalance'];
  readonly #onHealth: EngineDeps['onHealth'];
  #queue: Waiting[] = [];
  #isRunning = false;
  /** Why the last commit failed; null = it did not. */
  #failing: string | null = null;
  /** The pending commit takes longer than settlements wait for. */
  #isLate = false;
  #isKeepScheduled = false;
  /** So many at the head have to be applied together again. */
  #unresolved = 0;
  #retryMs = firstRetryMs;
  #reported = true;
  /** The outbox took nothing lately: it is full, or its disk is. */
  #isOutboxFull = false;
  #idle: Timer | null = null;
  #drained: (() => void)[] = [];

  constructor({ store, standby, timers = systemTimers, onBalance, onHealth }: EngineDeps) {
    this.#store = store;
    this.#standby = standby;
    this.#outbox = standby?.outbox;
    this.#timers = timers;
    this.#onBalance = onBalance;
    this.#onHealth = onHealth;
    store.watch?.(() => this.#reportHealth());
    if (this.#outbox !== undefined && this.#outbox.size() > 0) this.#scheduleTurn();
  }

  submit(command: LedgerCommand, done: (result: LedgerResult | AppError) => void): void {
    this.#queue.push({ command, done, kept: 0 });
    if (this.#standby?.durable === true && this.#isStalled()) this.#scheduleKeep();
    this.#scheduleTurn();
  }

  resend(commands: readonly LedgerCommand[], kept: () => void): void {
    try {
      if (this.#outbox === undefined) throw new Error('there is no outbox');
      this.#outbox.release(this.#outbox.keep(commands));
      kept();
    } catch {
      // reason: the outbox's disk alone. They wait in memory, and a start after a crash detects that they are missing.
      this.#resendFromMemory(commands, kept);
    }
    this.#scheduleTurn();
  }

  health(): StoreHealth {
    if (this.#isStalled() && (this.#isOutboxFull || this.#standby?.mayAdmit() !== true))
      return { ok: false, reason: this.#failing ?? reasonText('tenure_over') };
    const trouble = this.#store.trouble?.() ?? null;
    if (trouble !== null) return { ok: false, reason: trouble };
    return this.#queue.length >= maxQueue
      ? { ok: false, reason: reasonText('crowded', { count: this.#queue.length }) }
      : { ok: true };
  }

  drain(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained.push(resolve);
    });
  }

  #resendFromMemory(commands: readonly LedgerCommand[], kept: () => void): void {
    let left = commands.length;
    for (const command of commands)
      this.#queue.push({
        command,
        kept: 0,
        again: true,
        done: (result) => {
          if (!(result instanceof AppError)) this.#reportRejected(command, result);
          left--;
          if (left === 0) kept();
        },
      });
  }

  /** The last commit failed, or the pending one is not waited for. */
  #isStalled(): boolean {
    return this.#failing !== null || this.#isLate;
  }

  #reportHealth(): void {
    const current = this.health();
    if (current.ok === this.#reported) return;
    this.#reported = current.ok;
    this.#onHealth(current);
  }

  #reportRejected(command: LedgerCommand, result: LedgerResult): void {
    if (result.status !== 'done' && result.status !== 'duplicate') this.#standby?.onRejected(command, result);
  }

  #respond(batch: readonly Waiting[], { results, events }: Outcome): void {
    const shipped: number[] = [];
    for (const [index, item] of batch.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      if (item.kept > 0) {
        shipped.push(item.kept);
        this.#reportRejected(item.command, result);
      } else item.done(result);
    }
    if (shipped.length > 0) this.#dropFromOutbox(shipped);
    for (const event of events) this.#onBalance(event);
  }

  #dropFromOutbox(numbers: readonly number[]): void {
    try {
      this.#outbox?.drop(numbers);
    } catch {
      // They stay there, and are duplicates when they are sent again after the next start.
    }
  }

  /** What speaks of work that is done becomes durable nearby, and is answered. */
  #keep(): void {
    const pending = this.#queue.filter(({ kept, command }) => kept === 0 && keptUntilWritten.has(command.type));
    // No caller waits for commands that may be lost.
    for (const item of this.#queue)
      if (item.command.type === 'note') {
        item.done(durable);
        item.done = noop;
      }
    if (this.#outbox === undefined || pending.length === 0 || this.#standby?.durable !== true) return;
    try {
      const numbers = this.#outbox.keep(pending.map(({ command }) => command));
      for (const [index, item] of pending.entries()) {
        item.kept = numbers[index] ?? 0;
        item.done(durable);
        item.done = noop;
      }
      this.#isOutboxFull = false;
    } catch {
      // reason: the outbox's disk alone. They wait in memory, as without an outbox, and no paid request is admitted.
      this.#isOutboxFull = true;
    }
  }

  /** While the database is slow or away a settlement does not wait for it; settlements of one turn are written together. */
  #scheduleKeep(): void {
    if (this.#isKeepScheduled) return;
    this.#isKeepScheduled = true;
    setImmediate(() => {
      this.#isKeepScheduled = false;
      if (this.#isStalled()) this.#keep();
    });
  }

  #scheduleTurn(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#nextTurn();
  }

  #nextTurn(): void {
    setImmediate(() => this.#turn());
  }

  /** Never rejects: what goes wrong is a failure of storage, and is tried again. */
  async #turn(): Promise<void> {
    try {
      this.#refill();
    } catch (error) {
      return this.#fail(error);
    }
    const batch = this.#queue.slice(0, this.#unresolved > 0 ? this.#unresolved : maxBatch);
    if (batch.length === 0) return this.#failing === null ? this.#settleDown() : this.#probe();
    try {
      const pending = this.#commit(batch);
      if (pending instanceof Promise) await pending;
    } catch (error) {
      return this.#store.isInvalidCommand(error) ? this.#commitSingly(batch) : this.#fail(error, '', batch.length);
    }
    this.#queue = this.#queue.slice(batch.length);
    this.#unresolved = 0;
    this.#recover();
    this.#nextTurn();
  }

  /** Commands kept earlier go with the new ones. */
  #refill(): void {
    if (this.#outbox === undefined || this.#failing !== null || this.#queue.length >= maxBatch) return;
    for (const { number, command } of this.#outbox.take(maxBatch - this.#queue.length))
      this.#queue.push({ command, done: noop, kept: number });
  }

  #commit(batch: readonly Waiting[]): void | Promise<void> {
    const pending = this.#store.apply(batch.map((item) => item.command));
    if (!(pending instanceof Promise)) return this.#respond(batch, pending);
    return this.#withTimeout(pending).then((outcome) => this.#respond(batch, outcome));
  }

  async #withTimeout<T>(pending: Promise<T>): Promise<T> {
    if (this.#standby?.durable !== true) return pending;
    const timer = this.#timers.every(() => this.#stopWaiting(), timeoutMs);
    try {
      return await pending;
    } finally {
      timer.close();
      this.#isLate = false;
    }
  }

  /** For the pending commit. */
  #stopWaiting(): void {
    this.#isLate = true;
    this.#keep();
    this.#reportHealth();
  }

  /** The batch failed as a whole for a reason inside it: one command must not stop the others. */
  async #commitSingly(batch: readonly Waiting[]): Promise<void> {
    const stuck: Waiting[] = [];
    let reason: { readonly error: unknown; readonly what: string } | null = null;
    for (const [index, item] of batch.entries()) {
      try {
        const pending = this.#commit([item]);
        if (pending instanceof Promise) await pending;
      } catch (error) {
        if (!this.#store.isInvalidCommand(error)) {
          // First in the queue, so that it can be repeated alone.
          this.#queue = [...batch.slice(index), ...stuck, ...this.#queue.slice(batch.length)];
          return this.#fail(error, '', 1);
        }
        if (stays(item)) {
          stuck.push(item);
          reason = { error, what: `${item.command.ref}: ` };
        } else item.done(new AppError('internal', {}, error));
      }
    }
    this.#queue = [...stuck, ...this.#queue.slice(batch.length)];
    this.#unresolved = 0;
    // What was delivered and cannot be billed is a failure too: nothing more is sold until an operator has looked.
    if (reason !== null) return this.#fail(reason.error, reason.what);
    this.#nextTurn();
  }

  /** From the first failed commit on: work that was not done yet is refused; settlements stay, whatever the reason, until they are written. */
  #fail(error: unknown, what = '', attempted = 0): void {
    const reason = what + (this.#store.reasonOf?.(error) ?? messageOf(error));
    this.#failing = reason;
    this.#unresolved = this.#store.isUncertain?.(error) === true ? attempted : 0;
    const rejected = new AppError('storage_unavailable', { reason }, error);
    this.#keep();
    const stay: Waiting[] = [];
    const released: number[] = [];
    for (const [index, item] of this.#queue.entries()) {
      if (index < this.#unresolved) stay.push(item);
      else if (item.kept > 0) released.push(item.kept);
      else if (stays(item)) stay.push(item);
      else item.done(rejected);
    }
    this.#queue = stay;
    if (released.length > 0) this.#outbox?.release(released);
    this.#reportHealth();
    this.#timers.set(() => void this.#turn(), this.#retryMs);
    this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
  }

  /** No request is admitted while storage fails, so only a write of our own can show that it works again. */
  async #probe(): Promise<void> {
    this.#resolveDrained();
    try {
      const pending = this.#store.probe();
      if (pending instanceof Promise) await pending;
    } catch (error) {
      return this.#fail(error);
    }
    this.#recover();
    await this.#turn();
  }

  #recover(): void {
    this.#failing = null;
    this.#isOutboxFull = false;
    this.#retryMs = firstRetryMs;
    this.#reportHealth();
  }

  #settleDown(): void {
    this.#isRunning = false;
    this.#resolveDrained();
    this.#idle?.close();
    if (this.#store.checkpoint === undefined) return;
    this.#idle = this.#timers.set(() => this.#checkpoint(), idleMs);
    this.#idle.unref();
  }

  #checkpoint(): void {
    try {
      this.#store.checkpoint?.('TRUNCATE');
    } catch {
      // The disk is full or a reader is active; the next quiet moment will do.
    }
  }

  #resolveDrained(): void {
    for (const resolve of this.#drained) resolve();
    this.#drained = [];
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
