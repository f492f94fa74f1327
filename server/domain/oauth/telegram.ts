/** What Telegram's login widget hands over, and whether Telegram signed it. Source: core.telegram.org/widgets/login, "Checking authorization". */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** A widget's answer is for now, not for a replay tomorrow. */
const longestSeconds = 600;
const fields = ['auth_date', 'first_name', 'id', 'last_name', 'photo_url', 'username'];

/** @param now epoch seconds. @returns the id of the person, null when the signature or the date is wrong. */
export function telegramId(
  given: Readonly<Record<string, string | undefined>>,
  botToken: string,
  now: number,
): string | null {
  const lines = fields.flatMap((name) => (given[name] === undefined ? [] : [`${name}=${given[name]}`]));
  const key = createHash('sha256').update(botToken).digest();
  const expected = createHmac('sha256', key).update(lines.join('\n')).digest();
  const hash = Buffer.from(given.hash ?? '', 'hex');
  if (botToken === '' || hash.length !== expected.length || !timingSafeEqual(hash, expected)) return null;
  const age = now - Number(given.auth_date);
  if (!(age >= -60 && age <= longestSeconds)) return null;
  return given.id === undefined || !/^\d+$/.test(given.id) ? null : given.id;
}
