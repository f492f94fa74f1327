/** Proofs of an e-mail address: made, mailed, used once within three minutes. Only hashes are kept, in memory. */
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** Source: specification 000 section 9. */
export const codeSeconds = 180;
const attempts = 5;
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 6;
const most = 10_000;

export type CodePurpose = 'address' | 'reset';

interface Kept {
  readonly hash: Buffer;
  readonly expiresAt: number;
  tries: number;
}

export type Codes = ReturnType<typeof createCodes>;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const keyOf = (purpose: CodePurpose, email: string): string => `${purpose} ${email.toLowerCase()}`;

/** @param now epoch milliseconds. */
export function createCodes(now: () => number) {
  const kept = new Map<string, Kept>();

  const sweep = () => {
    for (const [key, { expiresAt }] of kept) if (expiresAt <= now()) kept.delete(key);
    // Insertion order is age: a flood pushes out the oldest.
    for (const key of kept.keys()) {
      if (kept.size < most) break;
      kept.delete(key);
    }
  };

  return {
    /** Replaces an earlier one. @returns six characters to type, or a long one to follow in a link. */
    issue(purpose: CodePurpose, email: string): string {
      sweep();
      const code =
        purpose === 'reset'
          ? randomBytes(24).toString('base64url')
          : Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
      const key = keyOf(purpose, email);
      kept.delete(key);
      kept.set(key, { hash: digest(code), expiresAt: now() + codeSeconds * 1000, tries: 0 });
      return code;
    },
    /** Uses the code up when it is right; five wrong tries do so as well. */
    take(purpose: CodePurpose, email: string, code: string): boolean {
      const key = keyOf(purpose, email);
      const found = kept.get(key);
      if (found === undefined || found.expiresAt <= now()) return false;
      found.tries += 1;
      const typed = purpose === 'address' ? code.trim().toUpperCase() : code;
      const right = timingSafeEqual(found.hash, digest(typed));
      if (right || found.tries >= attempts) kept.delete(key);
      return right;
    },
  };
}
