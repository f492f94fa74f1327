/** What is left and what was needed, as the site shows money. */
import type { HolderShortage } from '../../billing/balances/budgets.ts';
import { AppError, type ErrorParams } from '../../contract/errors.ts';
import { formatQuota, type MoneyDetails } from '../../contract/pricing/format.ts';

export const shortage = (remain: number, need: number, details: MoneyDetails): ErrorParams => ({
  remain: formatQuota(remain, details, 'exact'),
  need: formatQuota(need, details, 'exact'),
});

/** Of a budget: money as the site shows it, else numbers. */
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
