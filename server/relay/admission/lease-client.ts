/** Leases for requests, where several machines serve one site: what a request lacks here is acquired for it, in the order in which requests ask. */

import { isUnbounded } from '../../billing/balances/slot.ts';
import { AppError } from '../../contract/errors.ts';
import type { KeyFunds } from '../../contract/key-budgets.ts';
import { nextPeriod, type Period } from '../../contract/period.ts';
import type { Principal } from '../intake/parsed-request.ts';

/**
 * `granted` = there is enough; `exhausted` = the whole balance is less than was needed; `token-exhausted` = the key's
 * limit is; `day`, `month` = the key's budget for that period is; `elsewhere` = other machines have leased it.
 */
export type LeaseOutcome = 'granted' | 'exhausted' | 'token-exhausted' | Period | 'elsewhere';

/** Whose money. */
export interface Lessee {
  readonly userId: number;
  /** 0 = no key's limit or budget is in question. */
  readonly tokenId: number;
  /** The balance is left alone: only what the key may use is in question. */
  readonly selfUse: boolean;
  /** The budget of which is leased, in its unit, and of nobody's balance; absent = the balance. */
  readonly budget?: number;
}

export const lesseeOfBudget = (budget: number): Lessee => ({ userId: 0, tokenId: 0, selfUse: true, budget });

/** A key without a limit or budget needs no lease. */
export const lesseeOf = ({ user, token }: Principal, selfUse: boolean): Lessee => ({
  userId: user.id,
  tokenId: token === null || isUnbounded(token) ? 0 : token.id,
  selfUse,
});

export interface LeaseSource {
  /**
   * Resolves when the lease is in the shared memory, or was refused; then the available balance decides.
   * @param more quota beyond the available, without which the first waiter cannot go on. @param requested for all waiters.
   * @throws AppError storage_unavailable.
   */
  acquire(to: Lessee, more: number, requested: number): Promise<LeaseOutcome>;
  /** Balance or limit that a user, or a key, has left, and its use, by the site's ledger; `limit` Infinity = unlimited. @throws AppError storage_unavailable. */
  limits(userId: number, tokenId: number | null): Promise<{ readonly limit: number; readonly used: number }>;
  /** Bounds of a key by the site's ledger. @throws AppError storage_unavailable. */
  funds(userId: number, tokenId: number): Promise<KeyFunds>;
}

export interface LeaseClient {
  /**
   * Waits until that much is available. First come, first served.
   * @param available what is available here, checked repeatedly.
   * @throws AppError storage_unavailable.
   */
  acquire(to: Lessee, need: number, available: () => number): Promise<LeaseOutcome>;
  /** The last lease was refused: the next caller is admitted only when there is a balance again. */
  wasRejected(to: Lessee): boolean;
  /** A request got what it needs of what is leased. */
  reserved(): void;
  /** For a second the ledger could not be asked for what requests lacked, and none was covered since. */
  isOutOfLeases(): boolean;
  /** Quota that balance and key's limit have left by the site's ledger, whichever machine or request holds it; 0 where it cannot be asked. */
  total(to: Lessee): Promise<number>;
  /** Does not wait. */
  prefetch(to: Lessee, need: number, available: () => number): void;
}

