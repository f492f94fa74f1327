/** Pages cannot forget that a read may fail: there is one way to read, and it tells. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../web');
const sources = [...new Bun.Glob('{app,components,features,lib,shell}/**/*.{ts,tsx}').scanSync({ cwd: root })].map(
  (path) => [path, readFileSync(join(root, path), 'utf8')] as const,
);
const holding = (pattern: RegExp): readonly string[] =>
  sources.filter(([, text]) => pattern.test(text)).map(([path]) => path);

test('the query library is asked in one place', () => {
  expect(holding(/\buse(Suspense)?(Infinite)?Quer(y|ies)\b(?!Client)/)).toEqual(['lib/read.ts']);
});

test('the network is used in one place, but for a file and the question whether there is a server', () => {
  expect([...holding(/(?<![.\w])fetch\(/)].sort()).toEqual(['lib/api.ts', 'lib/code-error.ts', 'lib/download.ts']);
});

test('an unknown value is not shown as zero', () => {
  const known = /\b(money|compact\.format)\([^)]*\?\? 0/;
  expect(holding(known)).toEqual([]);
  expect(holding(/total=\{[^}]*\?\? 0\}/)).toEqual([]);
});

test('only the options know how much quota a unit is', () => {
  expect(holding(/500_?000/)).toEqual([]);
});
