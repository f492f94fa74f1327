/** Request ids that sort by time, so that unique indexes grow at their right edge only. */
import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** @param now epoch milliseconds. @returns e.g. `20261120221455123` followed by 8 random characters (UTC). */
export function createRequestIds(now: () => number): () => string {
  let pool = Buffer.alloc(0);
  let at = 0;
  let second = -1;
  let prefix = '';
  const random8 = (): string => {
    if (at + 8 > pool.length) {
      pool = randomBytes(65_536);
      at = 0;
    }
    let text = '';
    for (let i = 0; i < 8; i++) text += alphabet[(pool[at++] ?? 0) % 36];
    return text;
  };
  return () => {
    const ms = now();
    const whole = Math.floor(ms / 1000);
    if (whole !== second) {
      second = whole;
      prefix = new Date(whole * 1000).toISOString().replace(/\D/g, '').slice(0, 14);
    }
    return prefix + String(Math.floor(ms) % 1000).padStart(3, '0') + random8();
  };
}
