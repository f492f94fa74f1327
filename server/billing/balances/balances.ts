/** What users and tokens may still spend, and what open requests hold of it. One step under the user's lock admits or refuses: no gap between check and take, whichever thread it is. */

import type { TokenSnapshot, UserSnapshot } from '../../contract/snapshot.ts';
import type { BalanceEvent } from '../ledger/commands.ts';
import { createMoney, type Money } from './money.ts';
import { Row, RowState } from './open-requests.ts';
import { userStripe } from './shared-memory.ts';
import { Cap, Purse } from './slots.ts';

export type HoldAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly who: 'user' | 'token'; readonly remain: number };

export interface HoldTerms {
  /** What the request may cost at most, as far as it was not said before; default: the amount. */
  readonly most?: number;
  /** With 1, the default, all that open requests may cost together stays within the balance. */
  readonly overcommit?: number;
  /** The balance is left alone; the token's limit is not. */
  readonly house?: boolean;
  /** Of the open request. */
  readonly row?: number;
  /** Number of the lease under which the request was let in; absent = it is just being let in. */
  readonly epoch?: number;
}

export interface Spent {
  readonly held: number;
  readonly charged: number;
  /** What was said of it at most; default: the hold. */
  readonly most?: number;
  readonly house?: boolean;
  /** Of the open request: it has ended with that. */
  readonly row?: number;
  /** Nothing was used. */
  readonly vain?: boolean;
  /** Number of the lease under which it was let in. */
  readonly epoch?: number;
}

const usual: HoldTerms = {};

export interface Balances {
  /** Where all that lies. */
  readonly money: Money;
  /** All that the step asks and does is one: no other thread comes in between. It must not wait. */
  alone<T>(userId: number, step: () => T): T;
  /** First sight of a user sets the balance; later rows leave it alone, since balances move only through the ledger. */
  seeUser(user: UserSnapshot): void;
  /** First sight of a token sets what it has used; its limit follows every row. */
  seeToken(token: TokenSnapshot): void;
  forgetUser(id: number): void;
  forgetToken(id: number): void;
  /** A balance moved for another reason than a settlement of ours. */
  credit(event: BalanceEvent): void;
  /**
   * Takes `amount` out of reach of other requests. `tokenId` 0 = no token involved.
   */
  hold(userId: number, tokenId: number, amount: number, terms?: HoldTerms): HoldAnswer;
  /** Gives a hold back and charges what was really used. */
  settle(userId: number, tokenId: number, spent: Spent): void;
  /** What a user, or a token, has left and has used; `limit` Infinity = without end. */
  standing(userId: number, tokenId: number | null): { readonly limit: number; readonly used: number };
  /** Whose money is used up, so that nothing could be held; null = something could. */
  lacking(
    userId: number,
    tokenId: number,
    house: boolean,
  ): { readonly who: 'user' | 'token'; readonly remain: number } | null;
  /** What a request could hold now. */
  available(userId: number, tokenId: number, house?: boolean): number;
  /** What a request may cost at most to be let in now. */
  spare(userId: number, tokenId: number, overcommit: number, house: boolean): number;
  /** What the user owes to the overrun account. */
  overrunOf(userId: number): number;
}

