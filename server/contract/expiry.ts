/** Reads a time of expiry as people write it in flags, in answers and in declarative files; what no calendar has is refused. Pure. */
import type { Issue } from './option-kinds.ts';

export type Expiry =
  | { readonly kind: 'never' }
  /** From a moment that the caller knows. */
  | { readonly kind: 'span'; readonly seconds: number }
  /** Epoch seconds. */
  | { readonly kind: 'at'; readonly seconds: number }
  | { readonly kind: 'unreadable'; readonly issue: Issue };

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 7 * 86_400 } as const;
const date = /^(\d{4})-(\d\d)-(\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

const unreadable: Expiry = {
  kind: 'unreadable',
  issue: {
    zh: '请写 never、1h、30d 或日期，例如 2027-01-31',
    en: 'write never, 1h, 30d or a date such as 2027-01-31',
  },
};

/** 31 February is no day. */
function isDay(year: number, month: number, day: number): boolean {
  const at = new Date(Date.UTC(year, month - 1, day));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
}

/** `never`, `1h`, `30d`, `2027-01-01`, `2027-01-01T18:00Z`. */
export function readExpiry(input: string): Expiry {
  const text = input.trim();
  if (['never', '-1', '永不', '永不过期'].includes(text.toLowerCase())) return { kind: 'never' };
  const span = /^(\d{1,6})([smhdw])$/.exec(text.toLowerCase());
  if (span !== null)
    return { kind: 'span', seconds: Number(span[1]) * unitSeconds[span[2] as keyof typeof unitSeconds] };
  const parts = date.exec(text);
  if (parts === null || !isDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return unreadable;
  const at = Date.parse(text);
  return Number.isNaN(at) ? unreadable : { kind: 'at', seconds: Math.floor(at / 1000) };
}
