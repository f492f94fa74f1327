/** Time during which this thread was running: while its event loop is blocked it receives no answers either, so that time does not count as a wait. */
import { systemTimers, type Timers } from '../../contract/timers.ts';

export interface RunningClock {
  /** Milliseconds since some moment, precise to one tick. */
  now(): number;
  onTick(listener: () => void): void;
}

const tickMs = 100;

export function createRunningClock(timers: Pick<Timers, 'monoNow' | 'every'> = systemTimers): RunningClock {
  const listeners: (() => void)[] = [];
  let lived = 0;
  let last = timers.monoNow();
  const tick = () => {
    const now = timers.monoNow();
    lived += Math.min(now - last, 2 * tickMs);
    last = now;
    for (const listener of listeners) listener();
  };
  timers.every(tick, tickMs).unref();
  return { now: () => lived, onTick: (listener) => void listeners.push(listener) };
}
