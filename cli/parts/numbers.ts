/** Numbers and amounts of flags and answers; what cannot be read is a usage error that says why. */
import { type Amount, type NumberOptions, parseMoney, parseNumber } from '../../server/contract/amount.ts';
import { AppError } from '../../server/contract/errors.ts';

export const unlimited = 'unlimited';

function refused(given: string, flag: string, { zh, en }: { readonly zh: string; readonly en: string }): AppError {
  const named = `${flag} ${given}`.trim();
  return new AppError('usage', { detail: named, detail_zh: `${named}：${zh}`, detail_en: `${named}: ${en}` });
}

function amountIn(amount: Amount, given: string, flag: string): number | typeof unlimited {
  if (amount.kind === 'invalid') throw refused(given, flag, amount.issue);
  return amount.kind === 'unlimited' ? unlimited : amount.value;
}

/** @throws AppError usage. */
export function wholeNumber(
  given: string | undefined,
  flag: string,
  terms: Omit<NumberOptions, 'integer' | 'unlimited'> = {},
): number | undefined {
  if (given === undefined) return undefined;
  return amountIn(parseNumber(given, { ...terms, integer: true }), given, flag) as number;
}

/** A limit that `unlimited` lifts, which is stored as 0. @throws AppError usage. */
export function limitOf(given: string | undefined, flag: string): number | undefined {
  if (given === undefined) return undefined;
  const value = amountIn(parseNumber(given, { integer: true, unlimited: true }), given, flag);
  return value === unlimited ? 0 : value;
}

interface QuotaTerms {
  readonly quotaPerUnit: number;
  /** Of quota; 0 unless given. */
  readonly min?: number;
}

/** `500000` is quota, `5usd` is money. @throws AppError usage. */
export const quotaOf = (given: string, flag: string, terms: QuotaTerms): number =>
  amountIn(parseMoney(given, { ...terms, plain: 'quota' }), given, flag) as number;

/** The same, or `unlimited`. @throws AppError usage. */
export const quotaOrUnlimited = (given: string, flag: string, terms: QuotaTerms): number | typeof unlimited =>
  amountIn(parseMoney(given, { ...terms, plain: 'quota', unlimited: true }), given, flag);

/** An id among the positional arguments. @throws AppError usage. */
export const idOf = (given: string, what: string): number => {
  if (!/^\d{1,15}$/.test(given))
    throw refused(given, what, { zh: '必须是编号，例如 1', en: 'must be an id, such as 1' });
  return Number(given);
};
