/** Measures the code: circles between files, which are faults, and the size of functions, which a reader judges. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FunctionInfo, functionsIn } from './functions.ts';
import { cyclesIn, importsOf } from './imports.ts';

const root = resolve(import.meta.dirname, '../..');
const measures = ['lines', 'branches', 'parameters'] as const;

const nameOf = (one: FunctionInfo): string => `${one.file}:${one.line} ${one.name}`;

/** Lines for people. */
export interface CodeReport {
  readonly summary: readonly string[];
  readonly errors: readonly string[];
}

/** @param maxListed how many of the largest of each kind are listed. */
export function measureCode(maxListed = 0): CodeReport {
  const files = ['cli', 'server', 'db', 'web', 'scripts'].flatMap((folder) =>
    [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].filter((path) => !path.includes('/dist/')),
  );
  const texts = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const cycles = cyclesIn(new Map([...texts].map(([path, text]) => [path, importsOf(path, text)])));
  const functions = [...texts].flatMap(([path, text]) => functionsIn(path, text));
  const folders = new Set(files.map((path) => path.replace(/\/[^/]*$/, '')));
  const summary = [
    `files ${files.length}, folders ${folders.size}`,
    `functions ${functions.length}`,
    `circles between files ${cycles.length}`,
  ];
  for (const measure of measures) {
    const largest = functions.toSorted((a, b) => b[measure] - a[measure]).slice(0, Math.max(maxListed, 1));
    summary.push(`${measure}:`, ...largest.map((one) => `  ${one[measure]}  ${nameOf(one)}`));
  }
  return { summary, errors: cycles.map((cycle) => `circle between files: ${cycle.join(' ')}`) };
}
