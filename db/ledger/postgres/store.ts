/**
 * The ledger's store on PostgreSQL. Every transaction of a node begins by raising its row's number by one: that fences off a
 * node whose time has run out, orders the node's transactions, and shows after a lost connection whether
 * the last one was committed.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { LedgerCommand } from '../../../server/billing/ledger/commands.ts';
import type { LeaseMove, MoveOutcome } from '../../../server/billing/ports.ts';
import { failureOf, reasonText } from '../../../server/contract/storage-reasons.ts';
import { decideLeases, readsForLeases } from '../../postgres/leases.ts';
import { type Answer, type Line, type Statement, staleCodes } from '../../postgres/line.ts';
import { begin, defaultLeaseSeconds, type Fence, inspect, type SeqMark, startNode } from '../../postgres/nodes.ts';
import { NameMemory } from '../names.ts';
import { type BatchOutcome, decideBatch } from './batch.ts';
import { readsFor } from './known.ts';

/** Copies of what is confirmed, kept for a while beside the node. */
export interface AcknowledgedBatches {
  /** @throws when it cannot be kept; then the batch is not committed. */
  keep(mark: SeqMark, commands: readonly LedgerCommand[]): void;
  /** Drops a mark whose transaction was not committed. */
  discard(mark: SeqMark): void;
  since(mark: SeqMark): readonly LedgerCommand[];
  /** Everything later than that was taken care of. */
  markResent(mark: SeqMark): void;
  /** The last of each run. */
  marks(): readonly SeqMark[];
}

export interface PostgresLedgerDeps {
  readonly connect: () => Promise<Line>;
  readonly node: {
    readonly name: string;
    readonly version: string;
    readonly schema: string;
    /** Its leases end so long after the last heartbeat reached the database. */
    readonly leaseSeconds?: number;
  };
  readonly acknowledged: AcknowledgedBatches;
  /** The database is about to note that this node lives. @returns to be called when it has. */
  readonly sign?: () => () => void;
  /** The node continues under a new epoch: its leases are void. */
  readonly onEpoch: (epoch: number) => void;
  /** The database does not have what it had confirmed: to be sent again. @param done to be called when that cannot be lost any more. */
  readonly onUnlisted: (commands: readonly LedgerCommand[], done: () => void) => void;
  /** The database cannot be reached, or it can again. @param error of the driver; null = again. */
  readonly onConnectionError?: (error: unknown) => void;
  /** Milliseconds that never go back. */
  readonly monoNow?: () => number;
  /** Distinguishes processes that had the same epoch: an older copy of the database issues it again. */
  readonly newRun: () => string;
  /** Epoch seconds. */
  readonly now: () => number;
}

export interface PostgresLedgerStore {
  apply(commands: readonly LedgerCommand[]): Promise<BatchOutcome>;
  /**
   * Acquires and returns leases, in one transaction. When its outcome is unknown, the same moves have to be sent again.
   * @param epoch whose leases they are; under another one nothing is done. @throws then, too.
   */
  move(moves: readonly LeaseMove[], epoch: number): Promise<MoveOutcome>;
  /** Says that the node lives, and writes nothing else. */
  probe(): Promise<void>;
  isInvalidCommand(error: unknown): boolean;
  isUncertain(error: unknown): boolean;
  /** The last attempt could not reach the database, or its transaction is still unanswered: callers need not wait for it. */
  unavailable(): boolean;
  /** In words for callers, where the driver's would be the only ones; null = the error has words of its own. */
  reasonOf(error: unknown): string | null;
  /** 0 = it has none yet. */
  epoch(): number;
  close(): void;
}

interface Work<Value> {
  /** Identifies a repeated request. */
  readonly requested: readonly unknown[];
  readonly commands: readonly LedgerCommand[];
  readonly statements: readonly Statement[];
  readonly decide: (answers: readonly Answer[]) => { readonly value: Value; readonly statements: readonly Statement[] };
}

/** The connection broke while a COMMIT was on its way. */
class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super(reasonText('commit_unknown'), { cause });
  }
}

/** The row of this node has expired, or belongs to another. */
class FencedError extends Error {}

type Kind = 'apply' | 'move' | 'budgets' | 'probe';

/** A transaction whose COMMIT was sent and not answered. */
interface Pending {
  readonly seq: number;
  readonly requested: readonly unknown[];
  readonly commands: readonly LedgerCommand[];
  readonly value: unknown;
  readonly kind: Kind;
}

const noop = () => undefined;

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

/** Callers that can do without the result stop waiting after this long: most transactions take some milliseconds. */
const silentMs = 2000;

/** Two nodes conflicted, or a statement has to be parsed again: the transaction that lost starts again with the same number. */
const collisions = new Set(['23505', '40001', '40P01', '55P03', ...staleCodes]);
const maxAttempts = 6;
const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

const nothing: Omit<Work<null>, 'requested'> = {
  commands: [],
  statements: [],
  decide: () => ({ value: null, statements: [] }),
};

