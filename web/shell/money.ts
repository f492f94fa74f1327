/** Amounts as this site shows them: its unit, and currency or short numbers. */
import { useCallback } from 'react';
import { formatQuota, type MoneyDetails, type MoneyForm } from '../../server/contract/pricing/format.ts';
import { grouped } from '../lib/format.ts';
import { useStatus } from './status.ts';

export type Money = (quota: number | undefined, form?: MoneyForm) => string;

/** @returns null while the site's settings are not loaded. */
export function useMoneyDetails(): MoneyDetails | null {
  const status = useStatus().data;
  const unit = status?.quota_per_unit;
  return unit === undefined ? null : { inCurrency: status?.display_in_currency !== false, quotaPerUnit: unit };
}

/** `$12345.60` as `$12,345.60`, `1234567` as `1,234,567`. */
const withThousands = (amount: string): string =>
  amount.replace(/^-?\$?\d{4,}/, (start) => start.replace(/\d+/, (digits) => grouped(Number(digits))));

/** What is not known reads as a dash, never as nothing. Stable while the site's facts are. */
export function useMoney(): Money {
  const details = useMoneyDetails();
  const [inCurrency, unit] = [details?.inCurrency, details?.quotaPerUnit];
  return useCallback(
    (quota, form = 'short') =>
      quota === undefined || inCurrency === undefined || unit === undefined
        ? '–'
        : withThousands(formatQuota(quota, { inCurrency, quotaPerUnit: unit }, form)),
    [inCurrency, unit],
  );
}
