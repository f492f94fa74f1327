/** A clock that never goes back and says the same in every thread of the process. */

/** What the main thread's clock says, and at which wall time: sent to a thread that begins. */
export interface ClockReading {
  readonly monoNow: number;
  /** Epoch milliseconds. */
  readonly wall: number;
}

/** In the main thread. */
export const clockReading = (): ClockReading => ({ monoNow: performance.now(), wall: Date.now() });

/**
 * In Bun `performance.now` and `process.hrtime` both begin with the thread, so another thread begins with a reading of the
 * main one's; the wall clock says how long that was on its way.
 * @returns milliseconds.
 */
export function createMonoClock({ monoNow, wall }: ClockReading = clockReading()): () => number {
  const offset = monoNow + Date.now() - wall - performance.now();
  return () => performance.now() + offset;
}