export class PostgresLedger implements PostgresLedgerStore {
  readonly #deps: PostgresLedgerDeps;
  readonly #leaseSeconds: number;
  readonly #monoNow: () => number;
  #line: Line | null = null;
  #fence: Fence | null = null;
  /** Last number that is known to be committed. */
  #seq = 0;
  #pending: Pending | null = null;
  /** The last result of each kind, for callers that come again with the same arguments. */
  readonly #found = new Map<Kind, { readonly requested: readonly unknown[]; readonly value: unknown }>();
  /** Names of agents and projects that their table is known to have. */
  readonly #names = new NameMemory();
  /** Ends with the last transaction that was asked for. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Since when the transaction under way, with its connection, waits for an answer. */
  #since: number | null = null;
  #isUnreachable = false;

  constructor(deps: PostgresLedgerDeps) {
    this.#deps = deps;
    this.#leaseSeconds = deps.node.leaseSeconds ?? defaultLeaseSeconds;
    this.#monoNow = deps.monoNow ?? (() => performance.now());
  }

  apply(commands: readonly LedgerCommand[]): Promise<BatchOutcome> {
    let names: NameMemory | null = null;
    const work = () => {
      const { statements, read } = readsFor(commands, this.#names);
      return {
        commands,
        statements,
        decide: (answers: readonly Answer[]) => {
          const decided = decideBatch(commands, read(answers), this.epoch(), this.#names);
          names = decided.names;
          return { value: decided.outcome, statements: decided.statements };
        },
      };
    };
    return this.#exclusive(async () => {
      const outcome = await this.#settled<BatchOutcome>('apply', commands, work);
      names?.committed();
      return outcome;
    });
  }

  move(moves: readonly LeaseMove[], epoch: number): Promise<MoveOutcome> {
    const work = () => {
      const { statements, read } = readsForLeases(moves, epoch);
      return {
        commands: [],
        statements,
        decide: (answers: readonly Answer[]) => {
          if (this.#fence?.epoch !== epoch) throw new FencedError('its leases were taken under another number');
          return decideLeases(moves, read(answers), epoch);
        },
      };
    };
    // They are ordered apart from each other: what became of the one says nothing of the other.
    const kind = moves.some((one) => one.kind === 'budget') ? 'budgets' : 'move';
    return this.#exclusive(() => this.#settled<MoveOutcome>(kind, moves, work));
  }

  async probe(): Promise<void> {
    await this.#exclusive(() => this.#settled('probe', [], () => nothing));
  }

  isInvalidCommand(error: unknown): boolean {
    return isInvalidCommand(error);
  }

  isUncertain(error: unknown): boolean {
    return error instanceof CommitUnknown;
  }

  unavailable(): boolean {
    return this.#isUnreachable || this.#isSilent();
  }

  reasonOf(error: unknown): string | null {
    return this.#isUnreachable || !hasOwnMessage(error) ? reasonText('database_away') : null;
  }

  epoch(): number {
    return this.#fence?.epoch ?? 0;
  }

  close(): void {
    this.#line?.close();
  }

  /** One transaction at a time. */
  #exclusive<Value>(work: () => Promise<Value>): Promise<Value> {
    const timed = () => this.#timed(work);
    const next = this.#turn.then(timed, timed);
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #timed<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#since = this.#monoNow();
    try {
      const value = await work();
      this.#noteConnection(null);
      return value;
    } catch (error) {
      if (this.#line !== null && !this.#line.broken) this.#noteConnection(null);
      else if (this.#isSilent() || this.#line === null) this.#noteConnection(error);
      throw error;
    } finally {
      this.#since = null;
    }
  }

  #isSilent(): boolean {
    return this.#since !== null && this.#monoNow() - this.#since >= silentMs;
  }

  /** @param error null = the database was reached. */
  #noteConnection(error: unknown): void {
    if (this.#isUnreachable === (error !== null)) return;
    this.#isUnreachable = error !== null;
    this.#deps.onConnectionError?.(error instanceof CommitUnknown ? error.cause : error);
  }

  #sign(): () => void {
    return this.#deps.sign?.() ?? noop;
  }

