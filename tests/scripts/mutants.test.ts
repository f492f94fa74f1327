import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { withSwitches } from '../../scripts/lab/mutate/apply.ts';
import type { Copy } from '../../scripts/lab/mutate/copy.ts';
import { distancesFrom, rankTests } from '../../scripts/lab/mutate/distance.ts';
import { equivalents } from '../../scripts/lab/mutate/equivalents.ts';
import { applied, type Mutant, mutantsOf, sampled } from '../../scripts/lab/mutate/mutants.ts';
import { namedMutants } from '../../scripts/lab/mutate/named.ts';
import { typeErrors } from '../../scripts/lab/mutate/types.ts';

const root = resolve(import.meta.dirname, '../..');

/** Every text that a change of this source may make of it. */
const changed = (source: string): string[] => mutantsOf('a.ts', source).map((mutant) => applied(source, [mutant]));

test.each([
  [
    'if (a < 2) f();',
    ['if (!(a < 2)) f();', 'if (a <= 2) f();', 'if (a < (3)) f();', 'if (a < (1)) f();', 'if (a < 2) void 0;'],
  ],
  [
    'const a = b && c === d;',
    ['const a = b || c === d;', 'const a = b && c !== d;', 'const a = (c === d);', 'const a = (b);'],
  ],
  // Each of a chain is left out once, whatever stands in parentheses.
  [
    'const a = b && (c || d) && e;',
    [
      ...['const a = b || (c || d) && e;', 'const a = b && (c || d) || e;', 'const a = b && (c && d) && e;'],
      ...['const a = (c || d) && (e);', 'const a = (b) && (e);', 'const a = (b) && (c || d);'],
    ],
  ],
  ['const a = { ...b, ...c };', ['const a = { ...c, ...b };']],
  ['const a = { d, ...b, e };', ['const a = { ...b, d, e };', 'const a = { d, e, ...b };']],
  ['const a = [b, ...c, ...d];', ['const a = [b, ...d, ...c];']],
  ['const a = f(b, c);', ['const a = f(c, c);', 'const a = f(b, b);']],
  ['const a = new F(b, () => c, b, ...d);', []],
  [
    'const a = b > c ? d - e : f * g;',
    [
      'const a = !(b > c) ? d - e : f * g;',
      'const a = b >= c ? d - e : f * g;',
      'const a = b > c ? d + e : f * g;',
      'const a = b > c ? d - e : f / g;',
    ],
  ],
  [
    'const f = () => { return a || b; };',
    ['const f = () => { return true; };', 'const f = () => { return false; };', 'const f = () => { return a && b; };'],
  ],
  ['const f = () => { return a; };', ['const f = () => { return null; };']],
  ["const a = { b: 'c', d: true };", ["const a = { b: 'changed', d: true };", "const a = { b: 'c', d: false };"]],
  ['const a = 1_000n;', ['const a = (1001n);', 'const a = (999n);']],
  ['const a = { 400: b };', ['const a = { [401]: b };', 'const a = { [399]: b };']],
  // Texts put together, types, imports and words for people are no behaviour.
  ["const a = b + 'x' + c;", ["const a = b + 'changed' + c;"]],
  ["import a from 'b';\ntype C = 'd' | 1;\nexport * from 'e';", []],
  ["const a = { zh: '词', en: 'word' };", []],
  ['const [a = 1] = b;', []],
  ['const a = b[c] ?? 0;', []],
  ['const a = b.c ?? 7;', ['const a = b.c ?? (8);', 'const a = b.c ?? (6);']],
])('%s', (source, expected) => expect(changed(source).sort()).toEqual([...expected].sort()));

test.each([
  [
    'const f = (a, b) => (a < b && a !== 3 ? { ...{ a }, ...{ a: Math.max(a, b) } } : a);',
    [
      [1, 2],
      [2, 2],
      [3, 9],
      [5, 2],
    ],
  ],
  [
    "const f = (a, b) => { const told = []; if (a > 1) told.push('x'); else told.push(b); return { 'k-y': told, at: a ?? 4 }; };",
    [
      [1, 2],
      [2, 2],
      [undefined, 0],
    ],
  ],
] as const)('switches: with one on, it is that change; with none, what stands there: %s', (source, inputs) => {
  const numbered = mutantsOf('a.ts', source).map((mutant, number) => ({ number, mutant }));
  const [body = ''] = withSwitches(source, numbered, './switch.ts').split('\nimport ');
  const told = (text: string, on: number) => {
    const f = new Function('$is', `${text}\nreturn f;`)((number: number) => number === on) as (
      ...input: unknown[]
    ) => unknown;
    return inputs.map((input) => JSON.stringify(f(...input)));
  };
  expect(told(body, -1)).toEqual(told(source, -1));
  for (const { number, mutant } of numbered) expect(told(body, number)).toEqual(told(applied(source, [mutant]), -1));
});

