/**
 * Measures the code as a place to live in: arrows between folders, circles between files, and functions that are too
 * long, branch too often or take too many parameters. Prints what it found; ends with 1 when a limit is passed.
 * `--list N` also prints the N largest of each kind.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FunctionFacts, functionsIn } from './house/functions.ts';
import { circlesIn, importsOf } from './house/imports.ts';
import { exceptions, limits } from './house/limits.ts';

const root = resolve(import.meta.dirname, '..');
const files = ['cli', 'server', 'db', 'web', 'scripts'].flatMap((folder) =>
  [...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: root })].filter((path) => !path.includes('/dist/')),
);
const texts = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const graph = new Map([...texts].map(([path, text]) => [path, importsOf(path, text)]));
const circles = circlesIn(graph);
const functions = [...texts].flatMap(([path, text]) => functionsIn(path, text));

const at = process.argv.indexOf('--list');
const shown = at < 0 ? 0 : Number(process.argv[at + 1]);
let failed = circles.length > 0;

console.log(`files ${files.length}, folders ${new Set(files.map((path) => path.replace(/\/[^/]*$/, ''))).size}`);
console.log(`functions ${functions.length}`);
console.log(`circles between files ${circles.length}`);
for (const circle of circles) console.log(`  ${circle.join(' ')}`);

const nameOf = (one: FunctionFacts): string => `${one.file}:${one.line} ${one.name}`;
for (const measure of ['lines', 'branches', 'parameters'] as const) {
  const sorted = functions.toSorted((a, b) => b[measure] - a[measure]);
  const over = sorted.filter((one) => one[measure] > limits[measure]);
  const named = over.filter((one) => exceptions[`${one.file} ${one.name}`] !== undefined);
  const broken = over.filter((one) => !named.includes(one));
  const most = sorted[0];
  console.log(
    `${measure}: most ${most === undefined ? 0 : `${most[measure]} (${nameOf(most)})`}, over ${limits[measure]}: ${over.length}, of these named exceptions ${named.length}`,
  );
  for (const one of broken) console.log(`  TOO MANY ${measure} ${one[measure]}  ${nameOf(one)}`);
  for (const one of sorted.slice(0, shown)) console.log(`  ${one[measure]}  ${nameOf(one)}`);
  failed ||= broken.length > 0;
}
const stale = Object.keys(exceptions).filter(
  (key) =>
    !functions.some(
      (one) =>
        `${one.file} ${one.name}` === key &&
        (['lines', 'branches', 'parameters'] as const).some((measure) => one[measure] > limits[measure]),
    ),
);
for (const key of stale) console.log(`  no exception is needed any more: ${key}`);
process.exit(failed || stale.length > 0 ? 1 : 0);
