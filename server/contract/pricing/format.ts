/** Money for people: quota as dollars or short numbers, ratios as prices. */

import { formatUsd } from './charge.ts';
import { ratioOf } from './decimal.ts';

/** What an amount of quota is called at this site. */
export interface MoneyDetails {
  readonly inCurrency: boolean;
  readonly quotaPerUnit: number;
}

/** whole: none unless needed; cents: two decimals; short: more where two would hide a small amount; exact: as many as the smallest amount has, and every digit of a quota. */
export type MoneyForm = 'whole' | 'cents' | 'short' | 'exact';

const cents = 2;
const defaultDecimals = 6;

const isWholeCents = (quota: number, perUnit: number): boolean => Number.isInteger((quota * 100) / perUnit);

function decimalsOf(quota: number, form: MoneyForm, perUnit: number): number {
  const exact = Math.max(defaultDecimals, Math.ceil(Math.log10(perUnit)));
  if (form === 'exact') return exact;
  if (form === 'whole' && quota % perUnit === 0) return 0;
  return form === 'short' && quota !== 0 && Math.abs(quota) * 100 < perUnit ? exact : cents;
}

/** @returns the one form in which amounts below each other add up. */
export const formOfColumn = (amounts: readonly number[], { inCurrency, quotaPerUnit }: MoneyDetails): MoneyForm =>
  !inCurrency || amounts.some((quota) => !isWholeCents(quota, quotaPerUnit)) ? 'exact' : 'cents';

/** Quota as a person reads it: dollars where the site shows currency. */
export function formatQuota(quota: number, display: MoneyDetails, form: MoneyForm = 'cents'): string {
  const perUnit = display.quotaPerUnit;
  const size = Math.abs(quota);
  if (display.inCurrency)
    return `${quota < 0 ? '-' : ''}$${formatUsd(size, decimalsOf(quota, form, perUnit), perUnit)}`;
  if (form === 'exact') return String(quota);
  if (size >= 1e9) return `${(quota / 1e9).toFixed(1)}B`;
  if (size >= 1e6) return `${(quota / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${(quota / 1e3).toFixed(1)}k`;
  return String(quota);
}

/**
 * What is left and what something takes, side by side: in cents, the one rounded down and the other up, so that nothing looks
 * affordable that is not.
 */
export function formatShortage(
  left: number,
  needed: number,
  display: MoneyDetails,
): { readonly left: string; readonly needed: string } {
  if (!display.inCurrency) return { left: String(left), needed: String(needed) };
  const inCents = (count: number): string => `${count < 0 ? '-' : ''}$${(Math.abs(count) / 100).toFixed(cents)}`;
  const centsOf = (quota: number): number => (quota * 100) / display.quotaPerUnit;
  return { left: inCents(Math.floor(centsOf(left))), needed: inCents(Math.ceil(centsOf(needed))) };
}

/** Ratio 1 is $2 per million tokens. As new-api does. */
const dollarsOfRatio = 2;
const decimals = (value: number): number => ratioOf(Number(value.toPrecision(12))) ?? 0;

/** @returns dollars per million input tokens. */
export const priceOfRatio = (modelRatio: number, groupRatio = 1): number =>
  decimals(modelRatio * dollarsOfRatio * groupRatio);

/** @returns dollars per million output tokens. */
export const completionPriceOf = (modelRatio: number, completionRatio: number, groupRatio = 1): number =>
  decimals(modelRatio * dollarsOfRatio * completionRatio * groupRatio);
