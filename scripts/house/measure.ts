/** Measures the code as a place to live in: circles between files, and functions that are too large without a reason. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FunctionFacts, functionsIn } from './functions.ts';
import { circlesIn, importsOf } from './imports.ts';
import { exceptions, limits } from './limits.ts';

const root = resolve(import.meta.dirname, '../..');
const measures = ['lines', 'branches', 'parameters'] as const;

const nameOf = (one: FunctionFacts): string => `${one.file}:${one.line} ${one.name}`;
const isNamed = (one: FunctionFacts): boolean => exceptions[`${one.file} ${one.name}`] !== undefined;

/** Lines for people. */
export interface House {
  readonly summary: readonly string[];
  readonly faults: readonly string[];
}

/** @param shown how many of the largest of each kind are listed. */
export function measureHouse(shown = 0): House {
  const files = ['cli', 'server', 'db', 'web', 'scripts'].flatMap((folder) =>
    [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].filter((path) => !path.includes('/dist/')),
  );
  const texts = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  const circles = circlesIn(new Map([...texts].map(([path, text]) => [path, importsOf(path, text)])));
  const functions = [...texts].flatMap(([path, text]) => functionsIn(path, text));
  const folders = new Set(files.map((path) => path.replace(/\/[^/]*$/, '')));
  const summary = [
    `files ${files.length}, folders ${folders.size}`,
    `functions ${functions.length}`,
    `circles between files ${circles.length}`,
  ];
  const faults = circles.map((circle) => `circle between files: ${circle.join(' ')}`);
  for (const measure of measures) {
    const sorted = functions.toSorted((a, b) => b[measure] - a[measure]);
    const over = sorted.filter((one) => one[measure] > limits[measure]);
    const most = sorted.slice(0, 1).map((one) => `${one[measure]} (${nameOf(one)})`);
    const named = over.filter(isNamed).length;
    summary.push(
      `${measure}: most ${most}, over ${limits[measure]}: ${over.length}, of these named exceptions ${named}`,
    );
    summary.push(...sorted.slice(0, shown).map((one) => `  ${one[measure]}  ${nameOf(one)}`));
    for (const one of over) if (!isNamed(one)) faults.push(`too many ${measure}: ${one[measure]}  ${nameOf(one)}`);
  }
  const needed = new Set(
    functions
      .filter((one) => measures.some((measure) => one[measure] > limits[measure]))
      .map((one) => `${one.file} ${one.name}`),
  );
  for (const key of Object.keys(exceptions))
    if (!needed.has(key)) faults.push(`no exception is needed any more: ${key}`);
  return { summary, faults };
}
