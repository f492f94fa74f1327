/** Follows the change feed and sends the relay what changed, whichever process changed it. */

import type { SnapshotPart } from '../../contract/packed-rows.ts';
import type { NodeCount, Snapshot, SnapshotDelta, UnknownRights } from '../../contract/snapshot.ts';
import { systemTimers, type Timer, type Timers } from '../../contract/timers.ts';
import type { SnapshotSource } from '../../domain/snapshot/load.ts';

export interface Publisher {
  start(): Promise<void>;
  /**
   * Looks now instead of at the next tick; resolves when every relay thread has applied every change made before the
   * call, or after a second without its reply.
   */
  check(): Promise<void>;
  /** Every relay thread has applied the changes up to this sequence number. */
  applied(seq: number): void;
  /** So many machines serve the site. */
  nodes(count: NodeCount): void;
  /** Whose rights this machine does not know at the moment. */
  unknown(rights: UnknownRights): void;
  /** When the last successful poll ended, by the given clock. */
  knownAt(): number;
  stop(): void;
}

/** Milliseconds between looks; a change by another process takes effect within this time. */
const everyMs = 200;
/** A failure that repeats is reported again after that many polls. */
const reportEvery = 300;
/** How long a change waits for relay threads: one that is stuck must not stop the console. */
const applyMs = 1000;

export interface PublisherDeps {
  readonly source: SnapshotSource;
  readonly publish: (update: SnapshotPart | Snapshot | SnapshotDelta) => void;
  /** Called before news of changed options go out. */
  readonly optionsChanged: () => Promise<void>;
  readonly report: (error: unknown) => void;
  /** Absent = the time of this process. */
  readonly timers?: Pick<Timers, 'monoNow' | 'set' | 'every'>;
}

const unchanged = {
  users: [],
  tokens: [],
  channels: [],
  options: {},
  removed: { users: [], tokens: [], channels: [] },
};

export function createPublisher(deps: PublisherDeps): Publisher {
  let seq = 0;
  let timer: Timer | null = null;
  let last: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | null = null;
  let failures = 0;
  const { timers = systemTimers } = deps;
  const { monoNow } = timers;
  let known = monoNow();
  let appliedSeq = 0;
  const applying = new Set<{ readonly seq: number; readonly done: () => void }>();

  const readAll = async () => {
    const started = monoNow();
    for (let update = await deps.source.since(seq); update !== null; update = await deps.source.since(seq)) {
      if (Object.keys(update.options).length > 0) await deps.optionsChanged();
      seq = update.seq;
      deps.publish(update);
    }
    failures = 0;
    known = started;
  };
  const failed = (error: unknown) => {
    if (failures++ % reportEvery === 0) deps.report(error);
  };
  /** One poll at a time. A caller shares a poll that waits; one that already runs may have read too early for it. */
  const check = (): Promise<void> => {
    if (waiting !== null) return waiting;
    waiting = last.then(() => {
      waiting = null;
      return readAll().catch(failed);
    });
    last = waiting;
    return waiting;
  };

  const everywhere = async (): Promise<void> => {
    if (appliedSeq >= seq) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { seq, done: resolve };
    applying.add(waiter);
    const limit = timers.set(resolve, applyMs);
    await promise;
    limit.close();
    applying.delete(waiter);
  };

  return {
    async start() {
      const snapshot = await deps.source.load(deps.publish);
      seq = snapshot.seq;
      deps.publish(snapshot);
      const look = () => void check();
      timer = timers.every(look, everyMs);
    },
    check: () => check().then(everywhere),
    applied(upTo) {
      appliedSeq = Math.max(appliedSeq, upTo);
      for (const { seq: awaited, done } of applying) if (awaited <= appliedSeq) done();
    },
    nodes: (count) => deps.publish({ kind: 'delta', seq, ...unchanged, nodes: count }),
    unknown: (rights) => deps.publish({ kind: 'delta', seq, ...unchanged, unknown: rights }),
    knownAt: () => known,
    stop: () => timer?.close(),
  };
}
