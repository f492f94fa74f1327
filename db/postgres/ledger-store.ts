/**
 * The ledger's store on PostgreSQL. Every transaction of a node begins by raising its row's number by one: that fences off a
 * node whose time has run out, makes the node's transactions follow one another, and tells after a lost connection whether
 * the last one was committed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { reasonText } from '../../server/contract/storage-reasons.ts';
import type { LedgerCommand } from '../../server/ledger/commands.ts';
import { decideMoves, type LeaseMove, type MoveOutcome, readsForMoves } from './leases.ts';
import { type BatchOutcome, decideBatch } from './ledger-batch.ts';
import { readsFor } from './ledger-known.ts';
import { type Answer, type Line, type Statement, staleCodes } from './line.ts';
import { begin, beginning, type Fence, lookAt } from './nodes.ts';

/** Batches that were confirmed, kept for a while beside the node. */
export interface AcknowledgedBatches {
  note(epoch: number, seq: number, commands: readonly LedgerCommand[]): void;
  since(epoch: number, seq: number): readonly LedgerCommand[];
  /** The last of each epoch. */
  marks(): readonly { readonly epoch: number; readonly seq: number }[];
}

export interface PostgresLedgerDeps {
  readonly connect: () => Promise<Line>;
  readonly node: { readonly name: string; readonly version: string; readonly schema: string };
  readonly acknowledged: AcknowledgedBatches;
  /** The database is about to note that this node lives. @returns to be called when it has. */
  readonly sign?: () => () => void;
  /** The node goes by another number from now on: whatever it had leased is not its own any more. */
  readonly onEpoch: (epoch: number) => void;
  /** The database forgot what it had confirmed: to be sent again. */
  readonly onForgotten: (commands: readonly LedgerCommand[]) => void;
  /** Tells starts of processes apart. */
  readonly newRun: () => string;
  /** Epoch seconds. */
  readonly now: () => number;
}

export interface PostgresLedgerStore {
  apply(commands: readonly LedgerCommand[]): Promise<BatchOutcome>;
  /**
   * Leases taken and given back, in one transaction. When its end is not known, the same moves have to come again.
   * @param epoch whose leases they are; under another one nothing is done. @throws then, too.
   */
  move(moves: readonly LeaseMove[], epoch: number): Promise<MoveOutcome>;
  /** Says that the node lives, and writes nothing else. */
  probe(): Promise<void>;
  isCommandsFault(error: unknown): boolean;
  isUnresolved(error: unknown): boolean;
  /** 0 = it has none yet. */
  epoch(): number;
  close(): void;
}

interface Work<Value> {
  /** What was asked for, by which it is known again. */
  readonly asked: readonly unknown[];
  readonly commands: readonly LedgerCommand[];
  readonly statements: readonly Statement[];
  readonly decide: (answers: readonly Answer[]) => { readonly value: Value; readonly statements: readonly Statement[] };
}

/** The connection broke while a COMMIT was on its way. */
class Unresolved extends Error {
  constructor(cause: unknown) {
    super(reasonText('commit_unknown'), { cause });
  }
}

/** The row of this node says that its time is over, or is another's. */
class Fenced extends Error {}

type Kind = 'apply' | 'move' | 'probe';

/** A transaction whose COMMIT was sent and not answered. */
interface Pending {
  readonly seq: number;
  readonly asked: readonly unknown[];
  readonly commands: readonly LedgerCommand[];
  readonly value: unknown;
  readonly kind: Kind;
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);

/** Two nodes met, or a statement has to be parsed again: whoever lost begins again with the same number. */
const collisions = new Set(['23505', '40001', '40P01', '55P03', ...staleCodes]);
const mostTries = 6;
const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

