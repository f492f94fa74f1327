/** A monotonic clock that is the same in every thread of the process. */

/** The main thread's clock, and the wall time at which it was read: sent to a new thread. */
export interface ClockReading {
  readonly monoNow: number;
  /** Epoch milliseconds. */
  readonly wall: number;
}

/** In the main thread. */
export const clockReading = (): ClockReading => ({ monoNow: performance.now(), wall: Date.now() });

/**
 * In Bun `performance.now` and `process.hrtime` both begin with the thread, so another thread begins with a reading of the
 * main one's; the wall clock shows how long the message was on its way.
 * @returns milliseconds.
 */
export function createMonoClock({ monoNow, wall }: ClockReading = clockReading()): () => number {
  const offset = monoNow + Date.now() - wall - performance.now();
  return () => performance.now() + offset;
}
