/** Amounts and times as people write them. */
import { AppError } from '../../server/contract/errors.ts';

export const unlimited = 'unlimited';

/** `500000`, `5usd`. @returns quota. @throws AppError usage */
export function quotaOf(given: string, flag: string, quotaPerUnit: number): number {
  const usd = /^(-?\d+(?:\.\d+)?)usd$/i.exec(given);
  if (usd !== null) return Math.round(Number(usd[1]) * quotaPerUnit);
  if (/^-?\d+$/.test(given)) return Number(given);
  throw new AppError('usage', { detail: `${flag} ${given}: 500000, 5usd, ${unlimited}` });
}

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** `10m`, `2h`, `30d`. @returns seconds, null when it is no span. */
function spanOf(given: string): number | null {
  const span = /^(\d+)([smhd])$/.exec(given);
  return span === null ? null : Number(span[1]) * unitSeconds[span[2] as keyof typeof unitSeconds];
}

function dateOf(given: string, flag: string): number {
  const at = Date.parse(given);
  if (Number.isNaN(at)) throw new AppError('usage', { detail: `${flag} ${given}: 1h, 30d, 2027-01-01` });
  return Math.floor(at / 1000);
}

/** `never`, `1h`, `30d`, `2027-01-01`. @param now epoch ms. @returns epoch seconds, -1 = never. @throws AppError usage */
export function expiryOf(given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  if (given === 'never') return -1;
  const span = spanOf(given);
  return span === null ? dateOf(given, '--expires') : Math.floor(now / 1000) + span;
}
