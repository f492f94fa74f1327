/**
 * Slows guessing down without locking anybody out. Tries of one network at one subject wait in a queue, which refuses the
 * newest when it is long. Wrong tries of one network at any subject, of unknown clients at one subject, and of everybody only
 * add a short wait: many people may share one address, behind a NAT or a proxy that the operator has not declared.
 * A browser that was signed in before has a counter of its own, which unknown clients cannot fill. All nodes count together.
 */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import { AppError } from '../../contract/errors.ts';
import { networkOf } from './network.ts';

export interface ThrottleLimits {
  /** Seconds without a try after which an origin's count starts again, and the window of the sums. */
  readonly seconds: number;
  /** Wrong tries of one network at any subject in a window after which each of its tries waits a little. */
  readonly perAddress: number;
  /** Tries of one network or known browser at one subject before they cost time. */
  readonly perSubject: number;
  /** Tries of unknown clients at one subject in a window after which each waits a little. */
  readonly anonymous: number;
  /** Tries of all unknown clients in a window after which each waits a little. */
  readonly everyone: number;
}

/** Who tries. */
export interface AttemptSource {
  readonly ip: string;
  /** Name of a browser that was inside this account before, '' = an unknown client. */
  readonly device: string;
}

/** What a throttle keeps its counts in, and waits with. */
export interface DelayDeps {
  readonly store: EphemeralStore;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Throttle {
  /**
   * Waits as long as earlier tries ask for; those of one network at one subject pass one after the other.
   * @param subject an account's name, an e-mail address; '' = none. @throws AppError too_many_attempts when too many of this network wait for this subject.
   */
  enter(source: AttemptSource, subject: string): Promise<void>;
  /** It was no guess after all. */
  succeeded(source: AttemptSource, subject: string): Promise<void>;
  /** Tries of unknown clients at a subject in the present window. */
  anonymousAt(subject: string): Promise<number>;
}

/** Milliseconds between tries, the first beyond those that are free, the second, and so on. */
const delaysMs = [1000, 2000, 4000, 8000, 15_000];
const maxWaitMs = 15_000;
/** What a brake adds per try beyond its number, and at most. */
const delayStepMs = 100;
const maxDelayMs = 3000;

/** @param name separates its counts from those of other throttles. */
export function createThrottle(name: string, limits: ThrottleLimits, { store, pause }: DelayDeps): Throttle {
  const windowMs = limits.seconds * 1000;
  const origin = (key: string) => ({ purpose: `tries at ${name}`, key });
  const sum = (key: string) => ({ purpose: `sums at ${name}`, key });

  /** Takes the next place of an origin. @returns milliseconds until it is due. */
  const place = async (key: string, free: number): Promise<number> => {
    const wait = await store.queue(origin(key), { free, delaysMs, maxMs: maxWaitMs, windowMs });
    if (wait === null) throw new AppError('too_many_attempts');
    return wait;
  };
  const delay = async (key: string, free: number): Promise<number> => {
    const count = (await store.count(sum(key), windowMs, Number.MAX_SAFE_INTEGER)) ?? 0;
    return Math.max(0, Math.min(maxDelayMs, delayStepMs * (count - free)));
  };
  const waited = async (ms: number): Promise<void> => {
    if (ms > 0) await pause(ms);
  };

  const pairKey = ({ ip, device }: AttemptSource, subject: string): string =>
    `${device === '' ? networkOf(ip) : `device ${device}`} at ${subject.toLowerCase()}`;
  const networkKey = ({ ip }: AttemptSource): string => `from ${networkOf(ip)}`;
  const unknownAt = (subject: string): string => `at ${subject.toLowerCase()}`;

  return {
    async enter(source, subject) {
      if (source.device !== '') {
        await waited(await place(pairKey(source, subject), limits.perSubject));
        return;
      }
      const atSubject = subject === '' ? 0 : await place(pairKey(source, subject), limits.perSubject);
      const delays = [
        await delay(networkKey(source), limits.perAddress),
        subject === '' ? 0 : await delay(unknownAt(subject), limits.anonymous),
        await delay('everybody', limits.everyone),
      ];
      await waited(atSubject + Math.max(...delays));
    },
    async succeeded(source, subject) {
      await store.drop(origin(pairKey(source, subject)));
      if (source.device !== '') return;
      for (const key of [networkKey(source), unknownAt(subject), 'everybody']) await store.uncount(sum(key));
    },
    anonymousAt: (subject) => store.counted(sum(unknownAt(subject))),
  };
}
