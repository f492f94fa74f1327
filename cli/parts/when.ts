/** Moments and spans as people type them: `90s`, `24h`, `7d`, `4w`, or a date; and how they are shown to people. */

import { edgesOf } from '../../server/contract/counted.ts';
import type { Language } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { textIn } from '../../server/contract/language.ts';

const isSpan = /^(\d{1,6})([smhdw])$/;
const seconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 7 * 86_400 } as const;

/** A moment in the past. @param now epoch milliseconds. @returns epoch seconds; undefined when nothing was given. @throws AppError usage. */
export function pastTime(text: string | undefined, flag: string, now: number): number | undefined {
  if (text === undefined) return undefined;
  const span = isSpan.exec(text);
  if (span !== null) return Math.floor(now / 1000) - Number(span[1]) * seconds[span[2] as keyof typeof seconds];
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new AppError('usage', { detail: `${flag} ${text}: 24h, 7d, 2026-01-31` });
  return Math.floor(at / 1000);
}

/** The same for sums: a span reaches back to the edge of the step that it begins in, as `contract/counted.ts` says; a date is exact. */
export function pastEdge(text: string | undefined, flag: string, now: number): number | undefined {
  const start = pastTime(text, flag, now);
  return start === undefined || !isSpan.test(text ?? '') ? start : edgesOf(start, Math.floor(now / 1000)).from;
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const units = [
  [60, 's', '秒'],
  [60, 'm', '分钟'],
  [24, 'h', '小时'],
  [30, 'd', '天'],
] as const;

/** How long ago, for a moment of the last month; other moments by their day, other texts as they are. @param now epoch milliseconds. */
export function ago(text: string, now: number, language: Language): string {
  if (!isTime.test(text)) return text;
  let left = Math.floor((now - Date.parse(text)) / 1000);
  if (left < 0) return text.slice(0, 16).replace('T', ' ');
  for (const [size, short, word] of units) {
    if (left < size) return textIn({ zh: `${left} ${word}前`, en: `${left}${short} ago` }, language);
    left = Math.floor(left / size);
  }
  return text.slice(0, 10);
}
