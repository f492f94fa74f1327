/** How much of each lease is spent here: what the node will need while the lease lasts, and which leases are idle. */

import { ampleFor } from '../../db/postgres/leases.ts';
import type { LedgerCommand } from '../billing/ledger/commands.ts';
import type { LeaseKind } from '../billing/ports.ts';

/** A lease that was requested or granted. */
export interface LeasedAmount {
  readonly kind: LeaseKind;
  readonly subject: number;
  /** The user. */
  readonly owner: number;
  /** What the request at hand needs. */
  readonly need: number;
  /** There is so little that each request has a lease of its own. */
  readonly small: boolean;
  /** There is so much that what users at work need is leased ahead of any use. */
  readonly ample: boolean;
}

export interface LeaseDemand {
  onGranted(lease: LeasedAmount): void;
  /** Another node wants it: for a while nothing is leased ahead of requests. */
  onRejected(kind: LeaseKind, subject: number): void;
  /** A settlement was committed. */
  settled(commands: readonly LedgerCommand[]): void;
  /** What `settled` finds in settlements. @param key that spent it. */
  spent(kind: LeaseKind, subject: number, owner: number, amount: number, key: number): void;
  /** What is likely to be used of it in the time of a lease. @param kind default: an account. */
  expectedOf(subject: number, kind?: LeaseKind): number;
  /** What is leased of an ample balance or budget beside a request, however little was used before. @param need of that request. */
  floorOf(subject: number, need: number, kind?: LeaseKind): number;
  /** Returns what was idle for a while, and leases ahead what runs short. */
  cleanup(): void;
  clear(): void;
}

export interface LeaseDemandDeps {
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  /** How long a lease lasts without the database. */
  readonly spanMs: number;
  /** The part that no request holds. */
  readonly idle: (kind: LeaseKind, subject: number) => number;
  /** @param done called once, with what was granted and the whole that there is; null = the ledger does not answer. */
  readonly prefetch: (
    account: number,
    token: number,
    amount: number,
    done: (grant: { readonly granted: number; readonly left: number } | null) => void,
  ) => void;
  readonly release: (kind: LeaseKind, subject: number) => void;
}

/**
 * What one key at work is taken to ask for in a second, in needs of one request: an agent with ten parts, each of which ends a request in
 * that time. An outage may begin at any time, and what a user asked for in the second before says little.
 */
const workPerSecond = 10;
/** Spending of a shorter time than this gives no rate. */
const minRatedMs = 1000;
/** What is leased beyond what is expected, so that it is not requested in every interval. */
const halfOf = (expected: number): number => Math.ceil(expected / 2);

interface Use {
  readonly kind: LeaseKind;
  readonly subject: number;
  owner: number;
  at: number;
  small: boolean;
  /** What is leased for one key at work, however little was used; 0 = the balance is not ample. */
  floor: number;
  /** The largest need of one request; 0 = none has requested a lease. */
  need: number;
  /** Some of it is on its way. */
  isRequested: boolean;
  /** Until then nothing is leased ahead. */
  pausedUntil: number;
  /** Spent since, and in the span before. */
  since: number;
  used: number;
  before: number;
  /** Keys that have spent of it in this span, and how many did in the one before. */
  readonly keys: Set<number>;
  keysBefore: number;
}

export function createLeaseDemand({ now, spanMs, idle, prefetch, release }: LeaseDemandDeps): LeaseDemand {
  const uses = new Map<string, Use>();
  const keyOf = (kind: LeaseKind, subject: number) => `${kind} ${subject}`;
  const current = (use: Use): Use => {
    const at = now();
    if (at - use.since < spanMs) return use;
    use.before = at - use.since < 2 * spanMs ? use.used : 0;
    use.keysBefore = at - use.since < 2 * spanMs ? use.keys.size : 0;
    use.keys.clear();
    use.used = 0;
    use.since = at;
    return use;
  };
  /** Of an ample balance at the rate of this span, of any other what was spent. */
  const likely = (use: Use): number => {
    const { before, used, since, floor } = current(use);
    const rated = floor === 0 ? used : Math.ceil((used * spanMs) / Math.max(minRatedMs, now() - since));
    return Math.max(before, used, rated);
  };
  const keysOf = (use: Use): number => Math.max(1, current(use).keys.size, use.keysBefore);
  const workOf = (need: number): number => Math.ceil((need * workPerSecond * spanMs) / 1000);
  const noted = (kind: LeaseKind, subject: number, owner: number): Use => {
    const at = now();
    const use = {
      kind,
      subject,
      owner,
      at,
      small: false,
      floor: 0,
      need: 0,
      isRequested: false,
      pausedUntil: at,
      since: at,
      used: 0,
      before: 0,
      keys: new Set<number>(),
      keysBefore: 0,
    };
    uses.set(keyOf(kind, subject), use);
    return use;
  };
  /** Leases enough to last until a lease ends, should the database go away now. */
  const extend = (use: Use) => {
    if (use.need === 0 || use.small || use.isRequested || now() < use.pausedUntil) return;
    const { kind, subject, owner, need } = use;
    const expected = Math.max(likely(use), use.floor * keysOf(use));
    const short = need + expected - idle(kind, subject);
    if (short <= 0) return;
    use.isRequested = true;
    prefetch(owner, kind === 'token' ? subject : 0, short + halfOf(expected), (grant) => {
      use.isRequested = false;
      if (grant === null) return;
      if (workOf(grant.left) < ampleFor * use.floor) use.floor = 0;
      if (grant.granted < short) use.pausedUntil = now() + spanMs;
    });
  };
  const spend = (kind: LeaseKind, subject: number, owner: number, amount: number, key: number) => {
    // The rest of a long request's lease is returned, too.
    const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, owner);
    const before = keysOf(use);
    use.keys.add(key);
    use.used += amount;
    use.at = now();
    if (use.small) release(kind, subject);
    // Another key is at work: what one needs would last both for half the time.
    else if (keysOf(use) > before) extend(use);
  };
  return {
    onGranted({ kind, subject, owner, need, small, ample }) {
      const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, owner);
      use.at = now();
      use.owner = owner;
      use.small = small;
      use.need = Math.max(use.need, need);
      // One request that is too large for the balance to be ample says nothing of the others.
      if (ample) use.floor = workOf(need);
      else if (small) use.floor = 0;
    },
    onRejected(kind, subject) {
      const use = uses.get(keyOf(kind, subject));
      if (use !== undefined) use.pausedUntil = now() + spanMs;
    },
    spent: spend,
    settled(commands) {
      for (const command of commands) {
        if (command.type !== 'settle') continue;
        const { userId, tokenId, amount } = command;
        if (command.house !== true) spend('account', userId, userId, amount, tokenId);
        if (tokenId > 0) spend('token', tokenId, userId, amount, tokenId);
      }
    },
    expectedOf(subject, kind = 'account') {
      const use = uses.get(keyOf(kind, subject));
      return use === undefined ? 0 : likely(use);
    },
    floorOf(subject, need, kind = 'account') {
      const use = uses.get(keyOf(kind, subject));
      if (use !== undefined && now() < use.pausedUntil) return 0;
      const work = workOf(need) * (use === undefined ? 1 : keysOf(use));
      // As much as `extend` would lease: it asks for nothing more soon.
      return need + work + halfOf(work);
    },
    cleanup() {
      for (const [key, use] of uses) {
        if (now() - use.at < spanMs) {
          extend(use);
          continue;
        }
        uses.delete(key);
        release(use.kind, use.subject);
      }
    },
    clear: () => uses.clear(),
  };
}
