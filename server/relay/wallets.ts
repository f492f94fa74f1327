/** Running balances of users and tokens, and what open requests hold of them. One synchronous step admits or refuses: no gap between check and take. */
import type { BalanceEvent } from '../ledger/commands.ts';
import type { TokenSnapshot, UserSnapshot } from './snapshot.ts';

export type HoldAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly who: 'user' | 'token'; readonly remain: number };

export interface Wallets {
  /** First sight of a user sets the balance; later rows leave it alone, since balances move only through the ledger. */
  seeUser(user: UserSnapshot): void;
  /** First sight of a token sets what it has used; its limit follows every row. */
  seeToken(token: TokenSnapshot): void;
  forgetUser(id: number): void;
  forgetToken(id: number): void;
  /** A balance moved for another reason than a settlement of ours. */
  credit(event: BalanceEvent): void;
  /** Takes `amount` out of reach of other requests. `tokenId` 0 = no token involved. */
  hold(userId: number, tokenId: number, amount: number): HoldAnswer;
  /** Gives a hold back and charges what was really used. */
  settle(userId: number, tokenId: number, held: number, charged: number): void;
  /** What a user, or a token, has left and has used; `limit` Infinity = without end. */
  standing(userId: number, tokenId: number | null): { readonly limit: number; readonly used: number };
  /** What the user could still hold now. */
  available(userId: number, tokenId: number): number;
}

interface Purse {
  balance: number;
  used: number;
  held: number;
  version: number;
}

interface Cap {
  limit: number;
  used: number;
  held: number;
  unlimited: boolean;
}

export function createWallets(): Wallets {
  const purses = new Map<number, Purse>();
  const caps = new Map<number, Cap>();
  // Rows and balance events come from different threads; an event may arrive before the row of its user.
  const early = new Map<number, BalanceEvent[]>();

  const apply = (purse: Purse, event: BalanceEvent) => {
    if (event.version <= purse.version) return;
    purse.version = event.version;
    purse.balance += event.delta;
    const cap = event.token === undefined ? undefined : caps.get(event.token.id);
    if (cap !== undefined) cap.used += event.token?.used ?? 0;
    purse.used += event.token?.used ?? 0;
  };
  const room = (cap: Cap): number => (cap.unlimited ? Number.MAX_SAFE_INTEGER : cap.limit - cap.used - cap.held);

  return {
    seeUser(user) {
      if (purses.has(user.id)) return;
      const purse = { balance: user.balance, used: user.used, held: 0, version: user.balanceVersion };
      purses.set(user.id, purse);
      for (const event of early.get(user.id) ?? []) apply(purse, event);
      early.delete(user.id);
    },
    seeToken(token) {
      const known = caps.get(token.id);
      if (known === undefined) {
        caps.set(token.id, { limit: token.quotaLimit, used: token.used, held: 0, unlimited: token.unlimited });
        return;
      }
      known.limit = token.quotaLimit;
      known.unlimited = token.unlimited;
    },
    forgetUser: (id) => void purses.delete(id),
    forgetToken: (id) => void caps.delete(id),
    credit(event) {
      const purse = purses.get(event.userId);
      if (purse !== undefined) apply(purse, event);
      else early.set(event.userId, [...(early.get(event.userId) ?? []), event]);
    },
    hold(userId, tokenId, amount) {
      const purse = purses.get(userId);
      if (purse === undefined) return { ok: false, who: 'user', remain: 0 };
      const cap = tokenId === 0 ? undefined : caps.get(tokenId);
      if (cap !== undefined && room(cap) < amount) return { ok: false, who: 'token', remain: Math.max(0, room(cap)) };
      const free = purse.balance - purse.held;
      if (free < amount || (amount > 0 && purse.balance <= 0))
        return { ok: false, who: 'user', remain: Math.max(0, free) };
      purse.held += amount;
      if (cap !== undefined) cap.held += amount;
      return { ok: true };
    },
    settle(userId, tokenId, held, charged) {
      const purse = purses.get(userId);
      if (purse !== undefined) {
        purse.held -= held;
        purse.balance -= charged;
        purse.used += charged;
      }
      const cap = caps.get(tokenId);
      if (cap !== undefined) {
        cap.held -= held;
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
    available(userId, tokenId) {
      const purse = purses.get(userId);
      if (purse === undefined) return 0;
      const cap = caps.get(tokenId);
      const free = purse.balance - purse.held;
      return Math.max(0, cap === undefined ? free : Math.min(free, room(cap)));
    },
  };
}
