/**
 * Slows guessing down without keeping anybody out. Every origin has counters of its own and pays with time: per network
 * and per network and subject. Tries of strangers at one subject, and of everybody together, only add a short wait.
 * A browser that was inside before has a counter that no stranger reaches. Counts live in memory.
 */
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

export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Throttle {
  /**
   * Waits as long as earlier tries of the same origin ask for; one after the other, however many come at once.
   * @param subject an account's name, an e-mail address; '' = none. @throws AppError too_many_attempts when the origin has others waiting already.
   */
  enter(guesser: Guesser, subject: string): Promise<void>;
  /** It was no guess after all. */
  succeeded(guesser: Guesser, subject: string): void;
  /** Tries of strangers at a subject in the present window. */
  strangersAt(subject: string): number;
}

const firstWaitMs = 1000;
const longestWaitMs = 15_000;
/** What a brake adds per try beyond its number, and at most. */
const brakeStepMs = 100;
const longestBrakeMs = 3000;
const mostKept = 100_000;

interface Counter {
  tries: number;
  /** When the last try was, or is, let through. */
  last: number;
}

export function createThrottle(limits: ThrottleLimits, { now, pause }: Clock): Throttle {
  const windowMs = limits.seconds * 1000;
  const origins = new Map<string, Counter>();
  const sums = new Map<string, { count: number; readonly until: number }>();

  const originOf = (key: string): Counter => {
    const found = origins.get(key);
    const counter = found === undefined || found.last + windowMs <= now() ? { tries: 0, last: 0 } : found;
    // Insertion order is age: a flood pushes out who has been quiet longest.
    origins.delete(key);
    trim(origins);
    origins.set(key, counter);
    return counter;
  };

  /** Takes the next place of an origin. @returns milliseconds until it is due. */
  const place = (key: string, free: number): number => {
    const counter = originOf(key);
    const beyond = counter.tries - free;
    const apart = beyond < 0 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(beyond, 10));
    const due = Math.max(now(), apart === 0 ? 0 : counter.last + apart);
    const wait = due - now();
    if (wait > longestWaitMs) throw new AppError('too_many_attempts');
    counter.tries += 1;
    counter.last = due;
    return wait;
  };

  const sumOf = (key: string): { count: number; readonly until: number } => {
    const found = sums.get(key);
    if (found !== undefined && found.until > now()) return found;
    const fresh = { count: 0, until: now() + windowMs };
    sums.delete(key);
    trim(sums);
    sums.set(key, fresh);
    return fresh;
  };
  const brake = (key: string, free: number): number => {
    const sum = sumOf(key);
    sum.count += 1;
    return Math.max(0, Math.min(longestBrakeMs, brakeStepMs * (sum.count - free)));
  };

  const pairKey = ({ ip, device }: Guesser, subject: string): string =>
    `${device === '' ? networkOf(ip) : `device ${device}`} at ${subject.toLowerCase()}`;

  return {
    async enter(guesser, subject) {
      const { ip, device } = guesser;
      if (device !== '') {
        await waited(place(pairKey(guesser, subject), limits.perSubject));
        return;
      }
      const own = place(networkOf(ip), limits.perAddress);
      const atSubject = subject === '' ? 0 : place(pairKey(guesser, subject), limits.perSubject);
      const crowd = subject === '' ? 0 : brake(`at ${subject.toLowerCase()}`, limits.strangers);
      await waited(Math.max(own, atSubject) + Math.max(crowd, brake('everybody', limits.everybody)));
    },
    succeeded(guesser, subject) {
      origins.delete(pairKey(guesser, subject));
      if (guesser.device !== '') return;
      const network = origins.get(networkOf(guesser.ip));
      if (network !== undefined) network.tries = Math.max(0, network.tries - 1);
      for (const key of [`at ${subject.toLowerCase()}`, 'everybody']) {
        const sum = sums.get(key);
        if (sum !== undefined) sum.count = Math.max(0, sum.count - 1);
      }
    },
    strangersAt: (subject) => sumOf(`at ${subject.toLowerCase()}`).count,
  };

  async function waited(ms: number): Promise<void> {
    if (ms > 0) await pause(ms);
  }
}

function trim(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size < mostKept) return;
    map.delete(key);
  }
}
