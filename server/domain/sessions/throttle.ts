/** Slows guessing down: per address first, then per subject, then for everybody together. Counts live in memory. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { AppError } from '../../contract/errors.ts';

export interface Limits {
  /** Seconds of the window. */
  readonly seconds: number;
  readonly perAddress: number;
  /** An account's name or an e-mail address. */
  readonly perSubject: number;
  readonly everybody: number;
}

export interface Throttle {
  /** @throws AppError too_many_attempts */
  spend(address: string, subject: string): Promise<void>;
  /** The subject proved who it is. */
  forgive(subject: string): Promise<void>;
}

export function createThrottle({ seconds, perAddress, perSubject, everybody }: Limits): Throttle {
  const [addresses, subjects, all] = [perAddress, perSubject, everybody].map(
    (points) => new RateLimiterMemory({ points, duration: seconds }),
  ) as [RateLimiterMemory, RateLimiterMemory, RateLimiterMemory];
  return {
    async spend(address, subject) {
      try {
        // Whoever is slowed down at the address does not use up the guesses of others' accounts.
        await addresses.consume(address);
        if (subject !== '') await subjects.consume(subject.toLowerCase());
        await all.consume('all');
      } catch {
        throw new AppError('too_many_attempts');
      }
    },
    async forgive(subject) {
      await subjects.delete(subject.toLowerCase());
    },
  };
}
