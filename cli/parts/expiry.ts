/** When something expires, as people write it. */
import { AppError } from '../../server/contract/errors.ts';
import type { Complaint } from '../../server/contract/option-kinds.ts';

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 7 * 86_400 } as const;
const date = /^(\d{4})-(\d\d)-(\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

export const never = -1;

const unreadable: Complaint = {
  zh: '请写 never、1h、30d 或日期，例如 2027-01-31',
  en: 'write never, 1h, 30d or a date such as 2027-01-31',
};
const past: Complaint = { zh: '这个时间已经过去', en: 'that moment has passed' };

/** 31 February is no day. */
function isDay(year: number, month: number, day: number): boolean {
  const at = new Date(Date.UTC(year, month - 1, day));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
}

/** `never`, `1h`, `30d`, `2027-01-01`. @param now epoch ms. @returns epoch seconds, -1 = never, or what is wrong. */
export function expiryOf(given: string, now: number): number | Complaint {
  const text = given.trim().toLowerCase();
  if (['never', '-1', '永不', '永不过期'].includes(text)) return never;
  const span = /^(\d{1,6})([smhdw])$/.exec(text);
  if (span !== null) {
    const seconds = Number(span[1]) * unitSeconds[span[2] as keyof typeof unitSeconds];
    return seconds === 0 ? past : Math.floor(now / 1000) + seconds;
  }
  const parts = date.exec(given.trim());
  if (parts === null || !isDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return unreadable;
  const at = Date.parse(given.trim());
  if (Number.isNaN(at)) return unreadable;
  return at <= now ? past : Math.floor(at / 1000);
}

/** What `--expires` says. @returns undefined = nothing was given. @throws AppError usage */
export function expiryFlag(given: string | undefined, now: number): number | undefined {
  if (given === undefined) return undefined;
  const at = expiryOf(given, now);
  if (typeof at === 'number') return at;
  const named = `--expires ${given}`;
  throw new AppError('usage', { detail: named, detail_zh: `${named}：${at.zh}`, detail_en: `${named}: ${at.en}` });
}
