/** A time of expiry as it is typed. A day alone lasts to its end; a time that has passed or that no calendar has is refused. Pure. */
import { dateTime } from './format.ts';
import { parseTime } from './time.ts';

export type Expiry =
  /** Epoch seconds; -1 = never. */
  | { readonly kind: 'at'; readonly seconds: number }
  | { readonly kind: 'wrong'; readonly reason: 'unreadable' | 'impossible' | 'past' };

/** @param now epoch milliseconds. */
export function parseExpiry(typed: string, now: number): Expiry {
  const text = typed.trim();
  if (text === '' || text === '-1') return { kind: 'at', seconds: -1 };
  const at = parseTime(text, true);
  if (typeof at !== 'number') return { kind: 'wrong', reason: at };
  return at * 1000 <= now ? { kind: 'wrong', reason: 'past' } : { kind: 'at', seconds: at };
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
