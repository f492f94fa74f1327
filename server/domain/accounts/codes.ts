/**
 * Proofs of an e-mail address: made, mailed, used once within three minutes, on any node. Each request for a code has a code of its
 * own, and wrong guesses use up only the attempts of the client that guesses: other people cannot invalidate a code.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';

/** How long a code lives. */
export const codeSeconds = 180;
/** Tries of one guesser at one address. */
const attempts = 5;
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 6;
/** Codes that are good for one address at a time. */
const maxAtOnce = 10;

export type CodePurpose = 'address' | 'reset';

const placeOf = (purpose: CodePurpose, email: string) => ({ purpose: `code ${purpose}`, key: email.toLowerCase() });

/** @param now epoch milliseconds. */
export function createCodes(store: EphemeralStore, now: () => number) {
  const guesses = createRateLimit('guesses at codes', codeSeconds, attempts, store);

  return {
    /** Replaces an earlier one of the same asker. @returns six characters to type, or a long one to follow in a link. */
    async issue(purpose: CodePurpose, email: string, requester: string): Promise<string> {
      const code =
        purpose === 'reset'
          ? randomBytes(24).toString('base64url')
          : Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join('');
      const entry = { holder: requester, value: code, until: now() + codeSeconds * 1000 };
      await store.put(placeOf(purpose, email), entry, maxAtOnce);
      return code;
    },
    /** Uses the code up when it is right; five wrong tries end it for this guesser alone. */
    async take(purpose: CodePurpose, email: string, code: string, guesser: string): Promise<boolean> {
      const place = placeOf(purpose, email);
      // The long ones cannot be guessed at all.
      if (purpose === 'reset') return store.take(place, code);
      if (!(await store.has(place)) || !(await guesses.take(`${place.key} ${guesser}`))) return false;
      return store.take(place, code.trim().toUpperCase());
    },
    /** Ends what was mailed to an address and not used. */
    delete: (purpose: CodePurpose, email: string): Promise<void> => store.drop(placeOf(purpose, email)),
  };
}
