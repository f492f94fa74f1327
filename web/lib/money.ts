/** Amounts as this site shows them: its unit, and currency or short numbers. */
import { useCallback } from 'react';
import { formatQuota, type MoneyDetails, type MoneyForm } from '../../server/contract/pricing/format.ts';
import { withThousands } from './format.ts';
import { useStatus } from './status.ts';

export type Money = (quota: number | undefined, form?: MoneyForm) => string;

/** @returns null while the site's settings are not loaded. */
export function useMoneyDetails(): MoneyDetails | null {
  const status = useStatus().data;
  const unit = status?.quota_per_unit;
  return unit === undefined ? null : { inCurrency: status?.display_in_currency !== false, quotaPerUnit: unit };
}

/** @param details of the site, or of a document that was made when they were so. */
export const amountIn = (quota: number, details: MoneyDetails, form: MoneyForm): string =>
  withThousands(formatQuota(quota, details, form));

/** What is not known reads as a dash, never as nothing. Stable while the site's facts are. */
export function useMoney(): Money {
  const details = useMoneyDetails();
  const [inCurrency, unit] = [details?.inCurrency, details?.quotaPerUnit];
  return useCallback(
    (quota, form = 'short') =>
      quota === undefined || inCurrency === undefined || unit === undefined
        ? '–'
        : amountIn(quota, { inCurrency, quotaPerUnit: unit }, form),
    [inCurrency, unit],
  );
}
