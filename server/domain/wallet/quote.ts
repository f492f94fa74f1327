/** What a top-up costs and credits, exact. As new-api does. */
import { AppError } from '../../contract/errors.ts';
import { maxQuota } from '../../contract/pricing/charge.ts';
import { roundDivide, scale, toScaled } from '../../contract/pricing/decimal.ts';

export interface TopUpOptions {
  /** Money for one dollar of quota, in whole units of the currency. */
  readonly price: number;
  /** Smallest top-up in dollars. */
  readonly min: number;
  /** Factor of the user's group. */
  readonly groupRatio: number;
  /** Amounts are dollars; otherwise quota. */
  readonly inCurrency: boolean;
  readonly quotaPerUnit: number;
  /** Smallest units in one unit of the currency. */
  readonly minor: number;
}

export interface TopUpQuote {
  /** As asked for. */
  readonly amount: number;
  readonly quota: number;
  /** Smallest units of the currency. */
  readonly money: number;
}

/** @throws AppError topup_minimum, topup_money_low, params_invalid. */
export function quoteTopUp(amount: number, options: TopUpOptions): TopUpQuote {
  const min = options.inCurrency ? options.min : Math.ceil(options.min * options.quotaPerUnit);
  if (!Number.isSafeInteger(amount) || amount < min) throw new AppError('topup_minimum', { min: min });
  const perUnit = toScaled(options.quotaPerUnit);
  const quota = options.inCurrency ? Number(roundDivide(BigInt(amount) * perUnit, scale)) : amount;
  if (quota > maxQuota) throw new AppError('params_invalid', { detail: `amount ${amount}` });
  const dollars = options.inCurrency ? BigInt(amount) * perUnit : BigInt(amount) * scale;
  const ratio = options.groupRatio > 0 ? options.groupRatio : 1;
  const money = roundDivide(
    dollars * toScaled(options.price) * toScaled(ratio) * BigInt(options.minor),
    perUnit * scale * scale,
  );
  if (money < 1n) throw new AppError('topup_money_low');
  return { amount, quota, money: Number(money) };
}

/** `7.30` of 730. */
export function moneyText(money: number, minor: number): string {
  if (minor === 1) return String(money);
  const digits = String(minor).length - 1;
  const text = String(money).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** The reverse, exact; null for anything that is no plain amount of money. */
export function moneyOf(text: string, minor: number): number | null {
  const digits = String(minor).length - 1;
  const match = /^(\d{1,12})(?:\.(\d+))?$/.exec(text);
  if (match === null) return null;
  const fraction = (match[2] ?? '').replace(/0+$/, '');
  if (fraction.length > digits) return null;
  return Number(match[1]) * minor + Number(fraction.padEnd(digits, '0') || '0');
}
