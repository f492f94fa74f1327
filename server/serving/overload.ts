/** When more comes than can be served: who is let in is served in time, and who is not is told at once. */

export interface OverloadLimits {
  /** Milliseconds that the event loop may be late all the time; Infinity = it may be. */
  readonly delayMs: number;
  /** Requests under way. */
  readonly mostOpen: number;
}

export interface Overload {
  /** To be asked once for each newcomer. @param open requests under way, this one included. */
  crowded(open: number): boolean;
  /** One beat of the clock that tells how late the loop is. */
  beat(): void;
}

/** Between beats. */
export const beatMs = 20;
/** Late in two spans on end is busy; late in one was a pause. */
const spanMs = 100;
/** So few are no crowd: it is somebody else's work then that makes us late, and turning them away would not help. */
const fewOpen = 64;
/** Some are always let in: without them nobody would learn that it is over. */
const leastShare = 0.05;
/** The later the loop, the fewer are let in from one span to the next; more only by small steps, or all would come back at once. */
const leastStep = 0.3;
const mostStep = 0.9;
const more = 0.05;

/** @param now milliseconds that never jump. */
export function createOverload({ delayMs, mostOpen }: OverloadLimits, now: () => number): Overload {
  let spanAt = now();
  let beats = 0;
  let wasLate = false;
  /** Of newcomers that are let in. */
  let share = 1;
  let credit = 0;
  return {
    beat() {
      beats++;
      const passed = now() - spanAt;
      if (passed < spanMs) return;
      // Beats that were missed may come together: how many came says more than when each did.
      const lateMs = passed / beats - beatMs;
      const isLate = lateMs > delayMs;
      if (isLate && wasLate)
        share = Math.max(leastShare, share * Math.min(mostStep, Math.max(leastStep, delayMs / lateMs)));
      else if (!isLate) share = Math.min(1, share + more);
      wasLate = isLate;
      spanAt += passed;
      beats = 0;
    },
    crowded(open) {
      if (open > mostOpen) return true;
      if (share === 1 || open <= fewOpen) return false;
      credit += share;
      if (credit < 1) return true;
      credit--;
      return false;
    },
  };
}

/** A request has a connection of its own and one to its upstream; files, threads and the API need some, too. */
export const mostOpenFor = (descriptors: number | null): number =>
  descriptors === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((descriptors - Math.max(64, descriptors / 16)) / 2));
