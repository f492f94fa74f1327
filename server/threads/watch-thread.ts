/** Watches the threads that the ledger and the console depend on: the death of each is noticed, and restarts that keep failing end. */
import { sleep, systemTimers, type Timers } from '../contract/timers.ts';

/** @param died called once, with one line why, when the thread ends before the returned function was called. */
export function watchThread(thread: Worker, died: (reason: string) => void): () => void {
  let watched = true;
  const report = (reason: string) => {
    if (!watched) return;
    watched = false;
    died(reason);
  };
  thread.addEventListener('error', (event) => {
    event.preventDefault();
    report(lineOf(event.message));
  });
  thread.addEventListener('close', (event) => report(`ended with code ${(event as CloseEvent).code}`));
  return () => {
    watched = false;
  };
}

/** The runtime's message quotes the source around the line that threw. */
function lineOf(message: unknown): string {
  const text = String(message);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.find((line) => /^\w*error: /i.test(line)) ?? lines.find((line) => line !== '') ?? 'unknown';
}

const delaysMs = [0, 500, 2000, 5000, 15_000];
const forgottenMs = 5 * 60_000;

/** @param now a monotonic clock. @returns how long to wait before the next start, null = it died too often. */
export function createRestarts(now: () => number): () => number | null {
  let deaths: number[] = [];
  return () => {
    const at = now();
    deaths = [...deaths.filter((death) => at - death < forgottenMs), at];
    return delaysMs[deaths.length - 1] ?? null;
  };
}

/** Looks until it is so, at most so long. @returns whether it is. */
export async function until(isSo: () => boolean, ms: number, timers = systemTimers): Promise<boolean> {
  const end = timers.monoNow() + ms;
  while (!isSo()) {
    if (timers.monoNow() >= end) return false;
    await sleep(timers, 20);
  }
  return true;
}

/** @returns whether it came within the time. */
export async function within(
  event: Promise<unknown>,
  ms: number,
  timers: Pick<Timers, 'set'> = systemTimers,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = timers.set(() => resolve(false), ms);
  try {
    return await Promise.race([event.then(() => true), late]);
  } finally {
    timer.close();
  }
}
