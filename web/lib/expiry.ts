/** A time of expiry as it is typed. A day alone lasts to its end; a time that has passed or that no calendar has is refused. Pure. */
import { dateTime } from './format.ts';

export type Expiry =
  /** Epoch seconds; -1 = never. */
  | { readonly kind: 'at'; readonly seconds: number }
  | { readonly kind: 'wrong'; readonly reason: 'unreadable' | 'impossible' | 'past' };

const shape = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/i;
const lastOfDay = [23, 59, 59] as const;

/** @param now epoch milliseconds. */
export function parseExpiry(typed: string, now: number): Expiry {
  const text = typed.normalize('NFKC').trim();
  if (text === '' || text === '-1') return { kind: 'at', seconds: -1 };
  const found = shape.exec(text);
  if (found === null) return { kind: 'wrong', reason: 'unreadable' };
  const [, year = 0, month = 0, day = 0] = found.map(Number);
  const [hour, minute, second] = found[4] === undefined ? lastOfDay : [found[4], found[5], found[6] ?? 0].map(Number);
  const at = new Date(year, month - 1, day, hour, minute, second);
  // A day or an hour that does not exist is moved to another one.
  const same =
    at.getFullYear() === year &&
    at.getMonth() === month - 1 &&
    at.getDate() === day &&
    at.getHours() === hour &&
    at.getMinutes() === minute &&
    at.getSeconds() === second;
  if (!same) return { kind: 'wrong', reason: 'impossible' };
  if (at.getTime() <= now) return { kind: 'wrong', reason: 'past' };
  return { kind: 'at', seconds: Math.floor(at.getTime() / 1000) };
}

/** How a field shows what is stored. @param stored epoch seconds; 0 or less = never. */
export const expiryText = (stored: number): string => (stored > 0 ? dateTime(stored) : '');

/** A time that was not touched stays, also one that has passed. @param stored what the field was opened with. */
export const expiryOf = (typed: string, stored: number): Expiry =>
  stored > 0 && typed === expiryText(stored) ? { kind: 'at', seconds: stored } : parseExpiry(typed, Date.now());

/** Of a form whose fields can all be read. @returns epoch seconds; -1 = never. */
export function expiryIn(typed: string, stored: number): number {
  const expiry = expiryOf(typed, stored);
  if (expiry.kind === 'wrong') throw new Error(expiry.reason);
  return expiry.seconds;
}
