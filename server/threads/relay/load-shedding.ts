/** Load shedding: requests that are admitted are served in time, and the others are rejected at once. */

import { createRequestQueue, type LineDeps } from './request-queue.ts';

export interface OverloadLimits {
  /** Milliseconds that the event loop may be late continuously, or new requests wait in the queue; Infinity = no limit. */
  readonly delayMs: number;
  /** Requests under way. */
  readonly maxOpen: number;
}

export interface OverloadDeps extends LineDeps {
  /** Requests under way. */
  readonly open: () => number;
  /** Milliseconds for which the oldest bill has waited for its commit. */
  readonly billMs: () => number;
  /** Calls every so many milliseconds. @returns what ends that. */
  readonly every: (beat: () => void, ms: number) => () => void;
}

export interface Overload {
  /** Called for each new request before anything else. @param open requests under way, this one included. */
  isOverloaded(open: number): boolean;
  /** Called for each admitted request. @returns what resolves when it is its turn; null = it is. */
  wait(): Promise<void> | null;
}

/** Between beats. */
const beatMs = 20;
/** A loop that has not come round for so long has other work to do before it takes more new requests. */
const longTurnMs = 30;
/** Late in two spans on end is busy; late in one was a pause. */
const spanMs = 100;
/** With so few open requests another load delays this process, and rejecting them would not help. */
const fewOpen = 64;
/** While it is busy, new requests are admitted for so long in each turn of the loop: turns stay short, and every request's next step comes soon. */
const turnMs = 1;
/** While it is busy, bills may not wait for more than twice as long as usual and so much more: the ledger has no time on the core, or too much to do, and those let in wait there. */
const slowBillMs = 15;
/** The usual delay is the mean of so many beats. */
const defaultBeats = 512;
/** By how much the time in each turn shrinks and grows from beat to beat, since a request that is admitted now is a bill only when its upstream has responded. */
const less = 0.85;
const moreMs = 0.02;
const minTurnMs = 0.1;
/** When no more than one in so many had to be turned away in so many spans, it is over: a few are for as long as it is looked out for. */
const calmOneIn = 20;
const calmSpans = 5;

export function createOverload(
  { delayMs, maxOpen }: OverloadLimits,
  { now, afterTurn, open: openNow, billMs, every }: OverloadDeps,
): Overload {
  /** Stops the measurement of the loop's delay; null = nothing is open, and it is not needed. */
  let rest: (() => void) | null = null;
  let spanAt = now();
  let beatAt = spanAt;
  let beats = 0;
  const line = createRequestQueue({ now, afterTurn });
  let wasSlow = false;
  let busy = false;
  /** Since it was last decided whether it is over. */
  let spans = 0;
  let came = 0;
  let rejected = 0;
  let averageBillMs = 0;
  let hasSlowBills = false;
  /** In each turn. */
  let letInMs = turnMs;
  /** When this turn's first new request came; null = none has. */
  let turnAt: number | null = null;
  const endTurn = () => {
    turnAt = null;
  };
  const check = (lateMs: number) => {
    const isSlow = lateMs > delayMs;
    if (busy) {
      spans++;
      if (spans < calmSpans) return;
      busy = rejected * calmOneIn > came;
    } else {
      busy = isSlow && wasSlow;
      letInMs = turnMs;
    }
    wasSlow = isSlow;
    spans = 0;
    came = 0;
    rejected = 0;
  };
  const beat = () => {
    beats++;
    beatAt = now();
    if (!busy) averageBillMs += (billMs() - averageBillMs) / defaultBeats;
    letInMs = hasSlowBills ? Math.max(minTurnMs, letInMs * less) : Math.min(turnMs, letInMs + moreMs);
    const passed = beatAt - spanAt;
    if (passed < spanMs) return;
    // Missed beats may come together: their number says more than their times.
    check(Math.max(passed / beats - beatMs, line.waitedMs()));
    spanAt += passed;
    beats = 0;
    if (busy || openNow() > 0) return;
    rest?.();
    rest = null;
  };
  const wake = () => {
    spanAt = now();
    beatAt = spanAt;
    beats = 0;
    wasSlow = false;
    return every(beat, beatMs);
  };
  return {
    isOverloaded(open) {
      if (delayMs !== Number.POSITIVE_INFINITY) rest ??= wake();
      came++;
      if (open > maxOpen) return true;
      if (!busy || open <= fewOpen) return false;
      const at = now();
      if (turnAt === null) {
        turnAt = at;
        hasSlowBills = billMs() > 2 * averageBillMs + slowBillMs;
        afterTurn(endTurn);
      }
      if (line.length() === 0 && !hasSlowBills && at - turnAt <= letInMs) return false;
      rejected++;
      return true;
    },
    wait: () => (line.length() > 0 || (rest !== null && now() - beatAt > longTurnMs) ? line.join() : null),
  };
}

/** A request has a connection of its own and one to its upstream; files, threads and the API need some, too. */
export const maxOpenFor = (descriptors: number | null): number =>
  descriptors === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((descriptors - Math.max(64, descriptors / 16)) / 2));
