/**
 * The ledger of a single machine with a journal as its durable point: what ends a request is acknowledged when it is in the
 * journal, and reaches the tables a moment later, in batches. Everything else goes to the tables at once, behind it.
 */

import type { LedgerCommand, LedgerResult, MoneyEvent } from '../../../server/billing/ledger/commands.ts';
import { isQuota } from '../../../server/billing/ledger/core.ts';
import type { LedgerStore, Outcome } from '../../../server/billing/ports.ts';
import { reasonText } from '../../../server/contract/storage-reasons.ts';
import type { Timer, Timers } from '../../../server/contract/timers.ts';
import { type Journal, JournalFull, linesOf } from '../../journal/journal.ts';
import { busyTimeoutMs } from '../../open.ts';

export interface JournaledDeps {
  readonly store: LedgerStore;
  readonly onBalance: (event: MoneyEvent) => void;
  /** The tables turned down what had been acknowledged. */
  readonly onRejected: (command: LedgerCommand, result: LedgerResult) => void;
  /** There is something for a journal; called until one is there. */
  readonly wanted: () => void;
  readonly timers: Pick<Timers, 'monoNow' | 'set'>;
}

interface Acknowledged {
  readonly command: LedgerCommand;
  /** In the journal; that of the one before for what no journal keeps. */
  readonly sequence: number;
  readonly at: number;
}

/** So many wait before they are applied, or so long. */
const maxBatch = 1000;
const applyMs = 250;
/** Notes are in no journal, whose size bounds the others: while the tables take nothing, so many of all wait, and notes beyond are dropped. */
const maxWaiting = 5000;
/** One transaction: some 2 ms, for which nobody is acknowledged. */
const sliceCommands = 128;
/** Readers that come one after the other share a batch: it waits for so many times what the one before took, and no longer than this. */
const flushPauseFactor = 4;
const maxFlushPauseMs = 20;
const firstRetryMs = 10;
const maxRetryMs = 1000;
/** For so long a batch waits for another connection that writes: requests wait for a sync of the journal behind it. */
const batchBusyMs = 10;
/** The same where nothing is acknowledged before it is written, so that this thread can report why. */
const fullBusyMs = 250;
/** Another connection may write for so long before anybody is alarmed. */
const maxBusyMs = 10_000;

const done: LedgerResult = { status: 'done' };

/** Command types that the journal keeps; a note may be lost with the process. */
const isJournaled = ({ type }: LedgerCommand): boolean => type === 'settle' || type === 'hold' || type === 'void';

/** Its answer is known before the tables say it. */
function mayWait(command: LedgerCommand): boolean {
  if (command.ref === '') return false;
  if (command.type === 'settle') return isQuota(command.amount, 0);
  if (command.type === 'hold') return isQuota(command.estimate, 0) && isQuota(command.observed, 0);
  return command.type === 'void' || command.type === 'note';
}

export class JournaledStore {
  readonly #store: LedgerStore;
  readonly #timers: JournaledDeps['timers'];
  readonly #onBalance: JournaledDeps['onBalance'];
  readonly #onRejected: JournaledDeps['onRejected'];
  readonly #wanted: () => void;
  #journal: Journal | null = null;
  /** In order: the first has waited longest. */
  #waiting: Acknowledged[] = [];
  /** Requests whose end is among them. */
  readonly #ended = new Set<string>();
  /** Sequence number up to which the tables have them, and up to which a power cut takes none of it. */
  #applied = 0;
  #durable = 0;
  /** The last write to the journal failed. */
  #isBroken = false;
  /** Commits without a sync may be lost: until all of them are written to the file anew, no sync says anything. */
  #isDoubtful = false;
  /** Commits are durable when they return. */
  #isEach = true;
  #timer: Timer | null = null;
  #isUrgent = false;
  /** The next flush may begin then. */
  #flushFrom = Number.NEGATIVE_INFINITY;
  /** What the slices since the tables last had everything took. */
  #busyMs = 0;
  #retryMs = firstRetryMs;
  #trouble: string | null = null;
  #changed: () => void = () => undefined;
  #flushes: { readonly until: number; readonly done: (isWhole: boolean) => void }[] = [];
  /** Counts everything that has waited. */
  #taken = 0;
  #given = 0;

  constructor({ store, onBalance, onRejected, wanted, timers }: JournaledDeps) {
    this.#store = store;
    this.#onBalance = onBalance;
    this.#onRejected = onRejected;
    this.#wanted = wanted;
    this.#timers = timers;
  }

  /** From here on. @param journal everything in it is in the tables, and durable there. */
  use(journal: Journal): void {
    this.#journal = journal;
    this.#applied = journal.last;
    this.#durable = journal.last;
  }

