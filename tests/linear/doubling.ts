/** How a reader's processor time grows when what it reads is doubled, and doubled again. */
import type { Case } from './cases.ts';

export interface Growth {
  readonly n: number;
  /** Processor milliseconds for n, 2n and 4n. */
  readonly ms: readonly [number, number, number];
}

/** The kernel counts a thread's time in so many milliseconds: what takes less than some of them is measured by the clock. */
const tickMs = 4;

/** Milliseconds of this thread: what else runs on the machine, or in the process, is not the reader's. */
function timed(run: () => unknown): number {
  const before = process.threadCpuUsage();
  const started = performance.now();
  run();
  const passed = performance.now() - started;
  if (passed < 4 * tickMs) return passed;
  const { user, system } = process.threadCpuUsage(before);
  return Math.min(passed, Math.max((user + system) / 1000, 4 * tickMs));
}

/** The least of some tries: garbage of others is collected in some of them. */
function least(one: Case, n: number, tries: number): number {
  const run = one.prepare(n);
  let ms = Number.POSITIVE_INFINITY;
  for (let times = 0; times < tries; times++) ms = Math.min(ms, timed(run));
  return ms;
}

/** Time per doubling that is linear still: caches are smaller than what is read, and collecting garbage costs too. */
const perDoubling = 2.5;

const isLinear = ([first, , last]: Growth['ms']): boolean => last <= first * perDoubling * perDoubling;

/** A power of two that does not go beyond what is missing. @param times too short. */
const stepFor = (times: number): number => 2 ** Math.max(1, Math.floor(Math.log2(times)) - 1);

/**
 * @param baseMs processor time that the smallest size takes at least.
 * @param largest where nothing takes so long, it is fast enough.
 * @returns null = linear, or so fast that it cannot be measured.
 */
export function growthOf(one: Case, baseMs: number, largest: number): Growth | null {
  let growth: Growth | null = null;
  let n = 1024;
  // A neighbour may have slowed some down: what is linear once is linear.
  for (let attempt = 0; attempt < 3; ) {
    // What is not compiled yet would make what follows look cheap: the largest size comes first.
    const tried = least(one, n, 1);
    const isLong = tried >= baseMs && least(one, 4 * n, 1) >= baseMs;
    const first = isLong ? least(one, n, 3) : 0;
    if (first < baseMs) {
      if (n === largest) return null;
      n = Math.min(largest, n * stepFor(baseMs / tried));
      continue;
    }
    attempt++;
    growth = { n, ms: [first, least(one, 2 * n, 1 + attempt), least(one, 4 * n, 1 + attempt)] };
    if (isLinear(growth.ms)) return null;
  }
  return growth;
}
