/** Numbers and amounts as people type them. */
import { AppError } from '../../server/contract/errors.ts';

/** @throws AppError usage. */
export function wholeNumber(given: string | undefined, flag: string): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,15}$/.test(given)) throw new AppError('usage', { detail: `${flag} ${given}` });
  return Number(given);
}

/** `500000` or `5usd`. @throws AppError usage. */
export function quotaAmount(given: string | undefined, flag: string, quotaPerUnit: number): number | undefined {
  const usd = /^(\d+(?:\.\d+)?)usd$/i.exec(given ?? '');
  return usd === null ? wholeNumber(given, flag) : Math.round(Number(usd[1]) * quotaPerUnit);
}

/** An id among the positional arguments. @throws AppError usage. */
export const idOf = (given: string, what: string): number => {
  if (!/^\d{1,15}$/.test(given)) throw new AppError('usage', { detail: `${what} ${given}` });
  return Number(given);
};
