/** Amounts and times of a declarative file as numbers. */
import { AppError } from '../../contract/errors.ts';

const bad = (name: string, value: unknown): AppError =>
  new AppError('params_invalid', { detail: `${name}: ${String(value)}` });

/** `500000` or `5usd`. @throws AppError params_invalid */
export function amountOf(name: string, value: number | string, quotaPerUnit: number): number {
  const usd = /^(\d+(?:\.\d+)?)usd$/i.exec(String(value));
  const quota = usd === null ? Number(value) : Math.round(Number(usd[1]) * quotaPerUnit);
  if (!Number.isSafeInteger(quota) || quota < 0) throw bad(name, value);
  return quota;
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Epoch seconds, `never`, a date, or a span like `30d`, which counts from when the object was made: applied again it
 * means the same moment.
 * @param madeAt epoch seconds. @param never what stands for no end. @throws AppError params_invalid
 */
export function expiryOf(value: number | string, madeAt: number, never: number): number {
  if (typeof value === 'number') return value;
  if (value === 'never') return never;
  const span = /^(\d{1,9})([smhd])$/.exec(value);
  if (span !== null) return madeAt + Number(span[1]) * (unitSeconds[span[2] ?? ''] ?? 0);
  const at = Date.parse(value);
  if (Number.isNaN(at)) throw bad('expires', value);
  return Math.floor(at / 1000);
}
