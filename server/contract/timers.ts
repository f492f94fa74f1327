/** Time, handed in: one clock and its timers for whatever waits, so that a test moves them instead of waiting. */

/** A timer that was set. The runtime's own timers have this shape, so nothing is allocated around them. */
export interface Timer {
  /** It runs no more; later calls do nothing. */
  close(): void;
  /** It keeps no process alive. */
  unref(): void;
}

export interface Timers {
  /** Epoch milliseconds. The operator may set this clock back. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back: for waits and windows. */
  readonly monoNow: () => number;
  /** Runs once, `ms` milliseconds from now. */
  readonly set: (run: () => void, ms: number) => Timer;
  /** Runs every `ms` milliseconds, the first time so long from now. */
  readonly every: (run: () => void, ms: number) => Timer;
}

/** The time of this process. */
export const systemTimers: Timers = {
  now: Date.now,
  monoNow: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms),
  every: (run, ms) => setInterval(run, ms),
};

/** Resolves `ms` milliseconds from now. */
export const sleep = (timers: Pick<Timers, 'set'>, ms: number): Promise<void> =>
  new Promise((resolve) => void timers.set(resolve, ms));
