/** What Telegram's login widget hands over, and whether Telegram signed it. Source: core.telegram.org/widgets/login, "Checking authorization". */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';

/** Between Telegram's signature and its use lies one redirect, and clocks that differ. */
const telegramSeconds = 120;
const fields = ['auth_date', 'first_name', 'id', 'last_name', 'photo_url', 'username'];

export type TelegramFields = Readonly<Record<string, string | undefined>>;

/** @param now epoch seconds. @returns the id of the person, null when the signature or the date is wrong. */
export function telegramId(given: TelegramFields, botToken: string, now: number): string | null {
  const lines = fields.flatMap((name) => (given[name] === undefined ? [] : [`${name}=${given[name]}`]));
  const key = createHash('sha256').update(botToken).digest();
  const expected = createHmac('sha256', key).update(lines.join('\n')).digest();
  const hash = Buffer.from(given.hash ?? '', 'hex');
  if (botToken === '' || hash.length !== expected.length || !timingSafeEqual(hash, expected)) return null;
  const age = now - Number(given.auth_date);
  if (!(age >= -60 && age <= telegramSeconds)) return null;
  return given.id === undefined || !/^\d+$/.test(given.id) ? null : given.id;
}

/** Signatures that opened or bound something, until they would be late anyway. @param now epoch milliseconds. */
export function createUsedSignatures(store: EphemeralStore, now: () => number) {
  const place = (given: TelegramFields) => ({ purpose: 'used telegram', key: (given.hash ?? '').toLowerCase() });
  return {
    /** @returns false when it was used before, on whichever node. */
    claim: (given: TelegramFields): Promise<boolean> => store.claim(place(given), now() + 2 * telegramSeconds * 1000),
    /** It opened nothing after all. */
    release: (given: TelegramFields): Promise<void> => store.drop(place(given)),
  };
}
