/** Times and the clipboard. */
import { currentLanguage } from './i18n.ts';

/** A count, with its thousands apart. */
export const grouped = (value: number): string => new Intl.NumberFormat(currentLanguage()).format(value);

/** `$12345.60` as `$12,345.60`, `1234567` as `1,234,567`. */
export const withThousands = (amount: string): string =>
  amount.replace(/^-?\$?\d{4,}/, (start) => start.replace(/\d+/, (digits) => grouped(Number(digits))));

/** A share of all: 99.5%, below one percent 0.38%. */
export function percentText(share: number): string {
  const size = Math.abs(share * 100);
  const text = (share * 100).toFixed(size < 1 ? 2 : 1);
  return `${Number(text) === 0 ? '0.0' : text}%`;
}

/** Hundredths of a second while they say something; what took less than one is not nothing. */
export const secondsText = (ms: number): string =>
  ms > 0 && ms < 5 ? '<0.01' : (ms / 1000).toFixed(ms < 10_000 ? 2 : ms < 100_000 ? 1 : 0);
/** With its unit; what is short is not 0.00 s. */
export const timeText = (ms: number): string =>
  ms > 0 && ms < 100 ? `${Math.max(1, Math.round(ms))} ms` : `${secondsText(ms)} s`;

const two = (value: number): string => String(value).padStart(2, '0');

/** yyyy-MM-dd HH:mm:ss in the reader's own time zone. */
export function dateTime(seconds: number): string {
  const at = new Date(seconds * 1000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The same without its seconds, for lists. */
export const minuteTime = (seconds: number): string => dateTime(seconds).slice(0, 'yyyy-MM-dd HH:mm'.length);

/** A day as people write it: 23 Dec 2026. @param seconds epoch. */
export const day = (seconds: number, language: string): string =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { dateStyle: 'medium' }).format(seconds * 1000);

const relativeUnits = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** How far away a moment is: `2 min. ago`, `in 6 days`. @param seconds epoch. */
export function relative(seconds: number, language: string, now = Date.now()): string {
  const away = seconds - now / 1000;
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' });
  const [unit, size] = relativeUnits.find(([, one]) => Math.abs(away) >= one) ?? ['second', 1];
  return unit === 'second' ? format.format(0, 'second') : format.format(Math.round(away / size), unit);
}

const minuteSeconds = 60;
const hourSeconds = 3600;
const daySeconds = 86_400;

/** How long something took, in the two largest units that say it. @param seconds may have a fraction. */
export function duration(seconds: number): string {
  if (seconds < minuteSeconds) return `${seconds.toFixed(1)} s`;
  const [large, small, big, little] =
    seconds < hourSeconds
      ? [minuteSeconds, 1, 'min', 's']
      : seconds < daySeconds
        ? [hourSeconds, minuteSeconds, 'h', 'min']
        : [daySeconds, hourSeconds, 'd', 'h'];
  const whole = Math.floor(seconds / large);
  const rest = Math.floor((seconds - whole * large) / small);
  return rest === 0 ? `${whole} ${big}` : `${whole} ${big} ${rest} ${little}`;
}

/** @returns false when the browser does not allow it; then the text is shown for copying by hand. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
