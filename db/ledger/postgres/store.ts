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
import { type BatchOutcome, decideBatch } from './batch.ts';
import { readsFor } from './known.ts';

/** Copies of what is confirmed, kept for a while beside the node. */
export interface AcknowledgedBatches {
  /** @throws when it cannot be kept; then the batch is not committed. */
  keep(mark: SeqMark, commands: readonly LedgerCommand[]): void;
  /** It was not committed. */
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

type Kind = 'apply' | 'move' | 'probe';

/** A transaction whose COMMIT was sent and not answered. */
interface Pending {
  readonly seq: number;
  readonly requested: readonly unknown[];
  readonly commands: readonly LedgerCommand[];
  readonly value: unknown;
  readonly kind: Kind;
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

/** Callers that can do without the result stop waiting after this long: most transactions take some milliseconds. */
const silentMs = 2000;

/** Two nodes conflicted, or a statement has to be parsed again: the transaction that lost starts again with the same number. */
const collisions = new Set(['23505', '40001', '40P01', '55P03', ...staleCodes]);
const maxAttempts = 6;
const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

export function createPostgresLedgerStore(deps: PostgresLedgerDeps): PostgresLedgerStore {
  const { leaseSeconds = defaultLeaseSeconds } = deps.node;
  const sign = deps.sign ?? (() => () => undefined);
  let line: Line | null = null;
  let fence: Fence | null = null;
  /** Last number that is known to be committed. */
  let seq = 0;
  let pending: Pending | null = null;
  /** What came of such transactions, for those who come again with the same. */
  const found = new Map<Kind, { readonly requested: readonly unknown[]; readonly value: unknown }>();
  let turn: Promise<unknown> = Promise.resolve();
  const monoNow = deps.monoNow ?? (() => performance.now());
  /** Since when the transaction under way, with its connection, waits for an answer. */
  let since: number | null = null;
  let unreachable = false;
  const isSilent = (): boolean => since !== null && monoNow() - since >= silentMs;
  const reached = (error: unknown) => {
    if (unreachable === (error !== null)) return;
    unreachable = error !== null;
    deps.onConnectionError?.(error instanceof CommitUnknown ? error.cause : error);
  };

  const exclusive = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const timed = async () => {
      since = monoNow();
      try {
        const value = await work();
        reached(null);
        return value;
      } catch (error) {
        if (line !== null && !line.broken) reached(null);
        else if (isSilent() || line === null) reached(error);
        throw error;
      } finally {
        since = null;
      }
    };
    const next = turn.then(timed, timed);
    turn = next.catch(() => undefined);
    return next;
  };

  /** Whatever is believed is compared with what is there: the server may be another one than a moment ago. */
  const verify = async (on: Line) => {
    if (fence === null) return;
    const done = sign();
    const row = await inspect(on, fence, leaseSeconds);
    if (row.alive) done();
    if (pending !== null) {
      const committed = row.seq >= pending.seq;
      const { kind, requested, value } = pending;
      // Every sign of life is another one, though all of them ask for the same.
      if (committed && kind !== 'probe') found.set(kind, { requested, value });
      if (committed) seq = pending.seq;
      else deps.acknowledged.discard({ ...fence, seq: pending.seq });
      pending = null;
    }
    // Commands that it lost are sent again under a new number, as those of a node that was declared gone.
    if (!row.alive || row.seq < seq) fence = null;
    seq = row.seq;
  };

  const connected = async (): Promise<Line> => {
    if (line === null || line.broken) {
      line?.close();
      line = null;
      const fresh = await deps.connect();
      try {
        await verify(fresh);
      } catch (error) {
        fresh.close();
        throw error;
      }
      line = fresh;
    }
    if (fence === null) {
      const { marks, since, markResent } = deps.acknowledged;
      const done = sign();
      const run = deps.newRun();
      const started = await begin(line, { ...deps.node, leaseSeconds, run, now: deps.now() }, marks());
      fence = { epoch: started.epoch, run };
      seq = 0;
      deps.onEpoch(fence.epoch);
      done();
      for (const mark of started.behind) deps.onUnlisted(since(mark), () => markResent(mark));
    }
    return line;
  };

