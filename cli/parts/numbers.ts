/** Numbers and amounts of flags and answers; what cannot be read is a usage error that says why. */
import { type Amount, type NumberOptions, parseMoney, parseNumber } from '../../server/contract/amount.ts';
import { AppError } from '../../server/contract/errors.ts';

export const unlimited = 'unlimited';

function usageError(text: string, flag: string, { zh, en }: { readonly zh: string; readonly en: string }): AppError {
  const named = `${flag} ${text}`.trim();
  return new AppError('usage', { detail: named, detail_zh: `${named}：${zh}`, detail_en: `${named}: ${en}` });
}

function amountIn(amount: Amount, text: string, flag: string): number | typeof unlimited {
  if (amount.kind === 'invalid') throw usageError(text, flag, amount.issue);
  return amount.kind === 'unlimited' ? unlimited : amount.value;
}

/** @throws AppError usage. */
export function wholeNumber(
  text: string | undefined,
  flag: string,
  options: Omit<NumberOptions, 'integer' | 'unlimited'> = {},
): number | undefined {
  if (text === undefined) return undefined;
  return amountIn(parseNumber(text, { ...options, integer: true }), text, flag) as number;
}

/** A limit that `unlimited` lifts, which is stored as 0. @throws AppError usage. */
export function limitOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const value = amountIn(parseNumber(text, { integer: true, unlimited: true }), text, flag);
  return value === unlimited ? 0 : value;
}

interface QuotaOptions {
  readonly quotaPerUnit: number;
  /** The smallest amount in quota; 0 unless given. */
  readonly min?: number;
}

/** `500000` is quota, `5usd` is money. @throws AppError usage. */
export const quotaOf = (text: string, flag: string, options: QuotaOptions): number =>
  amountIn(parseMoney(text, { ...options, plain: 'quota' }), text, flag) as number;

/** The same, or `unlimited`. @throws AppError usage. */
export const quotaOrUnlimited = (text: string, flag: string, options: QuotaOptions): number | typeof unlimited =>
  amountIn(parseMoney(text, { ...options, plain: 'quota', unlimited: true }), text, flag);

/** An id among the positional arguments. @throws AppError usage. */
export const idOf = (text: string, what: string): number => {
  if (!/^\d{1,15}$/.test(text))
    throw usageError(text, what, { zh: '必须是编号，例如 1', en: 'must be an id, such as 1' });
  return Number(text);
};
