/** What each token may use per calendar day and month: running sums that begin anew with the period. Asked under the lock of the token's user. */
import { nextPeriod, type Period, periodStart } from '../../contract/periods.ts';
import type { TokenSnapshot } from '../../contract/snapshot.ts';
import type { Money } from './money.ts';
import { Cap } from './slots.ts';

export interface BudgetAnswer {
  readonly period: Period;
  readonly remain: number;
  /** Until the next period begins. */
  readonly seconds: number;
}

export interface Budgets {
  /** Takes `amount` out of reach. @returns the budget that does not have it, or null. @param now epoch seconds. */
  hold(token: TokenSnapshot, amount: number, now: number): BudgetAnswer | null;
  /** What both periods have left; Infinity where none is bounded. */
  room(token: TokenSnapshot, now: number): number;
  /** Gives a hold back and counts what was really used. @param cap the token's place. */
  settle(cap: number, held: number, charged: number, now: number): void;
}

const periods = ['day', 'month'] as const;
const startCells = { day: Cap.dayStart, month: Cap.monthStart } as const;
const usedCells = { day: Cap.dayUsed, month: Cap.monthUsed } as const;

/** Several machines serve one site: what this one may use of a key's budgets is part of what it was lent of the key. */
const lent: Budgets = { hold: () => null, room: () => Number.POSITIVE_INFINITY, settle: () => undefined };

export function createBudgets({ memory, accounts, tenure }: Pick<Money, 'memory' | 'accounts' | 'tenure'>): Budgets {
  if (tenure !== null) return lent;
  let starts: Readonly<Record<Period, number>> = { day: -1, month: -1 };

  /** The month is only looked up when the day is another. */
  const startOf = (period: Period, now: number): number => {
    const day = periodStart('day', now);
    if (day !== starts.day) starts = { day, month: periodStart('month', now) };
    return starts[period];
  };
  const usedIn = (cap: number, period: Period, now: number): number => {
    const start = startOf(period, now);
    if (start > memory.get(cap + startCells[period])) {
      memory.put(cap + startCells[period], start);
      memory.put(cap + usedCells[period], 0);
    }
    return memory.get(cap + usedCells[period]);
  };
  const limitOf = (token: TokenSnapshot, period: Period): number =>
    (period === 'day' ? token.limits?.dayBudget : token.limits?.monthBudget) ?? 0;

  return {
    hold(token, amount, now) {
      const cap = accounts.seenToken(token);
      for (const period of periods) {
        const limit = limitOf(token, period);
        if (limit === 0) continue;
        const remain = limit - usedIn(cap, period, now) - memory.get(cap + Cap.budgetHeld);
        if (remain < Math.max(1, amount))
          return { period, remain: Math.max(0, remain), seconds: nextPeriod(period, now) - now };
      }
      // Also without a limit: one may be set while it runs.
      memory.add(cap + Cap.budgetHeld, amount);
      return null;
    },
    room(token, now) {
      let least = Number.POSITIVE_INFINITY;
      if (token.limits === null) return least;
      const cap = accounts.seenToken(token);
      for (const period of periods) {
        const limit = limitOf(token, period);
        if (limit === 0) continue;
        const remain = limit - usedIn(cap, period, now) - memory.get(cap + Cap.budgetHeld);
        least = Math.min(least, Math.max(0, remain));
      }
      return least;
    },
    settle(cap, held, charged, now) {
      for (const period of periods) memory.put(cap + usedCells[period], usedIn(cap, period, now) + charged);
      memory.add(cap + Cap.budgetHeld, -held);
    },
  };
}
