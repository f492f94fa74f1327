/** What a test of a program waits for is what the program still says. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const pathsOf = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync({ cwd: root })];
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
const plain = (text: string): string =>
  text
    .replace(/\\(['"`])/g, '$1')
    .replace(/\s+/g, ' ')
    .toLowerCase();
const codeOf = (path: string): string => plain(textOf(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''));

/** What is awaited on a terminal, or found in what a program wrote. */
const awaited = /(?:\.until|\.toContain)\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g;

/** Numbers, names of variables and values stand between the words of a text: each piece between them is looked for. */
const piecesOf = (literal: string): string[] =>
  plain(literal.slice(1, -1).replace(/\$\{[^}]*\}|\b[A-Z]+_[A-Z_]+\b|\\u\w{4}/g, '|'))
    .split(/[^\p{L}_ '-]+|\d+/u)
    .map((piece) => piece.trim())
    .filter((piece) => /\p{L}{3}/u.test(piece));

/** @returns the pieces that `said` lacks, also around names that the test gives, and that the test itself does not say a second time, as it does with what it types. */
function goneFrom(said: string, text: string): string[] {
  const names = new Set([...text.matchAll(/'([^'\s]+)'/g)].map(([, name = '']) => plain(name)));
  const withoutNames = (piece: string): string[] =>
    piece
      .split(' ')
      .map((word) => (names.has(word) ? '|' : word))
      .join(' ')
      .split('|');
  const isSaid = (piece: string): boolean =>
    said.includes(piece) || withoutNames(piece).every((rest) => said.includes(rest.trim()));
  return [...text.matchAll(awaited)].flatMap(([, literal = '']) =>
    piecesOf(literal).filter((piece) => !isSaid(piece) && plain(text).split(piece).length === 2),
  );
}

test('words that a program has no more, or has in another order, are found; values and what is typed are not', () => {
  const value = ['$', '{count}'].join('');
  const said = plain(`say('still ${value} streams'); label: 'the upstream\\'s  address'; 'models'; export ${value}=`);
  const gone = (line: string) => goneFrom(said, line);
  expect(gone("await terminal.until('still 8 streams')")).toEqual([]);
  expect(gone("await terminal.until('3/4 the upstream\\'s address (models)')")).toEqual([]);
  expect(gone("await terminal.until('export OPENAI_API_KEY=sk-')")).toEqual([]);
  expect(gone("terminal.type('red fox'); expect(terminal.text()).toContain('red fox')")).toEqual([]);
  expect(gone("add('bad'); await terminal.until('bad is disabled')")).toEqual(['bad is disabled']);
  expect(gone("add('bad'); await terminal.until('bad streams')")).toEqual([]);
  expect(gone("await terminal.until('what now')")).toEqual(['what now']);
  expect(gone('expect(out).toContain(\n  "address of the upstream")')).toEqual(['address of the upstream']);
  expect(gone(`await one.until(\`models: ${value} gone\`)`)).toEqual(['gone']);
});

test('what tests of programs wait for is said by the terminal, the server or the scripts', () => {
  const said = ['cli', 'server', 'db', 'scripts']
    .flatMap((folder) => pathsOf(`${folder}/**/*.{ts,tsx,mjs}`))
    .concat('web/index.html')
    .map(codeOf)
    .join('\n');
  const tests = ['binary', 'programs', 'storage'].flatMap((folder) => pathsOf(`tests/${folder}/**/*.ts`));
  const pieces = tests.flatMap((path) => [...textOf(path).matchAll(awaited)]);
  expect(pieces.length).toBeGreaterThan(100);
  expect(tests.flatMap((path) => goneFrom(said, textOf(path)).map((piece) => `${path}: ${piece}`))).toEqual([]);
});