  apply(commands: readonly LedgerCommand[]): Outcome {
    const journal = this.#journal;
    if (journal === null) {
      if (commands.some(isJournaled)) this.#wanted();
      this.#commits('each', busyTimeoutMs);
      return this.#store.apply(commands);
    }
    const kept = commands.filter(isJournaled);
    if (!commands.every(mayWait) || this.#repeats(kept)) return this.#direct(journal, commands);
    if (kept.length > 0) {
      const text = linesOf(kept);
      if (!journal.fits(Buffer.byteLength(text))) return this.#direct(journal, commands);
      this.#append(journal, text, kept.length);
    }
    this.#acknowledge(commands, journal.last - kept.length);
    return { results: commands.map(() => done), events: [] };
  }

  /** Writes to the journal and to the tables, durable in both. @throws the disk's or the driver's error */
  probe(): void {
    this.#commits('each', fullBusyMs);
    this.#restoreTrust();
    this.#onTables(() => this.#store.probe());
    if (this.#journal !== null) this.#append(this.#journal, '', 0);
  }

  isInvalidCommand(error: unknown): boolean {
    return !(error instanceof NotWritten) && this.#store.isInvalidCommand(error);
  }

  reasonOf(error: unknown): string | null {
    return error instanceof NotWritten ? error.message : null;
  }

  trouble(): string | null {
    return this.#trouble;
  }

  watch(changed: () => void): void {
    this.#changed = changed;
  }

  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void {
    this.#store.checkpoint(mode);
  }

  /** Applies all acknowledged commands to the tables. @param done called when they are there, or cannot be now. */
  flush(done: (isWhole: boolean) => void): void {
    if (this.#waiting.length === 0 || this.#trouble !== null) {
      done(this.#waiting.length === 0);
      return;
    }
    this.#flushes.push({ until: this.#taken, done });
    this.#schedule(Math.max(0, this.#flushFrom - this.#timers.monoNow()), true);
  }

  /** All of it is in the tables, and durable there. @throws NotWritten */
  flushNow(busyMs = busyTimeoutMs): void {
    this.#commits('each', busyMs);
    while (this.#waiting.length > 0) this.#applySlice();
  }

  /** Acknowledges nothing any more. @returns whether everything is in the tables. */
  close(): boolean {
    this.#timer?.close();
    this.#giveUpFlushes();
    const journal = this.#journal;
    this.#journal = null;
    if (journal === null) return true;
    try {
      this.#settle(busyTimeoutMs);
      journal.settled();
      return true;
    } catch {
      // reason: the disk alone. The next opening reads the journal.
      return false;
    } finally {
      journal.close();
    }
  }

  #commits(durable: 'each' | 'later', busyMs: number): void {
    this.#isEach = durable === 'each';
    this.#store.commits(durable, busyMs);
  }

  /** A request that waits has another end: only the tables say what it means. */
  #repeats(kept: readonly LedgerCommand[]): boolean {
    let ends = 0;
    const refs = new Set<string>();
    for (const { type, ref } of kept) {
      if (type === 'hold') continue;
      if (this.#ended.has(ref)) return true;
      ends++;
      refs.add(ref);
    }
    return refs.size < ends;
  }

  #direct(journal: Journal, commands: readonly LedgerCommand[]): Outcome {
    // A journal that fails has to be written again before anything else is.
    if (this.#isBroken) this.#append(journal, '', 0);
    // Ends of requests are tried again; other work is refused.
    this.flushNow(commands.every(mayWait) ? fullBusyMs : busyTimeoutMs);
    this.#restoreTrust();
    return this.#onTables(() => this.#store.apply(commands));
  }

  #append(journal: Journal, text: string, count: number): void {
    try {
      this.#isBroken = true;
      try {
        journal.append(text, count, this.#durable);
      } catch (error) {
        if (!(error instanceof JournalFull)) throw error;
        this.#settle(fullBusyMs);
        journal.append(text, count, this.#durable);
      }
      this.#isBroken = false;
    } catch (error) {
      throw error instanceof NotWritten ? error : new NotWritten(messageOf(error), error);
    }
  }

  /** Makes the tables durable, so that a file of the journal can be written over. @throws NotWritten; the driver's error */
  #settle(busyMs: number): void {
    this.flushNow(busyMs);
    this.#restoreTrust();
    if (this.#durable === this.#applied) return;
    this.#onTables(() => this.#store.apply([], this.#applied));
    this.#durable = this.#applied;
  }

  #onTables<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (this.#store.isLoss(error)) this.#isDoubtful = true;
      throw error;
    }
  }

  /**
   * Linux reports a failed write once and takes the page for clean then: the next sync succeeds without it. A checkpoint
   * writes from memory to the file, and says whether that is durable. @throws NotWritten; the driver's error
   */
  #restoreTrust(): void {
    if (!this.#isDoubtful) return;
    if (!this.#store.checkpoint('TRUNCATE')) throw new NotWritten(reasonText('unconfirmed'), null);
    this.#isDoubtful = false;
  }

  #acknowledge(commands: readonly LedgerCommand[], before: number): void {
    const at = this.#timers.monoNow();
    let sequence = before;
    const isFull = this.#trouble !== null || this.#waiting.length >= maxWaiting;
    for (const command of commands) {
      if (command.type === 'note' && isFull) continue;
      if (isJournaled(command)) sequence++;
      if (command.type === 'settle' || command.type === 'void') this.#ended.add(command.ref);
      this.#waiting.push({ command, sequence, at });
    }
    this.#taken = this.#given + this.#waiting.length;
    if (this.#waiting.length === 0) return;
    this.#schedule(this.#waiting.length >= maxBatch ? 0 : applyMs, this.#waiting.length >= maxBatch);
  }

  #schedule(ms: number, isUrgent: boolean): void {
    if (this.#timer !== null && (this.#isUrgent || !isUrgent)) return;
    this.#timer?.close();
    this.#isUrgent = isUrgent;
    this.#timer = this.#timers.set(() => this.#run(), ms);
  }

  /** One slice; the next one has to let whoever waits for a sync go first. */
  #run(): void {
    this.#timer = null;
    this.#isUrgent = false;
    const first = this.#waiting[0];
    if (first === undefined) {
      this.#answerFlushes(true);
      return;
    }
    const began = this.#timers.monoNow();
    try {
      this.#commits('later', batchBusyMs);
      this.#applySlice();
    } catch (error) {
      this.#failed(error, first);
      return;
    } finally {
      this.#busyMs += this.#timers.monoNow() - began;
    }
    this.#retryMs = firstRetryMs;
    this.#report(null);
    this.#answerFlushes(false);
    if (this.#waiting.length > 0) {
      this.#schedule(0, true);
      return;
    }
    this.#flushFrom = this.#timers.monoNow() + Math.min(maxFlushPauseMs, flushPauseFactor * this.#busyMs);
    this.#busyMs = 0;
  }

  #failed(error: unknown, first: Acknowledged): void {
    const cause = error instanceof NotWritten ? error.cause : error;
    if (!this.#store.isBusy(cause)) this.#report(messageOf(error));
    else if (this.#timers.monoNow() - first.at > maxBusyMs) this.#report(reasonText('behind'));
    if (this.#trouble !== null) this.#giveUpFlushes();
    this.#schedule(this.#retryMs, true);
    this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
  }

  #report(trouble: string | null): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#changed();
  }

  #answerFlushes(isAll: boolean): void {
    const ready = this.#flushes.filter(({ until }) => isAll || until <= this.#given);
    if (ready.length === 0) return;
    this.#flushes = this.#flushes.filter((one) => !ready.includes(one));
    for (const one of ready) one.done(true);
  }

  #giveUpFlushes(): void {
    const flushes = this.#flushes;
    this.#flushes = [];
    for (const one of flushes) one.done(false);
  }

  /** @throws NotWritten; then what is left of the slice waits. */
  #applySlice(): void {
    const slice = this.#waiting.slice(0, sliceCommands);
    try {
      this.#write(slice);
    } catch (error) {
      if (!this.#store.isInvalidCommand(error)) throw new NotWritten(messageOf(error), error);
      this.#writeSingly(slice);
    }
  }

  /** One of them is to blame: those before it are written, and it is named. */
  #writeSingly(slice: readonly Acknowledged[]): void {
    for (const one of slice)
      try {
        this.#write([one]);
      } catch (error) {
        throw new NotWritten(`${one.command.ref}: ${messageOf(error)}`, error);
      }
  }

  #write(slice: readonly Acknowledged[]): void {
    const through = slice.at(-1)?.sequence ?? 0;
    const commands = slice.map(({ command }) => command);
    const { results, events } = this.#onTables(() => this.#store.apply(commands, through));
    // A commit of notes alone has no mark of the journal.
    if (through > this.#applied) {
      this.#applied = through;
      if (this.#isEach && !this.#isDoubtful) this.#durable = through;
    }
    this.#waiting = this.#waiting.slice(slice.length);
    this.#given += slice.length;
    for (const [index, { command }] of slice.entries()) {
      if (command.type !== 'hold') this.#ended.delete(command.ref);
      const result = results[index];
      if (result !== undefined && result.status !== 'done' && result.status !== 'duplicate')
        this.#onRejected(command, result);
    }
    for (const event of events) this.#onBalance(event);
  }
}

/** The journal takes nothing, or what was acknowledged does not get into the tables: a failure of storage, whatever the reason. */
export class NotWritten extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
