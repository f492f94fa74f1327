/** How much of each lease is spent here: what the node will need while the lease lasts, and which leases are idle. */

import type { LedgerCommand } from '../billing/ledger/commands.ts';
import type { LeaseKind } from '../billing/ports.ts';

/** A lease that was requested or granted. */
export interface LeasedAmount {
  readonly kind: LeaseKind;
  readonly subject: number;
  /** The user. */
  readonly owner: number;
  /** Of the request at hand. */
  readonly need: number;
  /** There is so little that each request has a lease of its own. */
  readonly small: boolean;
  /** There is so much that a few requests' worth may be leased ahead of any use. */
  readonly ample: boolean;
}

export interface LeaseDemand {
  onGranted(lease: LeasedAmount): void;
  /** Another node wants it: for a while nothing is leased ahead of requests. */
  onRejected(kind: LeaseKind, subject: number): void;
  /** A settlement was committed. */
  settled(commands: readonly LedgerCommand[]): void;
  /** Quota that the account is likely to use in the time of a lease. */
  expectedOf(account: number): number;
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
  readonly prefetch: (account: number, token: number, amount: number, done: (granted: number) => void) => void;
  readonly release: (kind: LeaseKind, subject: number) => void;
}

/** Of an ample balance so many needs of one request are leased, however little was used: an outage may begin at any time. */
const floorNeeds = 8;
/** A balance of so many needs is ample: what a dozen nodes lease of it leaves the greater part free. */
export const ampleFor = 256;

interface Use {
  readonly kind: LeaseKind;
  readonly subject: number;
  owner: number;
  at: number;
  small: boolean;
  ample: boolean;
  /** The largest need of one request; 0 = none has requested a lease. */
  need: number;
  /** Until then nothing is leased ahead. */
  pausedUntil: number;
  /** Spent since, and in the span before. */
  since: number;
  used: number;
  before: number;
}

export function createLeaseDemand({ now, spanMs, idle, prefetch, release }: LeaseDemandDeps): LeaseDemand {
  const uses = new Map<string, Use>();
  const keyOf = (kind: LeaseKind, subject: number) => `${kind} ${subject}`;
  const current = (use: Use): Use => {
    const at = now();
    if (at - use.since < spanMs) return use;
    use.before = at - use.since < 2 * spanMs ? use.used : 0;
    use.used = 0;
    use.since = at;
    return use;
  };
  const likely = (use: Use): number => Math.max(current(use).before, use.used);
  const noted = (kind: LeaseKind, subject: number, owner: number): Use => {
    const at = now();
    const use = {
      kind,
      subject,
      owner,
      at,
      small: false,
      ample: false,
      need: 0,
      pausedUntil: at,
      since: at,
      used: 0,
      before: 0,
    };
    uses.set(keyOf(kind, subject), use);
    return use;
  };
  const spend = (kind: LeaseKind, subject: number, owner: number, amount: number) => {
    // The rest of a long request's lease is returned, too.
    const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, owner);
    current(use).used += amount;
    use.at = now();
    if (use.small) release(kind, subject);
  };
  /** Leases enough to last until a lease ends, should the database go away now. */
  const extend = (use: Use) => {
    if (use.need === 0 || use.small || now() < use.pausedUntil) return;
    const { kind, subject, owner, need } = use;
    const expected = Math.max(likely(use), use.ample ? floorNeeds * need : 0);
    const short = need + expected - idle(kind, subject);
    if (short <= 0) return;
    // Half as much again, so that it is not requested in every interval.
    const amount = short + Math.ceil(expected / 2);
    prefetch(owner, kind === 'token' ? subject : 0, amount, (granted) => {
      if (granted < short) use.pausedUntil = now() + spanMs;
    });
  };
  return {
    onGranted({ kind, subject, owner, need, small, ample }) {
      const use = uses.get(keyOf(kind, subject)) ?? noted(kind, subject, owner);
      use.at = now();
      use.owner = owner;
      use.small = small;
      use.ample = ample;
      use.need = Math.max(use.need, need);
    },
    onRejected(kind, subject) {
      const use = uses.get(keyOf(kind, subject));
      if (use !== undefined) use.pausedUntil = now() + spanMs;
    },
    settled(commands) {
      for (const command of commands) {
        if (command.type !== 'settle') continue;
        if (command.house !== true) spend('account', command.userId, command.userId, command.amount);
        if (command.tokenId > 0) spend('token', command.tokenId, command.userId, command.amount);
      }
    },
    expectedOf(account) {
      const use = uses.get(keyOf('account', account));
      return use === undefined ? 0 : likely(use);
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
