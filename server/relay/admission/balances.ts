/** Running balances of users and tokens, and what open requests hold of them. One synchronous step admits or refuses: no gap between check and take. */
import type { BalanceEvent } from '../../ledger/commands.ts';
import type { TokenSnapshot, UserSnapshot } from '../state/snapshot.ts';

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
}

export interface Spent {
  readonly held: number;
  readonly charged: number;
  /** What was said of it at most; default: the hold. */
  readonly most?: number;
  readonly house?: boolean;
}

const usual: HoldTerms = {};

export interface Wallets {
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
  /** What a request could hold now. */
  available(userId: number, tokenId: number, house?: boolean): number;
  /** What a request may cost at most to be let in now. */
  spare(userId: number, tokenId: number, overcommit: number, house: boolean): number;
  /** What the user owes to the overrun account. */
  overrunOf(userId: number): number;
}

interface Purse {
  balance: number;
  used: number;
  held: number;
  /** What the open requests may cost at most. */
  most: number;
  overrun: number;
  /** Movements up to here are in the balance, ... */
  version: number;
  /** ... and these that came before their turn. */
  readonly ahead: Set<number>;
  /** The row was removed: nothing new is held, what is open goes on. */
  gone: boolean;
}

interface Cap {
  limit: number;
  used: number;
  held: number;
  most: number;
  unlimited: boolean;
  gone: boolean;
}

export function createWallets(): Wallets {
  const purses = new Map<number, Purse>();
  const caps = new Map<number, Cap>();
  // Rows and balance events come from different threads; an event may arrive before the row of its user.
  const early = new Map<number, BalanceEvent[]>();

  /** Events come from several threads and need not come in the order of their versions; each counts once. */
  const apply = (purse: Purse, event: BalanceEvent) => {
    const { version } = event;
    if (version <= purse.version || purse.ahead.has(version)) return;
    purse.ahead.add(version);
    while (purse.ahead.delete(purse.version + 1)) purse.version++;
    purse.balance += event.delta;
    purse.overrun += event.overrun ?? 0;
    const cap = event.token === undefined ? undefined : caps.get(event.token.id);
    if (cap !== undefined) cap.used += event.token?.used ?? 0;
    purse.used += event.token?.used ?? 0;
  };
  const room = (cap: Cap): number => (cap.unlimited ? Number.MAX_SAFE_INTEGER : cap.limit - cap.used - cap.held);
  const spareOf = (cap: Cap, overcommit: number): number =>
    cap.unlimited ? Number.MAX_SAFE_INTEGER : Math.floor((cap.limit - cap.used) * overcommit) - cap.most;
  const refused = (who: 'user' | 'token', remain: number): HoldAnswer => ({
    ok: false,
    who,
    remain: Math.max(0, remain),
  });

  return {
    seeUser(user) {
      const known = purses.get(user.id);
      if (known !== undefined) {
        // Back again: what is open still counts, so the row's balance says less than the purse.
        known.gone = false;
        return;
      }
      const purse: Purse = {
        balance: user.balance,
        used: user.used,
        held: 0,
        most: 0,
        overrun: user.overrun,
        version: user.balanceVersion,
        ahead: new Set(),
        gone: false,
      };
      purses.set(user.id, purse);
      for (const event of early.get(user.id) ?? []) apply(purse, event);
      early.delete(user.id);
    },
    seeToken(token) {
      const { quotaLimit: limit, unlimited, used } = token;
      const known = caps.get(token.id);
      if (known === undefined) caps.set(token.id, { limit, used, held: 0, most: 0, unlimited, gone: false });
      else Object.assign(known, { limit, unlimited, gone: false });
    },
    forgetUser(id) {
      const purse = purses.get(id);
      if (purse !== undefined) purse.gone = true;
    },
    forgetToken(id) {
      const cap = caps.get(id);
      if (cap !== undefined) cap.gone = true;
    },
    credit(event) {
      const purse = purses.get(event.userId);
      if (purse !== undefined) apply(purse, event);
      else early.set(event.userId, [...(early.get(event.userId) ?? []), event]);
    },
    hold(userId, tokenId, amount, { most = amount, overcommit = 1, house = false } = usual) {
      const purse = purses.get(userId);
      if (purse === undefined || purse.gone) return refused('user', 0);
      const cap = tokenId === 0 ? undefined : caps.get(tokenId);
      if (cap !== undefined) {
        if (cap.gone || room(cap) < amount) return refused('token', cap.gone ? 0 : room(cap));
        if (most > 0 && spareOf(cap, overcommit) < most) return refused('token', spareOf(cap, overcommit));
      }
      if (!house) {
        const free = purse.balance - purse.held;
        if (free < amount || (amount > 0 && purse.balance <= 0)) return refused('user', free);
        const spare = Math.floor(purse.balance * overcommit) - purse.most;
        if (most > 0 && spare < most) return refused('user', spare);
        purse.held += amount;
        purse.most += most;
      }
      if (cap !== undefined) {
        cap.held += amount;
        cap.most += most;
      }
      return { ok: true };
    },
    settle(userId, tokenId, { held, charged, most = held, house = false }) {
      const purse = purses.get(userId);
      if (purse !== undefined) {
        if (!house) {
          purse.held -= held;
          purse.most -= most;
          purse.balance -= charged;
        }
        purse.used += charged;
      }
      const cap = caps.get(tokenId);
      if (cap !== undefined) {
        cap.held -= held;
        cap.most -= most;
        cap.used += charged;
      }
    },
    standing(userId, tokenId) {
      if (tokenId === null) {
        const purse = purses.get(userId);
        return { limit: (purse?.balance ?? 0) + (purse?.used ?? 0), used: purse?.used ?? 0 };
      }
      const cap = caps.get(tokenId);
      return { limit: cap?.unlimited === true ? Number.POSITIVE_INFINITY : (cap?.limit ?? 0), used: cap?.used ?? 0 };
    },
    available(userId, tokenId, house = false) {
      const purse = purses.get(userId);
      if (purse === undefined || purse.gone) return 0;
      const cap = caps.get(tokenId);
      const free = house ? Number.MAX_SAFE_INTEGER : purse.balance - purse.held;
      return Math.max(0, cap === undefined ? free : Math.min(free, room(cap)));
    },
    spare(userId, tokenId, overcommit, house) {
      const purse = purses.get(userId);
      if (purse === undefined || purse.gone) return 0;
      const cap = caps.get(tokenId);
      const free = house ? Number.MAX_SAFE_INTEGER : Math.floor(purse.balance * overcommit) - purse.most;
      return Math.max(0, cap === undefined ? free : Math.min(free, spareOf(cap, overcommit)));
    },
    overrunOf: (userId) => purses.get(userId)?.overrun ?? 0,
  };
}
