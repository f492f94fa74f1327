/** Money for people: quota as dollars or short numbers, ratios as prices. */
import { ratioOf } from './pricing-decimal.ts';
import { formatUsd } from './quota.ts';

/** Quota as a person reads it: dollars where the site shows currency. */
export function formatQuota(
  quota: number,
  display: { readonly inCurrency: boolean; readonly quotaPerUnit: number },
): string {
  if (display.inCurrency) return `$${formatUsd(quota, 2, display.quotaPerUnit)}`;
  const size = Math.abs(quota);
  if (size >= 1e9) return `${(quota / 1e9).toFixed(1)}B`;
  if (size >= 1e6) return `${(quota / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${(quota / 1e3).toFixed(1)}k`;
  return String(quota);
}

/** Ratio 1 is $2 per million tokens. As new-api does. */
const dollarsOfRatio = 2;
const decimals = (value: number): number => ratioOf(Number(value.toPrecision(12))) ?? 0;

/** @returns dollars per million input tokens. */
export const priceOfRatio = (modelRatio: number, groupRatio = 1): number =>
  decimals(modelRatio * dollarsOfRatio * groupRatio);

/** @param price dollars per million input tokens. */
export const ratioOfPrice = (price: number): number => decimals(price / dollarsOfRatio);

/** @returns dollars per million output tokens. */
export const completionPriceOf = (modelRatio: number, completionRatio: number, groupRatio = 1): number =>
  decimals(modelRatio * dollarsOfRatio * completionRatio * groupRatio);

/** @returns the completion ratio of two prices; 1 when the input is free. */
export const completionRatioOfPrices = (input: number, output: number): number =>
  input === 0 ? 1 : decimals(output / input);
