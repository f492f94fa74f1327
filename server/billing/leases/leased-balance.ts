/**
 * Balance that this machine has leased, in cells of the shared memory: added after the commit, removed before it is returned.
 * Used by one thread, which waits for locks: a thread that died holding one is recovered by another.
 */

import type { Money } from '../balances/money.ts';
import { userStripe } from '../balances/shared-memory.ts';
import { KeySlot, takeAccountState, UserSlot } from '../balances/slot.ts';
import type { AccountState } from '../ports.ts';

/** A balance, or the limit of one of its owner's keys. */
export interface LeaseSubject {
  readonly kind: 'account' | 'token';
  readonly userId: number;
  /** Of the user or of the key. */
  readonly id: number;
}

export interface Leased {
  /** @param accountState of the account. @returns false where the subject is unknown: nothing was changed. */
  addLease(subject: LeaseSubject, amount: number, accountState?: AccountState): boolean;
  /** Removes up to `max` of the part that no request holds. @returns how much. */
  reclaim(subject: LeaseSubject, max: number): number;
  /** What nothing is held of. */
  idle(subject: LeaseSubject): number;
  /** All of it is void, and so is what open requests hold of it. @param owners of keys. */
  drop(owners: ReadonlyMap<number, number>): void;
}

export function createLeasedBalances({ memory, accounts }: Pick<Money, 'memory' | 'accounts'>): Leased {
  const { get, put } = memory;
  /** @returns null where the subject is unknown. */
  const cellsOf = ({ kind, userId, id }: LeaseSubject) => {
    const userSlot = accounts.user(userId);
    const place = kind === 'account' ? userSlot : accounts.token(id);
    if (userSlot === 0 || place === 0) return null;
    const stripe = userStripe(userSlot);
    return kind === 'account'
      ? { stripe, there: place + UserSlot.balance, used: 0, held: place + UserSlot.held, max: place + UserSlot.maxCost }
      : {
          stripe,
          there: place + KeySlot.limit,
          used: place + KeySlot.used,
          held: place + KeySlot.held,
          max: place + KeySlot.maxCost,
        };
  };
  const locked = <T>(stripe: number, step: () => T): T => {
    memory.lock(stripe);
    try {
      return step();
    } finally {
      memory.release(stripe);
    }
  };
  /** What open requests may cost stays here: it was there when they were let in. */
  const idleIn = ({ there, used, held, max }: NonNullable<ReturnType<typeof cellsOf>>): number =>
    Math.max(0, get(there) - (used === 0 ? 0 : get(used)) - Math.max(get(held), get(max)));

  return {
    addLease(subject, amount, accountState) {
      const cells = cellsOf(subject);
      if (cells === null) return false;
      locked(cells.stripe, () => {
        if (accountState !== undefined) takeAccountState(memory, accounts.user(subject.userId), accountState);
        put(cells.there, get(cells.there) + amount);
      });
      return true;
    },
    reclaim(subject, max) {
      const cells = cellsOf(subject);
      if (cells === null) return 0;
      return locked(cells.stripe, () => {
        const amount = Math.min(max, idleIn(cells));
        if (amount > 0) put(cells.there, get(cells.there) - amount);
        return amount;
      });
    },
    idle(subject) {
      const cells = cellsOf(subject);
      return cells === null ? 0 : locked(cells.stripe, () => idleIn(cells));
    },
    drop(owners) {
      for (const userSlot of accounts.users.values())
        locked(userStripe(userSlot), () => {
          for (const cell of [UserSlot.balance, UserSlot.held, UserSlot.maxCost]) put(userSlot + cell, 0);
        });
      for (const [id, cap] of accounts.tokens) {
        const userSlot = accounts.user(owners.get(id) ?? 0);
        locked(userStripe(userSlot), () => {
          put(cap + KeySlot.limit, get(cap + KeySlot.used));
          for (const cell of [KeySlot.held, KeySlot.maxCost]) put(cap + cell, 0);
        });
      }
    },
  };
}
