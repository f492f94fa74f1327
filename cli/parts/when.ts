/** Moments and spans as people type them: `90s`, `24h`, `7d`, `4w`, or a date. */
import { AppError } from '../../server/contract/errors.ts';

const seconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 7 * 86_400 } as const;

/** A moment in the past. @param now epoch milliseconds. @returns epoch seconds; undefined when nothing was given. @throws AppError usage. */
export function pastMoment(given: string | undefined, flag: string, now: number): number | undefined {
  if (given === undefined) return undefined;
  const span = /^(\d{1,6})([smhdw])$/.exec(given);
  if (span !== null) return Math.floor(now / 1000) - Number(span[1]) * seconds[span[2] as keyof typeof seconds];
  const at = Date.parse(given);
  if (Number.isNaN(at)) throw new AppError('usage', { detail: `${flag} ${given}: 24h, 7d, 2026-01-31` });
  return Math.floor(at / 1000);
}
