/**
 * What a node does not know while it cannot read the change feed. Users and keys that others report as changed on the site's
 * Redis are not served until the change was read; where neither the database nor Redis answers for too long, nobody is.
 */

import type { ChangedIds, RecentChanges } from '../../cluster/recent-changes.ts';
import type { Snapshot, SnapshotDelta, UnknownRights } from '../../contract/snapshot.ts';
import type { Timers } from '../../contract/timers.ts';

export interface IsolationDeps {
  /** null = the site has no Redis. */
  readonly recentChanges: RecentChanges | null;
  /** Changes of the feed that other nodes may not have read. */
  readonly unread: () => Promise<ChangedIds>;
  /** Milliseconds without database and Redis after which nobody is served. */
  readonly aloneMs: number;
  /** When everything that could be known was known, by the steady clock. */
  readonly knownAt: () => number;
  readonly publish: (unknown: UnknownRights) => void;
  readonly timers: Pick<Timers, 'monoNow' | 'every'>;
}

export interface Isolation {
  /** The feed brought this: nodes that cannot read it learn of it. */
  changed(update: Snapshot | SnapshotDelta): void;
  stop(): void;
}

const checkMs = 250;
/** The feed is read five times a second: it is late after that. */
const lateMs = 1000;
/** Between two tries to post what Redis did not take. */
const againMs = 1000;
/** The way to Redis, and between the two looks at the clock. */
const marginMs = 1000;

const union = (known: readonly number[], more: readonly number[] = []): readonly number[] => [
  ...new Set([...known, ...more]),
];

const nothing: UnknownRights = { all: false, users: [], tokens: [] };

export function createIsolation({
  recentChanges,
  unread,
  aloneMs,
  knownAt,
  publish,
  timers,
}: IsolationDeps): Isolation {
  const { monoNow } = timers;
  let heardAt = Number.NEGATIVE_INFINITY;
  let published = nothing;
  let looking = false;
  // Nodes that are cut off may lack what changed while this one was not there to read it, or could not post it.
  let owesUnread = recentChanges !== null;
  let postedAt = Number.NEGATIVE_INFINITY;

  const set = (next: UnknownRights) => {
    // Lists only grow until the feed is read again: those of one length are equal.
    if (
      next.all === published.all &&
      next.away === published.away &&
      next.users.length === published.users.length &&
      next.tokens.length === published.tokens.length
    )
      return;
    published = next;
    publish(next);
  };
  const post = async (ids: () => Promise<ChangedIds>): Promise<void> => {
    const hasArrived = await ids()
      .then((changed) => recentChanges?.post(changed))
      // reason: the database went away again, and is asked once more.
      .catch(() => false);
    if (hasArrived === false) owesUnread = true;
  };
  const check = async (): Promise<void> => {
    const at = monoNow();
    const known = knownAt();
    if (at - known < lateMs) {
      set(nothing);
      if (!owesUnread || at - postedAt < againMs) return;
      owesUnread = false;
      postedAt = at;
      return post(unread);
    }
    const found = (await recentChanges?.read(at - known + marginMs)) ?? null;
    // It was read while Redis answered.
    if (knownAt() !== known) return;
    if (found !== null) heardAt = at;
    // A user or key that was reported stays unknown when Redis goes as well, or comes back empty.
    const users = union(published.users, found?.users);
    const tokens = union(published.tokens, found?.tokens);
    set({ all: monoNow() - Math.max(known, heardAt) >= aloneMs, away: true, users, tokens });
  };
  const look = () => {
    if (looking) return;
    looking = true;
    void check().finally(() => {
      looking = false;
    });
  };
  const timer = timers.every(look, checkMs);

  return {
    changed(update) {
      if (recentChanges === null) return;
      if (update.kind === 'snapshot') {
        // The feed started over: what changed meanwhile came as no change.
        owesUnread = true;
        return;
      }
      const { users, tokens, removed } = update;
      const changed = {
        users: [...users.map(({ id }) => id), ...removed.users],
        tokens: [...tokens.map(({ id }) => id), ...removed.tokens],
      };
      if (changed.users.length + changed.tokens.length > 0) void post(async () => changed);
    },
    stop: () => timer.close(),
  };
}
