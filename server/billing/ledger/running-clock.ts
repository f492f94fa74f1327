/** Time during which this thread was running: while its event loop is blocked it receives no answers either, so that time does not count as a wait. */

export interface RunningClock {
  /** Milliseconds since some moment, precise to one tick. */
  now(): number;
  onTick(listener: () => void): void;
}

export const tickMs = 100;

/** @param at a clock that never goes back. @param every calls back about every so many milliseconds. */
export function createRunningClock(
  at: () => number = () => performance.now(),
  every: (tick: () => void, ms: number) => void = (tick, ms) => void setInterval(tick, ms).unref(),
): RunningClock {
  const listeners: (() => void)[] = [];
  let lived = 0;
  let last = at();
  every(() => {
    const now = at();
    lived += Math.min(now - last, 2 * tickMs);
    last = now;
    for (const listener of listeners) listener();
  }, tickMs);
  return { now: () => lived, onTick: (listener) => void listeners.push(listener) };
}