  async #settled<Value>(
    kind: Kind,
    requested: readonly unknown[],
    work: () => Omit<Work<Value>, 'requested'>,
  ): Promise<Value> {
    await this.#resolvePending(kind, requested);
    const earlier = this.#isFound(kind, requested) ? this.#found.get(kind) : undefined;
    this.#found.delete(kind);
    if (earlier !== undefined) return earlier.value as Value;
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#attempt({ ...work(), requested }, kind);
      } catch (error) {
        if (attempts >= maxAttempts || !collisions.has(codeOf(error))) throw error;
        await pause(attempts * 5);
      }
    }
  }

  /** A new connection finds out what became of the last transaction. */
  async #resolvePending(kind: Kind, requested: readonly unknown[]): Promise<void> {
    if (this.#pending === null) return;
    // A caller whose command was done but who got no answer has to send the same command again.
    const isOwn = this.#pending.kind === kind || this.#isFound(kind, requested);
    try {
      await this.#connected();
    } catch (error) {
      throw isOwn ? new CommitUnknown(error) : error;
    }
  }

  #isFound(kind: Kind, requested: readonly unknown[]): boolean {
    const earlier = this.#found.get(kind);
    return earlier !== undefined && isSame(earlier.requested, requested);
  }

  async #attempt<Value>(work: Work<Value>, kind: Kind): Promise<Value> {
    const line = await this.#connected();
    const fence = this.#fence;
    if (fence === null) throw new FencedError('it has no number');
    try {
      return await this.#commit(line, fence, work, kind);
    } catch (error) {
      if (line.broken) {
        if (this.#pending === null || error instanceof CommitUnknown) throw error;
        throw new CommitUnknown(error);
      }
      if (this.#pending !== null) this.#deps.acknowledged.discard({ ...fence, seq: this.#pending.seq });
      this.#pending = null;
      await line.send([{ text: 'ROLLBACK' }]).catch(() => line.close());
      throw error;
    }
  }

  async #commit<Value>(line: Line, fence: Fence, work: Work<Value>, kind: Kind): Promise<Value> {
    const next = this.#seq + 1;
    const done = this.#sign();
    const head = startNode(fence, next, this.#leaseSeconds);
    const answers = await line.send([...head, ...work.statements]);
    if (answers[head.length - 1]?.rows.length === 0) {
      await line.send([{ text: 'ROLLBACK' }]);
      // Either its number is unchanged or its time is over: the next connection shows which.
      line.close();
      throw new FencedError(reasonText('declared_gone'));
    }
    const { value, statements } = work.decide(answers.slice(head.length));
    if (work.commands.length > 0) this.#deps.acknowledged.keep({ ...fence, seq: next }, work.commands);
    this.#pending = { seq: next, requested: work.requested, commands: work.commands, value, kind };
    line.wasLocal();
    const last = (await line.send([...statements, { text: 'COMMIT' }])).at(-1);
    // On one disk alone it is not durable where two are required; another commit that waits for both confirms it.
    if (line.wasLocal() || last?.command !== 'COMMIT') {
      line.close();
      throw new CommitUnknown(new Error(last?.command));
    }
    this.#pending = null;
    this.#seq = next;
    done();
    return value;
  }

  async #connected(): Promise<Line> {
    const line = this.#line === null || this.#line.broken ? await this.#reconnect() : this.#line;
    if (this.#fence === null) await this.#enlist(line);
    return line;
  }

  async #reconnect(): Promise<Line> {
    this.#line?.close();
    this.#line = null;
    const fresh = await this.#deps.connect();
    try {
      await this.#verify(fresh);
    } catch (error) {
      fresh.close();
      throw error;
    }
    this.#line = fresh;
    return fresh;
  }

  /** Whatever is believed is compared with what is there: the server may be another one than a moment ago. */
  async #verify(line: Line): Promise<void> {
    const fence = this.#fence;
    if (fence === null) return;
    const done = this.#sign();
    const row = await inspect(line, fence, this.#leaseSeconds);
    if (row.alive) done();
    if (this.#pending !== null) this.#judgePending(this.#pending, fence, row.seq);
    // Commands that it lost are sent again under a new number, as those of a node that was declared gone.
    if (!row.alive || row.seq < this.#seq) this.#fence = null;
    this.#seq = row.seq;
  }

  /** @param committed the last number that the database knows. */
  #judgePending({ seq, kind, requested, value }: Pending, fence: Fence, committed: number): void {
    if (committed < seq) this.#deps.acknowledged.discard({ ...fence, seq });
    else {
      // Every sign of life is another one, though all of them ask for the same.
      if (kind !== 'probe') this.#found.set(kind, { requested, value });
      this.#seq = seq;
    }
    this.#pending = null;
  }

  /** Begins under a new number; what the database lacks of earlier ones is sent again. */
  async #enlist(line: Line): Promise<void> {
    const { acknowledged, node, newRun, now, onEpoch, onUnlisted } = this.#deps;
    const done = this.#sign();
    const run = newRun();
    const order = { ...node, leaseSeconds: this.#leaseSeconds, run, now: now() };
    const started = await begin(line, order, acknowledged.marks());
    // The database may be an older copy.
    this.#names.forget();
    this.#fence = { epoch: started.epoch, run };
    this.#seq = 0;
    onEpoch(started.epoch);
    done();
    for (const mark of started.behind) onUnlisted(acknowledged.since(mark), () => acknowledged.markResent(mark));
  }
}

/** Of this store itself, or of a server that answers; all else is about the way to it. */
const hasOwnMessage = (error: unknown): boolean => {
  const { message = '', severity } = (error ?? {}) as { message?: string; severity?: unknown };
  const isGoing = /^(08|57P)/.test(codeOf(error));
  return (severity !== undefined && !isGoing) || (failureOf(message)?.code ?? 'storage') !== 'storage';
};

/** Data that PostgreSQL cannot keep, or that its checks refuse; everything else is storage. */
function isInvalidCommand(error: unknown): boolean {
  if (error instanceof CommitUnknown || error instanceof FencedError) return false;
  return /^(22|23)[0-9A-Z]{3}$/.test(codeOf(error));
}
