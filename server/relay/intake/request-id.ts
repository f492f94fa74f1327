/** Request ids that sort by time, so that unique indexes grow at their right edge only. */
import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Where the usual ids cannot be made. */
export const plainId = (): string => randomBytes(16).toString('hex');

export class RequestIds {
  private pool = Buffer.alloc(0);
  private at = 0;
  private second = -1;
  private prefix = '';

  /** @param now epoch milliseconds. */
  constructor(private readonly now: () => number) {}

  /** @returns e.g. `20261120221455123` followed by 8 random characters (UTC). */
  next(): string {
    const ms = this.now();
    const whole = Math.floor(ms / 1000);
    if (whole !== this.second) {
      this.second = whole;
      this.prefix = new Date(whole * 1000).toISOString().replace(/\D/g, '').slice(0, 14);
    }
    if (this.at + 8 > this.pool.length) {
      this.pool = randomBytes(65_536);
      this.at = 0;
    }
    let text = this.prefix + String(Math.floor(ms) % 1000).padStart(3, '0');
    for (let i = 0; i < 8; i++) text += alphabet[(this.pool[this.at++] ?? 0) % 36];
    return text;
  }
}
