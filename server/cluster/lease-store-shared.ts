/** The memory of this machine's relays as the lease manager sees it: raised when a lease is granted, lowered before it is returned. */

import type { Memory, MemoryParts } from '../billing/balances/shared-memory.ts';
import { type BudgetPlace, createAccounts, type SlotIndexes } from '../billing/balances/slot.ts';
import { createLeasedBalances } from '../billing/leases/leased-balance.ts';
import type { LeaseStore } from '../billing/leases/leases.ts';
import type { LeaseKind, SubjectState } from '../billing/ports.ts';
import type { ClockReading } from '../threads/relay/clock.ts';

/** Where users and keys have their cells, from the thread that gives these out. */
export interface SlotsUpdate {
  readonly kind: 'places';
  readonly slots: SlotIndexes;
  /** Flat pairs of key and user. */
  readonly owners: readonly number[];
  /** They were known before, so they have been changed. */
  readonly changed: boolean;
  /** The budgets that were made or changed; absent = none was. */
  readonly budgets?: readonly BudgetUpdate[];
  readonly chunks: readonly SharedArrayBuffer[];
}

export interface BudgetUpdate extends BudgetPlace {
  /** Epoch seconds; 0 = it is not raised. */
  readonly raiseUntil: number;
}

export interface NodeLeaseStore extends LeaseStore {
  update(update: SlotsUpdate): void;
  /** Resolves when its cells are known. @returns false when that takes too long. */
  has(userId: number, tokenId: number): Promise<boolean>;
  hasBudget(id: number): Promise<boolean>;
  idle(kind: LeaseKind, subject: number): number;
}

const maxWaitMs = 2000;
const checkMs = 5;

export interface SharedMemory {
  readonly parts: MemoryParts;
  /** This thread's number among those that share it. */
  readonly thread: number;
  readonly clock: ClockReading;
}

export function createSharedLeaseStore(memory: Memory): NodeLeaseStore {
  const accounts = createAccounts(memory, true);
  const budgets = new Map<number, BudgetPlace>();
  const leased = createLeasedBalances({ memory, accounts }, budgets);
  const owners = new Map<number, number>();
  /** Leases whose users or keys are not known here yet. */
  const early: Parameters<LeaseStore['raise']>[] = [];
  const subjectOf = (kind: LeaseKind, id: number) => ({
    kind,
    id,
    userId: kind === 'account' ? id : kind === 'budget' ? 0 : (owners.get(id) ?? 0),
  });
  const raise = (kind: LeaseKind, subject: number, amount: number, state?: SubjectState) => {
    if (!leased.addLease(subjectOf(kind, subject), amount, state)) early.push([kind, subject, amount, state]);
  };
  const whenKnown = async (known: () => boolean): Promise<boolean> => {
    for (let waited = 0; waited <= maxWaitMs; waited += checkMs) {
      if (known()) return true;
      await Bun.sleep(checkMs);
    }
    return false;
  };
  const isKnown = (userId: number, tokenId: number): boolean =>
    accounts.user(userId) !== 0 && (tokenId === 0 || (owners.has(tokenId) && accounts.token(tokenId) !== 0));

  return {
    raise,
    takeIdle: (kind, subject) => leased.reclaim(subjectOf(kind, subject), Number.MAX_SAFE_INTEGER),
    idle: (kind, subject) => leased.idle(subjectOf(kind, subject)),
    drop() {
      early.length = 0;
      leased.drop(owners);
    },
    update({ slots, chunks, owners: pairs, budgets: changed = [] }) {
      memory.attachChunks(chunks);
      accounts.bind(slots);
      for (let at = 0; at < pairs.length; at += 2) owners.set(pairs[at] ?? 0, pairs[at + 1] ?? 0);
      for (const place of changed) budgets.set(place.id, place);
      for (const given of early.splice(0)) raise(...given);
    },
    has: (userId, tokenId) => whenKnown(() => isKnown(userId, tokenId)),
    hasBudget: (id) => whenKnown(() => budgets.has(id)),
  };
}
