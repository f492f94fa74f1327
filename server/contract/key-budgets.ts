/** What bounds a key, and which of it is nearest to its end: what agents show of a budget, in headers and when they ask. */
import { countedWindows } from './budgets.ts';
import { nextPeriod } from './period.ts';
import type { BudgetUse, TokenLimits } from './snapshot.ts';

/** What the site's ledger says of a key and its user, in quota; what open requests hold counts as there. */
export interface KeyFunds {
  readonly balance: number;
  /** null = the key has no limit of its own. */
  readonly limit: number | null;
  /** By the key in all, and in the current day and month (UTC). */
  readonly used: number;
  readonly dayUsed: number;
  readonly monthUsed: number;
}

/** The key's budgets of a day and a month, as far as they are set. @param now epoch seconds. */
export function periodBudgets(funds: KeyFunds, limits: TokenLimits | null, now: number): BudgetUse[] {
  const uses: BudgetUse[] = [];
  const { dayBudget = 0, monthBudget = 0 } = limits ?? {};
  if (dayBudget > 0) uses.push({ kind: 'day', limit: dayBudget, used: funds.dayUsed, resets: nextPeriod('day', now) });
  if (monthBudget > 0)
    uses.push({ kind: 'month', limit: monthBudget, used: funds.monthUsed, resets: nextPeriod('month', now) });
  return uses;
}

/**
 * The same, its limit and the balance. A balance has no beginning: beside what is left of it stands what the key used this month,
 * so that its share is whole when nothing is left.
 * @param isFree nothing is charged to the balance. @param now epoch seconds.
 */
export function allBudgets(funds: KeyFunds, limits: TokenLimits | null, isFree: boolean, now: number): BudgetUse[] {
  const uses = periodBudgets(funds, limits, now);
  if (funds.limit !== null) uses.push({ kind: 'key', limit: funds.limit, used: funds.used, resets: null });
  if (!isFree) {
    const limit = funds.balance + funds.monthUsed;
    uses.push({ kind: 'balance', limit, used: funds.monthUsed, resets: null });
  }
  return uses;
}

/** From the shorter to what never ends. */
const order: readonly BudgetUse['kind'][] = [...countedWindows, 'key', 'balance'];

/** The same with those that the key or its user has for a window, the shorter first. */
export const withWindows = (uses: readonly BudgetUse[], windows: readonly BudgetUse[]): readonly BudgetUse[] =>
  windows.length === 0
    ? uses
    : [...windows, ...uses].sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));

/** 1 = nothing is left. */
export const shareOf = ({ limit, used }: BudgetUse): number => (used >= limit ? 1 : used / limit);

/** The one of which the largest share is used, the shorter of equals; of those that are used up the longest, because it is waited for. */
export function tightestOf(budgets: readonly BudgetUse[]): BudgetUse | null {
  let tightest: BudgetUse | null = null;
  for (const budget of budgets) {
    const share = shareOf(budget);
    const most = tightest === null ? -1 : shareOf(tightest);
    // They come with the shorter first.
    if (share > most || (share === 1 && most === 1)) tightest = budget;
  }
  return tightest;
}
