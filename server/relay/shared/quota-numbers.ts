/** What is left and what was needed, as the site shows money. */
import type { HolderShortage } from '../../billing/balances/budgets.ts';
import { AppError, type ErrorParams } from '../../contract/errors.ts';
import { formatShortage, type MoneyDetails } from '../../contract/pricing/format.ts';

export function shortage(remain: number, need: number, details: MoneyDetails): ErrorParams {
  const { left, needed } = formatShortage(remain, need, details);
  return { remain: left, need: needed };
}

/** The refusal of a budget: money as the site shows it, else numbers. */
export function budgetRefusal(
  { holder, unit, remain, need, seconds, resets }: HolderShortage,
  details: MoneyDetails,
): AppError {
  const amounts: ErrorParams =
    unit === 'money' ? shortage(remain, need, details) : { remain: String(remain), need: String(need) };
  return seconds === null || resets === null
    ? new AppError(`budget_${holder}_total`, amounts)
    : new AppError(`budget_${holder}`, { ...amounts, seconds: Math.ceil(seconds), resets });
}
