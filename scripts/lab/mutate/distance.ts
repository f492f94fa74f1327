/** Which test files load a module, those that are about it first. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../../house/imports.ts';

export type Distances = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** @returns test file -> module -> how many imports lie between them. */
export function distancesFrom(root: string, tests: readonly string[]): Distances {
  const graph = new Map<string, readonly string[]>();
  const next = (path: string): readonly string[] => {
    const known = graph.get(path);
    if (known !== undefined) return known;
    const found = /\.tsx?$/.test(path) ? readImports(root, path) : [];
    graph.set(path, found);
    return found;
  };
  return new Map(
    tests.map((test) => {
      const seen = new Map<string, number>([[test, 0]]);
      for (const [path, distance] of seen)
        for (const target of next(path)) if (!seen.has(target)) seen.set(target, distance + 1);
      return [test, seen];
    }),
  );
}

function readImports(root: string, path: string): readonly string[] {
  try {
    return importsOf(path, readFileSync(join(root, path), 'utf8'));
  } catch {
    return [];
  }
}

/** Seconds from which on a test file is asked last. */
const slow = 15;

const wordsOf = (path: string): string[] =>
  path
    .replace(/^(server|tests)\//, '')
    .replace(/(\.test)?\.tsx?$/, '')
    .split(/[^a-z]+/)
    .map((word) => word.replace(/s$/, ''));

export interface Ranking {
  /** How often a test file noticed a change of this module before. */
  readonly detectCount: (test: string) => number;
  readonly seconds: (test: string) => number;
  /** Whether it is known to run what was changed. */
  readonly loads: (test: string) => boolean;
}

export function rankTests(distances: Distances, module: string, { detectCount, seconds, loads }: Ranking): string[] {
  const words = new Set(wordsOf(module));
  const rows = [...distances]
    .filter(([test, reached]) => reached.has(module) || loads(test))
    .map(([test, reached]) => ({
      test,
      noticed: detectCount(test),
      alike: wordsOf(test).filter((word) => words.has(word)).length,
      distance: reached.get(module) ?? 0,
      seconds: seconds(test),
    }));
  rows.sort(
    (a, b) =>
      Number(loads(b.test)) - Number(loads(a.test)) ||
      Number(a.seconds >= slow) - Number(b.seconds >= slow) ||
      b.noticed - a.noticed ||
      b.alike - a.alike - (b.distance - a.distance) / 2 ||
      a.distance - b.distance ||
      a.seconds - b.seconds,
  );
  return rows.map(({ test }) => test);
}