/** Ids of the changes, each a file, what stands in it and what shall, that the type checker refuses when it sees all at once. */
async function rejected(changes: readonly (readonly [id: string, file: string, before: string, after: string])[]) {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-types-'));
  const filler = '\n'.repeat(20);
  const texts = new Map([
    ['a.ts', 'export const a = 1;\n'],
    [
      'b.ts',
      `export const b = {\n  long: [\n${filler}  ],\n};${filler}export const c: 'x' = 'x';${filler}export const d = 2;\n`,
    ],
  ]);
  const textOf = (file: string): string => texts.get(file) ?? '';
  try {
    for (const [file, text] of texts) writeFileSync(join(dir, file), text);
    const compilerOptions = { strict: true, noEmit: true, types: [], lib: ['esnext'] };
    writeFileSync(join(dir, 'tsconfig.mutants.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
    const copy: Copy = {
      dir,
      remove: () => undefined,
      during(changed, work) {
        for (const [file, text] of changed) writeFileSync(join(dir, file), text);
        return work().finally(() => {
          for (const file of changed.keys()) writeFileSync(join(dir, file), textOf(file));
        });
      },
    };
    const mutants = changes.map(([id, file, before, after]): Mutant => {
      const text = textOf(file);
      const start = text.lastIndexOf(before);
      const end = start + before.length;
      const line = text.slice(0, start).split('\n').length;
      return {
        id,
        file,
        line,
        start,
        end,
        before,
        after,
        operator: '',
        whole: [start, end],
        isKey: false,
        isOnLoad: false,
      };
    });
    return [...(await typeErrors(copy, mutants, textOf, () => undefined))].sort();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test('a text that is no program hides no wrong type in another', async () => {
  const all = [
    ['no program', 'a.ts', '1', '):('],
    ['wrong type', 'b.ts', "'x'", "'changed'"],
    ['right type', 'b.ts', '2', '(3)'],
  ] as const;
  expect(await rejected(all)).toEqual(['no program', 'wrong type']);
});

test('code that becomes shorter moves no blame to another line', async () => {
  const long = `[\n${'\n'.repeat(20)}  ]`;
  const all = [
    ['shorter', 'b.ts', long, '[]'],
    ['wrong type', 'b.ts', "'x'", "'changed'"],
    ['right type', 'b.ts', '2', '(3)'],
  ] as const;
  expect(await rejected(all)).toEqual(['wrong type']);
});

test('a draw is the same for a seed, another for another, and its places carry names that survive an edit above', () => {
  const source = 'f(1);\ng(2);\ng(2);\nif (a) h();\n';
  const all = mutantsOf('a.ts', source);
  const ids = (seed: string, text = source) => sampled(mutantsOf('a.ts', text), seed, 5).map(({ id }) => id);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  expect(ids('one')).toEqual(ids('one'));
  expect(ids('one')).not.toEqual(ids('two'));
  expect(ids('one', `// A line above.\n${source}`)).toEqual(ids('one'));
  expect(sampled(all, 'one', 5)).toEqual(sampled(all, 'one', 3).concat(sampled(all, 'one', 5).slice(3)));
});

test('tests about a module come before those that merely load it, and only those that load it', () => {
  const tests = ['tests/relay/health.test.ts', 'tests/relay/relay.test.ts', 'tests/pricing/quota.test.ts'];
  const order = (detectCount: (test: string) => number) =>
    rankTests(distancesFrom(root, tests), 'server/relay/routing/health.ts', {
      detectCount,
      seconds: () => 1,
      loads: (test) => tests.includes(test) && !test.startsWith('tests/pricing'),
    });
  expect(order(() => 0)).toEqual(tests.slice(0, 2));
  expect(order((path) => Number(path.includes('relay.test')))).toEqual([tests[1], tests[0]]);
});

test.each(equivalents.map((one) => [`${one.file}: ${one.line}`, one] as const))(
  'equivalent, and still there: %s',
  (_name, one) => {
    const found = mutantsOf(one.file, readFileSync(join(root, one.file), 'utf8')).filter(
      ({ id, before, after }) =>
        id.startsWith(`${one.file}|${one.line}|`) && before === one.before && after === one.after,
    );
    expect(found.length).toBeGreaterThan(0);
  },
);

test.each(namedMutants.map((one) => [one.name, one] as const))('%s: its place and its test are there', (_name, one) => {
  const text = readFileSync(join(root, one.file), 'utf8');
  expect(text.split(one.before)).toHaveLength(2);
  expect(existsSync(join(root, one.test))).toBe(true);
});
