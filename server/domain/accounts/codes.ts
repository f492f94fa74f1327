/**
 * Proofs of an e-mail address: made, mailed, used once within three minutes. Only hashes are kept, in memory.
 * Whoever asks has a code of its own, and whoever guesses spends tries of its own: strangers end nobody's code.
 */
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { createAllowance } from '../sessions/allowance.ts';

/** How long a code lives. */
export const codeSeconds = 180;
/** Tries of one guesser at one address. */
const attempts = 5;
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 6;
const most = 10_000;
/** Codes that are good for one address at a time. */
const mostAtOnce = 10;

export type CodePurpose = 'address' | 'reset';

interface Kept {
  readonly hash: Buffer;
  readonly asker: string;
  readonly expiresAt: number;
}

export type Codes = ReturnType<typeof createCodes>;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const keyOf = (purpose: CodePurpose, email: string): string => `${purpose} ${email.toLowerCase()}`;

/** @param now epoch milliseconds. */
export function createCodes(now: () => number) {
  const kept = new Map<string, readonly Kept[]>();
  const guesses = createAllowance(codeSeconds, attempts, now);
  const alive = (key: string): readonly Kept[] => (kept.get(key) ?? []).filter(({ expiresAt }) => expiresAt > now());

  const keep = (key: string, codes: readonly Kept[]): void => {
    kept.delete(key);
    for (const [oldest, others] of kept) {
      // Insertion order is age: a flood pushes out the oldest.
      if (kept.size < most && others.some(({ expiresAt }) => expiresAt > now())) break;
      kept.delete(oldest);
    }
    if (codes.length > 0) kept.set(key, codes);
  };

  return {
    /** Replaces an earlier one of the same asker. @returns six characters to type, or a long one to follow in a link. */
    issue(purpose: CodePurpose, email: string, asker: string): string {
      const code =
        purpose === 'reset'
          ? randomBytes(24).toString('base64url')
          : Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
      const key = keyOf(purpose, email);
      const others = alive(key).filter((one) => one.asker !== asker);
      keep(key, [
        ...others.slice(1 - mostAtOnce),
        { hash: digest(code), asker, expiresAt: now() + codeSeconds * 1000 },
      ]);
      return code;
    },
    /** Uses the code up when it is right; five wrong tries end it for this guesser alone. */
    take(purpose: CodePurpose, email: string, code: string, guesser: string): boolean {
      const key = keyOf(purpose, email);
      const codes = alive(key);
      // The long ones cannot be guessed at all.
      if (codes.length === 0 || (purpose === 'address' && !guesses.take(`${key} ${guesser}`))) return false;
      const typed = digest(purpose === 'address' ? code.trim().toUpperCase() : code);
      const right = codes.find(({ hash }) => timingSafeEqual(hash, typed));
      if (right !== undefined)
        keep(
          key,
          codes.filter((one) => one !== right),
        );
      return right !== undefined;
    },
    /** Ends what was mailed to an address and not used. */
    forget(purpose: CodePurpose, email: string): void {
      kept.delete(keyOf(purpose, email));
    },
  };
}
