/**
 * Balance that this machine has leased, in cells of the shared memory: added after the commit, removed before it is returned.
 * Used by one thread, which waits for locks: a thread that died holding one is recovered by another.
 */

import { budgetUnits, countedWindows } from '../../contract/budgets.ts';
import { addLeased, HolderSlot, leasedCell } from '../balances/budgets.ts';
import { isBlockKey, slotsInUse } from '../balances/end-users.ts';
import type { Money } from '../balances/money.ts';
import { holderStripe, userStripe } from '../balances/shared-memory.ts';
import { type BudgetPlace, KeySlot, takeAccountState, UserSlot } from '../balances/slot.ts';
import type { LeaseKind, SubjectState } from '../ports.ts';

/** A balance, the limit of one of its owner's keys, or a budget. */
export interface LeaseSubject {
  readonly kind: LeaseKind;
  /** 0 of a budget. */
  readonly userId: number;
  readonly id: number;
}

export interface Leased {
  /** @returns false where the subject is unknown: nothing was changed. */
  addLease(subject: LeaseSubject, amount: number, state?: SubjectState): boolean;
  /** Removes up to `max` of the part that no request holds. @returns how much. */
  reclaim(subject: LeaseSubject, max: number): number;
  /** What nothing is held of. */
  idle(subject: LeaseSubject): number;
  /** All of it is void, and so is what open requests hold of it. @param owners of keys. */
  drop(owners: ReadonlyMap<number, number>): void;
}

/** @param budgets by id. */
export function createLeasedBalances(
  { memory, accounts }: Pick<Money, 'memory' | 'accounts'>,
  budgets: ReadonlyMap<number, BudgetPlace> = new Map(),
): Leased {
  const { get, put } = memory;
  /** @returns null where the subject is unknown. */
  const cellsOf = ({ kind, userId, id }: LeaseSubject) => {
    if (kind === 'budget') {
      const place = budgets.get(id);
      if (place === undefined) return null;
      const { slot, window, unit } = place;
      const held = slot + HolderSlot.held + unit;
      return { stripe: holderStripe(slot), there: slot + leasedCell(window, unit), used: 0, held, max: held };
    }
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
    addLease(subject, amount, state) {
      const cells = cellsOf(subject);
      if (cells === null) return false;
      locked(cells.stripe, () => {
        const place = subject.kind === 'budget' ? budgets.get(subject.id) : undefined;
        const isUse = state !== undefined && 'windowAt' in state;
        if (place !== undefined) return addLeased(memory, place.slot, place, amount, isUse ? state : undefined);
        if (state !== undefined && !isUse) takeAccountState(memory, accounts.user(subject.userId), state);
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
      for (const [key, place] of accounts.slotIndexes([], []).holders ?? [])
        for (const slot of isBlockKey(key) ? slotsInUse(memory, place) : [place])
          locked(holderStripe(slot), () => {
            for (let unit = 0; unit < budgetUnits.length; unit++) put(slot + HolderSlot.held + unit, 0);
          });
      for (const { slot } of budgets.values())
        locked(holderStripe(slot), () => {
          for (let at = 0; at < budgetUnits.length * countedWindows.length; at++) put(slot + HolderSlot.leased + at, 0);
        });
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
