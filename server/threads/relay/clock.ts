/** A monotonic clock that is the same in every thread of the process. */
import { systemTimers, type Timers } from '../../contract/timers.ts';

/** The main thread's clock, and the wall time at which it was read: sent to a new thread. */
export interface ClockReading {
  readonly monoNow: number;
  /** Epoch milliseconds. */
  readonly wall: number;
}

/** In the main thread. */
export const clockReading = (): ClockReading => ({ monoNow: systemTimers.monoNow(), wall: systemTimers.now() });

/**
 * In Bun `performance.now` and `process.hrtime` both begin with the thread, so another thread begins with a reading of the
 * main one's; the wall clock shows how long the message was on its way.
 * @returns milliseconds.
 */
export function createMonoClock({ monoNow, wall }: ClockReading = clockReading()): () => number {
  const offset = monoNow + systemTimers.now() - wall - systemTimers.monoNow();
  return () => systemTimers.monoNow() + offset;
}

/** Time as a thread waits for it, by the clock that all threads share. @param reading absent in the main thread. */
export const threadTimers = (reading?: ClockReading): Timers => ({
  ...systemTimers,
  monoNow: createMonoClock(reading),
});
