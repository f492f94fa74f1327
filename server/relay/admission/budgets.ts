/** What each token may use per calendar day and month: running sums that begin anew with the period. */
import { nextPeriod, type Period, periodStart } from '../../contract/periods.ts';
import type { TokenSnapshot } from '../state/snapshot.ts';

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
  /** Gives a hold back and counts what was really used. */
  settle(token: TokenSnapshot, held: number, charged: number, now: number): void;
}

interface Sum {
  start: number;
  used: number;
  held: number;
}

const periods = ['day', 'month'] as const;

export function createBudgets(): Budgets {
  const sums = new Map<number, Readonly<Record<Period, Sum>>>();
  let starts: Readonly<Record<Period, number>> = { day: -1, month: -1 };

  /** The month is only looked up when the day is another. */
  const startOf = (period: Period, now: number): number => {
    const day = periodStart('day', now);
    if (day !== starts.day) starts = { day, month: periodStart('month', now) };
    return starts[period];
  };

  /** First sight takes what the ledger has counted so far; from then on this is the only relay that spends. */
  const sumOf = (token: TokenSnapshot, period: Period, now: number): Sum => {
    let known = sums.get(token.id);
    if (known === undefined) {
      const { day, month } = token.periods;
      known = {
        day: { start: day.at, used: day.used, held: 0 },
        month: { start: month.at, used: month.used, held: 0 },
      };
      sums.set(token.id, known);
    }
    const sum = known[period];
    const start = startOf(period, now);
    if (start > sum.start) {
      sum.start = start;
      sum.used = 0;
    }
    return sum;
  };
  const limitOf = (token: TokenSnapshot, period: Period): number =>
    (period === 'day' ? token.limits?.dayBudget : token.limits?.monthBudget) ?? 0;
  const bounded = (token: TokenSnapshot) => periods.filter((period) => limitOf(token, period) > 0);

  return {
    hold(token, amount, now) {
      for (const period of bounded(token)) {
        const sum = sumOf(token, period, now);
        const remain = limitOf(token, period) - sum.used - sum.held;
        if (remain < Math.max(1, amount))
          return { period, remain: Math.max(0, remain), seconds: nextPeriod(period, now) - now };
      }
      for (const period of bounded(token)) sumOf(token, period, now).held += amount;
      return null;
    },
    room(token, now) {
      let least = Number.POSITIVE_INFINITY;
      if (token.limits === null) return least;
      for (const period of periods) {
        const limit = limitOf(token, period);
        if (limit === 0) continue;
        const sum = sumOf(token, period, now);
        least = Math.min(least, Math.max(0, limit - sum.used - sum.held));
      }
      return least;
    },
    settle(token, held, charged, now) {
      // Also without a limit: one may be set while the period runs.
      for (const period of periods) {
        const sum = sumOf(token, period, now);
        sum.used += charged;
        if (limitOf(token, period) > 0) sum.held = Math.max(0, sum.held - held);
      }
    },
  };
}
