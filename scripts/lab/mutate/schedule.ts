/** Examines many changes at once: each round gives every test file at most one of those it reaches. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Numbered, withSwitches } from './apply.ts';
import type { Copy } from './copy.ts';
import type { FileOver } from './line-report.ts';
import type { Mutant } from './mutants.ts';
import { runRound } from './round.ts';

export interface Reached {
  /** Test file -> numbers of the changes that it reaches. */
  readonly by: ReadonlyMap<string, ReadonlySet<number>>;
  /** Those that take effect while a module is loaded. */
  readonly loading: ReadonlySet<number>;
  readonly seconds: ReadonlyMap<string, number>;
  /** Test files that fail where nothing is changed. */
  readonly unsound: ReadonlySet<string>;
}

/** Puts every change into the copy, switched off. */
export function writeSwitches(copy: Copy, mutants: readonly Numbered[], textOf: (file: string) => string): void {
  const path = join(copy.dir, 'scripts/lab/mutate/switch.ts');
  for (const file of new Set(mutants.map(({ mutant }) => mutant.file))) {
    const own = mutants.filter(({ mutant }) => mutant.file === file);
    writeFileSync(join(copy.dir, file), withSwitches(textOf(file), own, path));
  }
}

/** Several processes side by side, each with files of about the same length together. */
async function inParallel(
  tests: readonly (readonly [test: string, number: number])[],
  processes: number,
  seconds: (test: string) => number,
  run: (name: string, on: ReadonlyMap<string, number>) => Promise<readonly FileOver[]>,
): Promise<readonly FileOver[]> {
  const piles = Array.from({ length: processes }, () => ({ seconds: 0, on: new Map<string, number>() }));
  for (const [test, number] of [...tests].sort((a, b) => seconds(b[0]) - seconds(a[0]))) {
    const [pile] = [...piles].sort((a, b) => a.seconds - b.seconds);
    pile?.on.set(test, number);
    if (pile !== undefined) pile.seconds += seconds(test) + 0.3;
  }
  const results = await Promise.all(piles.map(({ on }, index) => (on.size === 0 ? [] : run(`round-${index}`, on))));
  return results.flat();
}

/** Runs every test file with everything switched off. */
export async function recordReached(copy: Copy, tests: readonly string[], processes: number): Promise<Reached> {
  const reached = join(copy.dir, 'reached.jsonl');
  rmSync(reached, { force: true });
  const all = await inParallel(
    tests.map((test) => [test, -1] as const),
    processes,
    () => 1,
    (name, on) => runRound({ dir: copy.dir, name, on, isolate: false, reached, timeoutMs: 400_000 }),
  );
  const by = new Map<string, Set<number>>();
  const loading = new Set<number>();
  const lines = existsSync(reached) ? readFileSync(reached, 'utf8').split('\n').filter(Boolean) : [];
  for (const line of lines) {
    const [test, number, isLoading] = JSON.parse(line) as [string, number, boolean];
    by.set(test, (by.get(test) ?? new Set()).add(number));
    if (isLoading) loading.add(number);
  }
  const passed = new Set(all.filter(({ ok }) => ok).map(({ test }) => test));
  return {
    by,
    loading,
    seconds: new Map(all.map(({ test, seconds }) => [test, seconds])),
    unsound: new Set(tests.filter((test) => !passed.has(test))),
  };
}

export interface Pending {
  readonly number: number;
  readonly mutant: Mutant;
  /** Test files that are still to be asked, the best first. */
  readonly left: string[];
  count: number;
}

export interface RoundsDeps {
  readonly copy: Copy;
  readonly processes: number;
  readonly isolate: boolean;
  readonly seconds: (test: string) => number;
  readonly isOver: () => boolean;
  readonly detected: (one: Pending, by: string) => void;
  readonly survived: (one: Pending) => void;
  readonly log: (line: string) => void;
}

/** Files of one round at most, so that what is known is kept now and then. */
const roundSize = 120;
/** Files that one change is given at most in one round, when few changes are left. */
const atOnce = 4;

export async function runRounds(deps: RoundsDeps, all: readonly Pending[]): Promise<void> {
  let pending = [...all];
  const silent = new Set<string>();
  for (let round = 1; pending.length > 0 && !deps.isOver(); round++) {
    const started = performance.now();
    const jobs = assignTests(pending);
    const results = await inParallel(
      [...jobs].map(([test, one]) => [test, one.number] as const),
      deps.processes,
      deps.seconds,
      (name, on) =>
        runRound({
          dir: deps.copy.dir,
          name,
          on,
          isolate: deps.isolate,
          reached: null,
          // A busy machine is no change that was noticed.
          timeoutMs: Math.max(150_000, ...[...on.keys()].map((test) => deps.seconds(test) * 10_000)),
        }),
    );
    const over = new Set<Pending>();
    const known = new Set(results.map(({ test }) => test));
    for (const [test, one] of jobs) {
      if (known.has(test)) continue;
      // Twice nothing was heard of it: its process ended before.
      if (silent.has(`${one.number} ${test}`)) one.left.splice(one.left.indexOf(test), 1);
      silent.add(`${one.number} ${test}`);
    }
    for (const { test, ok, failed } of results) {
      const one = jobs.get(test);
      if (one === undefined) continue;
      one.left.splice(one.left.indexOf(test), 1);
      one.count++;
      if (!ok && !over.has(one)) {
        over.add(one);
        deps.detected(one, `${test}: ${failed}`);
      }
    }
    for (const one of pending) {
      if (over.has(one) || one.left.length > 0) continue;
      over.add(one);
      deps.survived(one);
    }
    pending = pending.filter((one) => !over.has(one));
    const seconds = (performance.now() - started) / 1000;
    deps.log(
      `round ${round}: ${results.length} of ${jobs.size} files in ${seconds.toFixed(0)} s, ${over.size} settled, ${pending.length} left`,
    );
  }
}

/** Those with the fewest files left choose first; a file takes one change. */
function assignTests(pending: readonly Pending[]): ReadonlyMap<string, Pending> {
  const jobs = new Map<string, Pending>();
  const order = [...pending].sort((a, b) => a.left.length - b.left.length);
  const max = pending.length * 2 > roundSize ? 1 : atOnce;
  for (let turn = 0; turn < max; turn++)
    for (const one of order) {
      if (jobs.size >= roundSize) return jobs;
      const free = one.left.find((test) => !jobs.has(test));
      if (free !== undefined) jobs.set(free, one);
    }
  return jobs;
}
