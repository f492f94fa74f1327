/** The memory of this machine's relays as the lease manager sees it: raised when a lease is granted, lowered before it is returned. */

import type { Memory, MemoryParts } from '../billing/balances/shared-memory.ts';
import { createAccounts, type SlotIndexes } from '../billing/balances/slot.ts';
import { createLeasedBalances } from '../billing/leases/leased-balance.ts';
import type { LeaseStore } from '../billing/leases/leases.ts';
import type { AccountState, LeaseKind } from '../billing/ports.ts';
import type { ClockReading } from '../threads/relay/clock.ts';

/** Where users and keys have their cells, from the thread that gives these out. */
export interface SlotsUpdate {
  readonly kind: 'places';
  readonly slots: SlotIndexes;
  /** Flat pairs of key and user. */
  readonly owners: readonly number[];
  /** They were known before, so they have been changed. */
  readonly changed: boolean;
  readonly chunks: readonly SharedArrayBuffer[];
}

export interface NodeLeaseStore extends LeaseStore {
  update(update: SlotsUpdate): void;
  /** Resolves when its cells are known. @returns false when that takes too long. */
  has(userId: number, tokenId: number): Promise<boolean>;
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
  const leased = createLeasedBalances({ memory, accounts });
  const owners = new Map<number, number>();
  /** Leases whose users or keys are not known here yet. */
  const early: Parameters<LeaseStore['raise']>[] = [];
  const subjectOf = (kind: LeaseKind, id: number) => ({
    kind,
    id,
    userId: kind === 'account' ? id : (owners.get(id) ?? 0),
  });
  const raise = (kind: LeaseKind, subject: number, amount: number, accountState?: AccountState) => {
    if (!leased.addLease(subjectOf(kind, subject), amount, accountState))
      early.push([kind, subject, amount, accountState]);
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
    update({ slots, chunks, owners: pairs }) {
      memory.attachChunks(chunks);
      accounts.bind(slots);
      for (let at = 0; at < pairs.length; at += 2) owners.set(pairs[at] ?? 0, pairs[at + 1] ?? 0);
      for (const given of early.splice(0)) raise(...given);
    },
    async has(userId, tokenId) {
      for (let waited = 0; waited <= maxWaitMs; waited += checkMs) {
        if (isKnown(userId, tokenId)) return true;
        await Bun.sleep(checkMs);
      }
      return false;
    },
  };
}
