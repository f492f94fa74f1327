/** What this machine has borrowed, as cells of the shared memory: added when it arrives, taken out before it is given back. The main thread's alone. */
import { Cap, Purse } from './accounts.ts';
import { userStripe } from './memory.ts';
import type { Money } from './money.ts';

/** A balance, or the limit of one of its owner's keys. */
export interface LeaseSubject {
  readonly kind: 'account' | 'token';
  readonly userId: number;
  /** Of the user or of the key. */
  readonly id: number;
}

export interface Leased {
  /** @returns false while somebody keeps the lock: nothing was changed, try again. */
  lend(subject: LeaseSubject, amount: number): boolean;
  /** Takes out what nothing is held of. @returns how much of what was asked for; null while somebody keeps the lock. */
  reclaim(subject: LeaseSubject, most: number): number | null;
}

/** Somebody may have died at it, and it is the main thread that buries the dead: it must not wait for them. */
const patienceMs = 20;

export function createLeased({ memory, accounts }: Pick<Money, 'memory' | 'accounts'>): Leased {
  const { get, put } = memory;
  /** @returns null where nobody has told of the subject. */
  const cellsOf = ({ kind, userId, id }: LeaseSubject) => {
    const purse = accounts.user(userId);
    const place = kind === 'account' ? purse : accounts.token(id);
    if (purse === 0 || place === 0) return null;
    const stripe = userStripe(purse);
    return kind === 'account'
      ? { stripe, there: place + Purse.balance, spent: [place + Purse.held] }
      : { stripe, there: place + Cap.limit, spent: [place + Cap.used, place + Cap.held] };
  };
  return {
    lend(subject, amount) {
      const cells = cellsOf(subject);
      if (cells === null || !memory.tryLock(cells.stripe, patienceMs)) return false;
      put(cells.there, get(cells.there) + amount);
      memory.unlock(cells.stripe);
      return true;
    },
    reclaim(subject, most) {
      const cells = cellsOf(subject);
      if (cells === null) return 0;
      if (!memory.tryLock(cells.stripe, patienceMs)) return null;
      const idle = cells.spent.reduce((left, cell) => left - get(cell), get(cells.there));
      const amount = Math.max(0, Math.min(most, idle));
      if (amount > 0) put(cells.there, get(cells.there) - amount);
      memory.unlock(cells.stripe);
      return amount;
    },
  };
}
