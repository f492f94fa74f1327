/**
 * Slows guessing down without keeping anybody out. Every origin has counters of its own and pays with time: per network
 * and per network and subject. Tries of strangers at one subject, and of everybody together, only add a short wait.
 * A browser that was inside before has a counter that no stranger reaches. All nodes count together.
 */
import type { Memos } from '../../../db/memo.ts';
import { AppError } from '../../contract/errors.ts';
import { networkOf } from './network.ts';

export interface ThrottleLimits {
  /** Seconds without a try after which an origin starts anew, and the window of the sums. */
  readonly seconds: number;
  /** Tries of one network, whoever they are at, before they cost time. */
  readonly perAddress: number;
  /** Tries of one network or known browser at one subject before they cost time. */
  readonly perSubject: number;
  /** Tries of strangers at one subject in a window after which each waits a little. */
  readonly strangers: number;
  /** Tries of all strangers in a window after which each waits a little. */
  readonly everybody: number;
}

/** Who tries. */
export interface Guesser {
  readonly ip: string;
  /** Name of a browser that was inside this account before, '' = a stranger. */
  readonly device: string;
}

/** What a throttle keeps its counts in, and waits with. */
export interface Patience {
  readonly memos: Memos;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Throttle {
  /**
   * Waits as long as earlier tries of the same origin ask for; one after the other, however many come at once.
   * @param subject an account's name, an e-mail address; '' = none. @throws AppError too_many_attempts when the origin has others waiting already.
   */
  enter(guesser: Guesser, subject: string): Promise<void>;
  /** It was no guess after all. */
  succeeded(guesser: Guesser, subject: string): Promise<void>;
  /** Tries of strangers at a subject in the present window. */
  strangersAt(subject: string): Promise<number>;
}

/** Milliseconds between tries, the first beyond those that are free, the second, and so on. */
const apartMs = [1000, 2000, 4000, 8000, 15_000];
const longestWaitMs = 15_000;
/** What a brake adds per try beyond its number, and at most. */
const brakeStepMs = 100;
const longestBrakeMs = 3000;

/** @param name tells its counts from those of other throttles. */
export function createThrottle(name: string, limits: ThrottleLimits, { memos, pause }: Patience): Throttle {
  const windowMs = limits.seconds * 1000;
  const origin = (key: string) => ({ purpose: `tries at ${name}`, key });
  const sum = (key: string) => ({ purpose: `sums at ${name}`, key });

  /** Takes the next place of an origin. @returns milliseconds until it is due. */
  const place = async (key: string, free: number): Promise<number> => {
    const wait = await memos.queue(origin(key), { free, apartMs, longestMs: longestWaitMs, windowMs });
    if (wait === null) throw new AppError('too_many_attempts');
    return wait;
  };
  const brake = async (key: string, free: number): Promise<number> => {
    const count = (await memos.count(sum(key), windowMs, Number.MAX_SAFE_INTEGER)) ?? 0;
    return Math.max(0, Math.min(longestBrakeMs, brakeStepMs * (count - free)));
  };
  const waited = async (ms: number): Promise<void> => {
    if (ms > 0) await pause(ms);
  };

  const pairKey = ({ ip, device }: Guesser, subject: string): string =>
    `${device === '' ? networkOf(ip) : `device ${device}`} at ${subject.toLowerCase()}`;
  const crowdAt = (subject: string): string => `at ${subject.toLowerCase()}`;

  return {
    async enter(guesser, subject) {
      if (guesser.device !== '') {
        await waited(await place(pairKey(guesser, subject), limits.perSubject));
        return;
      }
      const own = await place(networkOf(guesser.ip), limits.perAddress);
      const atSubject = subject === '' ? 0 : await place(pairKey(guesser, subject), limits.perSubject);
      const crowd = subject === '' ? 0 : await brake(crowdAt(subject), limits.strangers);
      await waited(Math.max(own, atSubject) + Math.max(crowd, await brake('everybody', limits.everybody)));
    },
    async succeeded(guesser, subject) {
      await memos.drop(origin(pairKey(guesser, subject)));
      if (guesser.device !== '') return;
      await memos.uncount(origin(networkOf(guesser.ip)));
      for (const key of [crowdAt(subject), 'everybody']) await memos.uncount(sum(key));
    },
    strangersAt: (subject) => memos.counted(sum(crowdAt(subject))),
  };
}
