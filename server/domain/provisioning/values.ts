/** Amounts and times of a declarative file as numbers. */
import { parseMoney } from '../../contract/amount.ts';
import { AppError } from '../../contract/errors.ts';
import { readExpiry } from '../../contract/expiry.ts';
import type { Issue } from '../../contract/option-kinds.ts';

function bad(name: string, value: unknown, { zh, en }: Issue): AppError {
  const named = `${name}: ${String(value)}`;
  return new AppError('params_invalid', {
    detail: named,
    detail_zh: `${name}：${String(value)}：${zh}`,
    detail_en: `${named}: ${en}`,
  });
}

/** `500000` is quota, `5usd` is money. @throws AppError params_invalid */
export function amountOf(name: string, value: number | string, quotaPerUnit: number): number {
  const amount = parseMoney(String(value), { plain: 'quota', quotaPerUnit });
  if (amount.kind === 'invalid') throw bad(name, value, amount.issue);
  return amount.kind === 'value' ? amount.value : 0;
}

/** The same, or `unlimited`, which is stored as 0. @throws AppError params_invalid */
export function budgetOf(name: string, value: number | string, quotaPerUnit: number): number {
  const amount = parseMoney(String(value), { plain: 'quota', quotaPerUnit, unlimited: true });
  if (amount.kind === 'invalid') throw bad(name, value, amount.issue);
  return amount.kind === 'value' ? amount.value : 0;
}

/**
 * Epoch seconds, `never`, a date, or a span like `30d`, which counts from when the object was made: applied again it
 * means the same moment.
 * @param madeAt epoch seconds. @param never what stands for no end. @throws AppError params_invalid
 */
export function expiryOf(value: number | string, madeAt: number, never: number): number {
  if (typeof value === 'number') return value;
  const expiry = readExpiry(value);
  if (expiry.kind === 'unreadable') throw bad('expires', value, expiry.issue);
  if (expiry.kind === 'never') return never;
  return expiry.kind === 'span' ? madeAt + expiry.seconds : expiry.seconds;
}