export function createPostgresLedgerStore(deps: PostgresLedgerDeps): PostgresLedgerStore {
  const run = deps.newRun();
  const sign = deps.sign ?? (() => () => undefined);
  let line: Line | null = null;
  let fence: Fence | null = null;
  /** Last number that is known to be committed. */
  let seq = 0;
  let pending: Pending | null = null;
  /** What came of such transactions, for those who come again with the same. */
  const found = new Map<Kind, { readonly asked: readonly unknown[]; readonly value: unknown }>();
  let turn: Promise<unknown> = Promise.resolve();

  const alone = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const next = turn.then(work, work);
    turn = next.catch(() => undefined);
    return next;
  };

  /** Whatever is believed is compared with what is there: the server may be another one than a moment ago. */
  const verify = async (on: Line) => {
    if (fence === null) return;
    const noted = sign();
    const row = await lookAt(on, fence);
    if (row.alive) noted();
    if (pending !== null) {
      const committed = row.seq >= pending.seq;
      const { kind, asked, value } = pending;
      // Every sign of life is another one, though all of them ask for the same.
      if (committed && kind !== 'probe') found.set(kind, { asked, value });
      if (committed) acknowledge(fence, pending.seq, pending.commands);
      pending = null;
    }
    // What it forgot is sent again under a new number, as what a node says that was declared gone.
    if (!row.alive || row.seq < seq) fence = null;
    seq = row.seq;
  };

  const acknowledge = (own: Fence, number: number, commands: readonly LedgerCommand[]) => {
    seq = number;
    deps.acknowledged.note(own.epoch, number, commands);
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
      const { marks, since } = deps.acknowledged;
      const noted = sign();
      const started = await begin(line, { ...deps.node, run, now: deps.now() }, marks());
      fence = { epoch: started.epoch, run };
      seq = 0;
      deps.onEpoch(fence.epoch);
      noted();
      for (const { epoch, seq: known } of started.behind) deps.onForgotten(since(epoch, known));
    }
    return line;
  };

  const commit = async <Value>(on: Line, own: Fence, work: Work<Value>, kind: Kind): Promise<Value> => {
    const next = seq + 1;
    const noted = sign();
    const head = beginning(own, next);
    const answers = await on.send([...head, ...work.statements]);
    if (answers[head.length - 1]?.rows.length === 0) {
      await on.send([{ text: 'ROLLBACK' }]);
      // Its number is as before, or its time is over: the next connection tells.
      on.close();
      throw new Fenced(reasonText('declared_gone'));
    }
    const { value, statements } = work.decide(answers.slice(head.length));
    pending = { seq: next, asked: work.asked, commands: work.commands, value, kind };
    on.wasLocal();
    const last = (await on.send([...statements, { text: 'COMMIT' }])).at(-1);
    // On one disk alone it is not durable where two are asked for; another commit that waits for both will tell.
    if (on.wasLocal() || last?.command !== 'COMMIT') {
      on.close();
      throw new Unresolved(new Error(last?.command));
    }
    pending = null;
    noted();
    acknowledge(own, next, work.commands);
    return value;
  };

  const attempt = async <Value>(work: Work<Value>, kind: Kind): Promise<Value> => {
    const on = await connected();
    if (fence === null) throw new Fenced('it has no number');
    try {
      return await commit(on, fence, work, kind);
    } catch (error) {
      if (on.broken) {
        if (pending === null || error instanceof Unresolved) throw error;
        throw new Unresolved(error);
      }
      pending = null;
      await on.send([{ text: 'ROLLBACK' }]).catch(() => on.close());
      throw error;
    }
  };

  const isFound = (kind: Kind, asked: readonly unknown[]): boolean => {
    const earlier = found.get(kind);
    return earlier !== undefined && isSame(earlier.asked, asked);
  };

  /** A new connection finds out what became of the last transaction. */
  const resolve = async (kind: Kind, asked: readonly unknown[]) => {
    if (pending === null) return;
    // Whoever asked for what was done and was not told of it has to ask for the same again.
    const isOwn = pending.kind === kind || isFound(kind, asked);
    try {
      await connected();
    } catch (error) {
      throw isOwn ? new Unresolved(error) : error;
    }
  };

  const settled = async <Value>(
    asked: readonly unknown[],
    work: () => Omit<Work<Value>, 'asked'>,
    kind: Kind,
  ): Promise<Value> => {
    await resolve(kind, asked);
    const earlier = isFound(kind, asked) ? found.get(kind) : undefined;
    found.delete(kind);
    if (earlier !== undefined) return earlier.value as Value;
    for (let tries = 1; ; tries++) {
      try {
        return await attempt({ ...work(), asked }, kind);
      } catch (error) {
        if (tries >= mostTries || !collisions.has(codeOf(error))) throw error;
        await pause(tries * 5);
      }
    }
  };

  const nothing: Omit<Work<null>, 'asked'> = {
    commands: [],
    statements: [],
    decide: () => ({ value: null, statements: [] }),
  };

  return {
    apply: (commands) =>
      alone(() =>
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
      alone(() =>
        settled<MoveOutcome>(
          moves,
          () => {
            const { statements, read } = readsForMoves(moves, epoch);
            return {
              commands: [],
              statements,
              decide(answers) {
                if (fence?.epoch !== epoch) throw new Fenced('its leases were taken under another number');
                return decideMoves(moves, read(answers), epoch);
              },
            };
          },
          'move',
        ),
      ),
    probe: () => alone(async () => void (await settled([], () => nothing, 'probe'))),
    isCommandsFault,
    isUnresolved: (error) => error instanceof Unresolved,
    epoch: () => fence?.epoch ?? 0,
    close: () => line?.close(),
  };
}

/** Data that PostgreSQL cannot keep, or that its checks refuse; everything else is storage. */
function isCommandsFault(error: unknown): boolean {
  if (error instanceof Unresolved || error instanceof Fenced) return false;
  return /^(22|23)[0-9A-Z]{3}$/.test(codeOf(error));
}