interface Waiter {
  readonly need: number;
  readonly available: () => number;
  readonly resolve: (outcome: LeaseOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** One request that lacks a lease among others that are covered says nothing of the machine. */
const outOfLeasesMs = 1000;

/** One lease request per account at a time, for all who wait together. */
/** @param noteLost called for what could not be leased ahead of time. */
export function createLeaseClient(
  leaseSource: LeaseSource,
  noteLost: (error: unknown) => void,
  monoNow: () => number,
): LeaseClient {
  /** Since when requests were refused for want of the ledger; null = the last one was covered. */
  let missingSince: number | null = null;
  const queues = new Map<string, Waiter[]>();
  const rejected = new Set<string>();

  /** Waiters that may go on, in order; they have taken what they need when the next turn begins. */
  const letGo = (queue: Waiter[]): void => {
    let available = queue[0]?.available() ?? 0;
    for (let first = queue[0]; first !== undefined && first.need <= available; first = queue[0]) {
      available -= first.need;
      queue.shift();
      first.resolve('granted');
    }
  };
  const serve = async (to: Lessee, queue: Waiter[], served: () => void): Promise<void> => {
    for (;;) {
      letGo(queue);
      const [first] = queue;
      if (first === undefined) return served();
      await nextTurn();
      const here = first.available();
      const more = first.need - here;
      if (more <= 0) continue;
      const requested = queue.reduce((sum, { need }) => sum + need, 0) - here;
      const answer = await leaseSource.acquire(to, more, requested).catch((error: unknown) => ({ error }));
      if (answer === 'granted') continue;
      letGo(queue);
      // The first waiter gets the answer, and may ask again; those behind it may need less.
      if (queue[0] === first) {
        queue.shift();
        if (typeof answer === 'string') first.resolve(answer);
        else first.reject(answer.error);
      }
      await nextTurn();
    }
  };

  const acquire = (to: Lessee, need: number, available: () => number, ahead: boolean): Promise<LeaseOutcome> => {
    const { promise, resolve, reject } = Promise.withResolvers<LeaseOutcome>();
    const key = keyOf(to);
    const known = queues.get(key);
    const waiter: Waiter = {
      need,
      available,
      reject(error) {
        if (!ahead) missingSince ??= monoNow();
        reject(error);
      },
      resolve(outcome) {
        missingSince = null;
        if (outcome === 'granted') rejected.delete(key);
        else {
          if (rejected.size >= maxRejected) rejected.clear();
          rejected.add(key);
        }
        resolve(outcome);
      },
    };
    if (known !== undefined) known.push(waiter);
    else {
      const queue = [waiter];
      queues.set(key, queue);
      serve(to, queue, () => queues.delete(key)).catch((error: unknown) => {
        queues.delete(key);
        for (const { reject: refuse } of queue.splice(0)) refuse(error);
      });
    }
    return promise;
  };
  const totals = new Map<string, { readonly all: Promise<number>; readonly untilMs: number }>();
  const left = async (userId: number, tokenId: number | null): Promise<number> => {
    const { limit, used } = await leaseSource.limits(userId, tokenId);
    return limit - used;
  };
  return {
    acquire: (to, need, available) => acquire(to, need, available, false),
    total(to) {
      const key = keyOf(to);
      const known = totals.get(key);
      if (known !== undefined && monoNow() < known.untilMs) return known.all;
      const { userId, tokenId, selfUse } = to;
      const ofUser = selfUse ? Number.POSITIVE_INFINITY : left(userId, null);
      const ofKey = tokenId === 0 ? Number.POSITIVE_INFINITY : left(userId, tokenId);
      const all = Promise.all([ofUser, ofKey]).then(
        (parts) => Math.max(0, Math.min(...parts)),
        () => 0,
      );
      if (totals.size >= maxRejected) totals.clear();
      totals.set(key, { all, untilMs: monoNow() + totalMs });
      return all;
    },
    reserved() {
      missingSince = null;
    },
    isOutOfLeases: () => missingSince !== null && monoNow() - missingSince >= outOfLeasesMs,
    wasRejected: (to) => rejected.has(keyOf(to)),
    prefetch(to, need, available) {
      // A lease that could not be had ahead of time is asked for again when it is needed.
      if (available() < need) void acquire(to, need, available, true).catch(noteLost);
    },
  };
}

const keyOf = ({ selfUse, userId, tokenId, budget }: Lessee): string =>
  budget === undefined ? `${selfUse ? 0 : userId} ${tokenId}` : `budget ${budget}`;
/** Repeated requests do not keep the ledger busy. */
const totalMs = 100;
/** How many accounts and budgets are remembered: those that were refused a lease, and those whose sums are known. */
const maxRejected = 10_000;

/** Maximum number of attempts. */
export const maxLeases = 8;

/** A granted lease is open to every thread of this machine: another may take it before `holds` does, and there may be more. */
export async function whenReserved(holds: () => boolean, lease: () => Promise<boolean>): Promise<boolean> {
  for (let leases = 0; leases < maxLeases; leases++) {
    if (holds()) return true;
    // A request that gets no lease may still fit into what there is.
    if (!(await lease())) break;
  }
  return holds();
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const remoteSeconds = 2;

export const elsewhere = (error?: unknown): AppError =>
  new AppError('balance_elsewhere', { seconds: remoteSeconds }, error);

/** The ledger had enough of the balance, or it would not have checked the key: another thread or machine has taken it since. */
export const isTakenBalance = (outcome: LeaseOutcome, error: unknown): boolean =>
  (outcome === 'token-exhausted' || outcome === 'day' || outcome === 'month') &&
  error instanceof AppError &&
  error.code === 'user_exhausted';

/** Another thread or machine has taken it since. */
export const isOfBudget = (error: unknown): boolean =>
  error instanceof AppError && /^budget_(?:token|label|user|group|site)/.test(error.code);

/** Too little here: other machines have some in hand, and that is for later; or the key's budget will be new. @param now epoch seconds. */
export function refusalAfter(outcome: LeaseOutcome, error: unknown, now: number): unknown {
  if (!(error instanceof AppError) || !/^(?:user|token)_exhausted$/.test(error.code)) return error;
  if (outcome === 'elsewhere' || outcome === 'granted') return elsewhere(error);
  if (outcome === 'exhausted' || outcome === 'token-exhausted') return error;
  const resets = nextPeriod(outcome, now);
  const seconds = Math.ceil(resets - now);
  return new AppError(
    outcome === 'day' ? 'token_budget_day' : 'token_budget_month',
    { ...error.params, seconds, resets },
    error,
  );
}