export function createBalances(money: Money = createMoney()): Balances {
  const { memory, accounts, tenure } = money;
  const { get, put, add } = memory;
  const most = Number.MAX_SAFE_INTEGER;

  const free = (purse: number): number => get(purse + Purse.balance) - get(purse + Purse.held);
  const freeOf = (purse: number, overcommit: number): number =>
    Math.floor(get(purse + Purse.balance) * overcommit) - get(purse + Purse.most);
  const left = (cap: number): number => get(cap + Cap.limit) - get(cap + Cap.used);
  const isUnlimited = (cap: number): boolean => get(cap + Cap.unlimited) === 1;
  const room = (cap: number): number => (isUnlimited(cap) ? most : left(cap) - get(cap + Cap.held));
  const spareOf = (cap: number, overcommit: number): number =>
    isUnlimited(cap) ? most : Math.floor(left(cap) * overcommit) - get(cap + Cap.most);
  const capOf = (tokenId: number): number => (tokenId === 0 ? 0 : accounts.token(tokenId));
  const isGone = (purse: number): boolean => purse === 0 || get(purse + Purse.gone) === 1;
  const refused = (who: 'user' | 'token', remain: number): HoldAnswer => ({
    ok: false,
    who,
    remain: Math.max(0, remain),
  });

  /** What lies here is not ours to spend: of neither the balance nor the key's limit. */
  const isOver = (cap: number, house: boolean, epoch?: number): boolean =>
    tenure !== null &&
    (!house || (cap !== 0 && !isUnlimited(cap))) &&
    ((epoch !== undefined && epoch !== tenure.epoch()) || !tenure.lasts());
  /** What it held was given up with the lease it was let in under. */
  const isStale = (epoch: number | undefined): boolean =>
    tenure !== null && epoch !== undefined && epoch !== tenure.epoch();

  const take = (purse: number, cap: number, amount: number, terms: HoldTerms): HoldAnswer => {
    const { most: atMost = amount, overcommit = 1, house = false, row = 0, epoch } = terms;
    if (isOver(cap, house, epoch)) return refused(house ? 'token' : 'user', 0);
    if (cap !== 0) {
      if (get(cap + Cap.gone) === 1) return refused('token', 0);
      if (room(cap) < amount) return refused('token', room(cap));
      if (atMost > 0 && spareOf(cap, overcommit) < atMost) return refused('token', spareOf(cap, overcommit));
    }
    if (!house) {
      const remain = free(purse);
      if (remain < amount || (amount > 0 && get(purse + Purse.balance) <= 0)) return refused('user', remain);
      const spare = freeOf(purse, overcommit);
      if (atMost > 0 && spare < atMost) return refused('user', spare);
      add(purse + Purse.held, amount);
      add(purse + Purse.most, atMost);
    }
    if (cap !== 0) {
      add(cap + Cap.held, amount);
      add(cap + Cap.most, atMost);
    }
    if (row !== 0) {
      add(row + Row.held, amount);
      add(row + Row.most, atMost);
    }
    return { ok: true };
  };

  /** The balance is lowered first and the hold given back second: err on the side of less. */
  const settle = (
    purse: number,
    cap: number,
    { held, charged, most = held, house = false, row = 0, vain = false, epoch }: Spent,
  ) => {
    const isBooked = !isStale(epoch);
    if (purse !== 0) {
      if (!house && isBooked) {
        add(purse + Purse.balance, -charged);
        add(purse + Purse.held, -held);
        add(purse + Purse.most, -most);
      }
      add(purse + Purse.used, charged);
    }
    if (cap !== 0) {
      add(cap + Cap.used, charged);
      if (isBooked) {
        add(cap + Cap.held, -held);
        add(cap + Cap.most, -most);
      } else add(cap + Cap.limit, charged);
    }
    if (row === 0) return;
    put(row + Row.held, 0);
    put(row + Row.most, 0);
    put(row + Row.charged, vain ? -1 : charged);
    put(row + Row.state, RowState.ended);
  };

  const locked = <T>(purse: number, step: () => T): T => {
    const stripe = userStripe(purse);
    memory.lock(stripe);
    try {
      return step();
    } finally {
      memory.unlock(stripe);
    }
  };

  /** What is left of the balance or of the key's limit, whichever has less. @param overcommit null = for holds; else for all that open requests may cost. */
  const lessOf = (userId: number, tokenId: number, house: boolean, overcommit: number | null): number => {
    const purse = accounts.user(userId);
    if (isGone(purse)) return 0;
    const cap = capOf(tokenId);
    if (isOver(cap, house)) return 0;
    // Without `locked` and its closure, as hold and settlement: each request passes here more than once.
    const stripe = userStripe(purse);
    memory.lock(stripe);
    try {
      const own = house ? most : overcommit === null ? free(purse) : freeOf(purse, overcommit);
      if (cap === 0) return Math.max(0, own);
      return Math.max(0, Math.min(own, overcommit === null ? room(cap) : spareOf(cap, overcommit)));
    } finally {
      memory.unlock(stripe);
    }
  };

  return {
    money,
    alone: (userId, step) => locked(accounts.user(userId), step),
    seeUser: accounts.seeUser,
    seeToken: (token) => void accounts.seeToken(token),
    forgetUser: accounts.forgetUser,
    forgetToken: accounts.forgetToken,
    credit: accounts.credit,
    hold(userId, tokenId, amount, terms = usual) {
      const purse = accounts.user(userId);
      if (isGone(purse)) return refused('user', 0);
      const stripe = userStripe(purse);
      memory.lock(stripe);
      try {
        return take(purse, capOf(tokenId), amount, terms);
      } finally {
        memory.unlock(stripe);
      }
    },
    settle(userId, tokenId, spent) {
      const purse = accounts.user(userId);
      const stripe = userStripe(purse);
      memory.lock(stripe);
      try {
        settle(purse, capOf(tokenId), spent);
      } finally {
        memory.unlock(stripe);
      }
    },
    standing(userId, tokenId) {
      const purse = accounts.user(userId);
      const cap = tokenId === null ? 0 : accounts.token(tokenId);
      return locked(purse, () => {
        if (tokenId === null) {
          const used = purse === 0 ? 0 : get(purse + Purse.used);
          return { limit: (purse === 0 ? 0 : get(purse + Purse.balance)) + used, used };
        }
        if (cap === 0) return { limit: 0, used: 0 };
        return { limit: isUnlimited(cap) ? Number.POSITIVE_INFINITY : get(cap + Cap.limit), used: get(cap + Cap.used) };
      });
    },
    lacking(userId, tokenId, house) {
      const purse = accounts.user(userId);
      if (isGone(purse)) return { who: 'user', remain: 0 };
      const cap = capOf(tokenId);
      if (isOver(cap, house)) return { who: house ? 'token' : 'user', remain: 0 };
      const stripe = userStripe(purse);
      memory.lock(stripe);
      try {
        const left = cap === 0 ? most : get(cap + Cap.gone) === 1 ? 0 : room(cap);
        if (left < 1) return { who: 'token', remain: Math.max(0, left) };
        return house || free(purse) >= 1 ? null : { who: 'user', remain: Math.max(0, free(purse)) };
      } finally {
        memory.unlock(stripe);
      }
    },
    available: (userId, tokenId, house = false) => lessOf(userId, tokenId, house, null),
    spare: (userId, tokenId, overcommit, house) => lessOf(userId, tokenId, house, overcommit),
    overrunOf(userId) {
      const purse = accounts.user(userId);
      return purse === 0 ? 0 : get(purse + Purse.overrun);
    },
  };
}