  const commit = async <Value>(on: Line, own: Fence, work: Work<Value>, kind: Kind): Promise<Value> => {
    const next = seq + 1;
    const done = sign();
    const head = startNode(own, next, leaseSeconds);
    const answers = await on.send([...head, ...work.statements]);
    if (answers[head.length - 1]?.rows.length === 0) {
      await on.send([{ text: 'ROLLBACK' }]);
      // Either its number is unchanged or its time is over: the next connection shows which.
      on.close();
      throw new FencedError(reasonText('declared_gone'));
    }
    const { value, statements } = work.decide(answers.slice(head.length));
    if (work.commands.length > 0) deps.acknowledged.keep({ ...own, seq: next }, work.commands);
    pending = { seq: next, requested: work.requested, commands: work.commands, value, kind };
    on.wasLocal();
    const last = (await on.send([...statements, { text: 'COMMIT' }])).at(-1);
    // On one disk alone it is not durable where two are required; another commit that waits for both confirms it.
    if (on.wasLocal() || last?.command !== 'COMMIT') {
      on.close();
      throw new CommitUnknown(new Error(last?.command));
    }
    pending = null;
    seq = next;
    done();
    return value;
  };

  const attempt = async <Value>(work: Work<Value>, kind: Kind): Promise<Value> => {
    const on = await connected();
    if (fence === null) throw new FencedError('it has no number');
    try {
      return await commit(on, fence, work, kind);
    } catch (error) {
      if (on.broken) {
        if (pending === null || error instanceof CommitUnknown) throw error;
        throw new CommitUnknown(error);
      }
      if (pending !== null) deps.acknowledged.discard({ ...fence, seq: pending.seq });
      pending = null;
      await on.send([{ text: 'ROLLBACK' }]).catch(() => on.close());
      throw error;
    }
  };

  const isFound = (kind: Kind, requested: readonly unknown[]): boolean => {
    const earlier = found.get(kind);
    return earlier !== undefined && isSame(earlier.requested, requested);
  };

  /** A new connection finds out what became of the last transaction. */
  const resolve = async (kind: Kind, requested: readonly unknown[]) => {
    if (pending === null) return;
    // A caller whose command was done but who got no answer has to send the same command again.
    const isOwn = pending.kind === kind || isFound(kind, requested);
    try {
      await connected();
    } catch (error) {
      throw isOwn ? new CommitUnknown(error) : error;
    }
  };

  const settled = async <Value>(
    requested: readonly unknown[],
    work: () => Omit<Work<Value>, 'requested'>,
    kind: Kind,
  ): Promise<Value> => {
    await resolve(kind, requested);
    const earlier = isFound(kind, requested) ? found.get(kind) : undefined;
    found.delete(kind);
    if (earlier !== undefined) return earlier.value as Value;
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt({ ...work(), requested }, kind);
      } catch (error) {
        if (attempts >= maxAttempts || !collisions.has(codeOf(error))) throw error;
        await pause(attempts * 5);
      }
    }
  };

  const nothing: Omit<Work<null>, 'requested'> = {
    commands: [],
    statements: [],
    decide: () => ({ value: null, statements: [] }),
  };

  return {
    apply: (commands) =>
      exclusive(() =>
        settled<BatchOutcome>(
          commands,
          () => {
            const { statements, read } = readsFor(commands);
            return {
              commands,
              statements,
              decide: (answers) => {
                const { outcome, statements: writes } = decideBatch(commands, read(answers), fence?.epoch ?? 0);
                return { value: outcome, statements: writes };
              },
            };
          },
          'apply',
        ),
      ),
    move: (moves, epoch) =>
      exclusive(() =>
        settled<MoveOutcome>(
          moves,
          () => {
            const { statements, read } = readsForLeases(moves, epoch);
            return {
              commands: [],
              statements,
              decide(answers) {
                if (fence?.epoch !== epoch) throw new FencedError('its leases were taken under another number');
                return decideLeases(moves, read(answers), epoch);
              },
            };
          },
          'move',
        ),
      ),
    probe: () => exclusive(async () => void (await settled([], () => nothing, 'probe'))),
    isInvalidCommand,
    isUncertain: (error) => error instanceof CommitUnknown,
    unavailable: () => unreachable || isSilent(),
    reasonOf: (error) => (unreachable || !hasOwnMessage(error) ? reasonText('database_away') : null),
    epoch: () => fence?.epoch ?? 0,
    close: () => line?.close(),
  };
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
