import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import manifest from '../../package.json' with { type: 'json' };
import { providers } from '../../server/providers/catalogue.ts';

const root = resolve(import.meta.dirname, '../..');
const lists = ['cli/COMMANDS', 'server/contract/OPTIONS', 'server/providers/PROVIDERS'];
const contributing = readFileSync(join(root, '.github/CONTRIBUTING.md'), 'utf8');
/** The README with the generated lists behind it. */
const withLists = (suffix: string): string =>
  ['README', ...lists].map((name) => readFileSync(join(root, `${name}${suffix}.md`), 'utf8')).join('\n');
const english = withLists('');
const chinese = withLists('.zh');
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '');

/** Everything that stands between backquotes or in a code block, tree drawings and generated defaults aside. */
const code = (text: string): string[] => all(text, /(?<!`)`([^`\n]+)`(?!`)/g);
const blocks = (text: string): string[] => all(text, /```(?:sh|ts)\n([\s\S]*?)```/g);

test('both languages have the same sections, code blocks and rows', () => {
  const outline = (text: string) => all(text, /^(#+) /gm);
  expect(outline(chinese)).toEqual(outline(english));
  expect(blocks(chinese)).toEqual(blocks(english));
  expect(all(chinese, /^\|( )/gm)).toHaveLength(all(english, /^\|( )/gm).length);
});

test('both languages name the same commands, options, files and packages', () => {
  const named = (text: string) =>
    new Set(code(text).filter((part) => !/\p{Script=Han}| in use|is damaged|Set-up code/u.test(part)));
  expect([...named(chinese)].sort()).toEqual([...named(english)].sort());
});

test('both lists of providers name each as the catalogue does', () => {
  for (const { type, slug, label } of providers) {
    expect(english).toContain(`| ${type} | \`${slug}\` | ${label.en} |`);
    expect(chinese).toContain(`| ${type} | \`${slug}\` | ${label.zh} |`);
  }
});

test.each([
  ['README.md', english],
  ['README.zh.md', chinese],
])('%s names only commands, scripts and files that exist', (_file, text) => {
  const texts = [...code(text), ...blocks(text).flatMap((block) => block.split('\n'))];
  const spoken = texts.flatMap((part) => all(part, /^gateway ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/g));
  const known = new Set(commands.map((row) => row.name.split(' ').slice(0, 2).join(' ')));
  expect(spoken.length).toBeGreaterThan(commands.length);
  expect(spoken.filter((name) => !known.has(name) && !known.has(name.split(' ')[0] ?? ''))).toEqual([]);
  const scripts = texts.flatMap((part) => all(part, /^npm (?:run (?:--silent )?)?([a-z][a-z-]*)/g));
  expect(scripts.length).toBeGreaterThan(5);
  expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
  const paths = code(text).filter((part) => /^(cli|server|db|web|scripts|tests)\/[\w./-]+\.(ts|md)$/.test(part));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test.each(['README.md', 'README.zh.md', '.github/CONTRIBUTING.md', 'server/README.md'])(
  'every link of %s leads to a file',
  (file) => {
    const links = all(readFileSync(join(root, file), 'utf8'), /\]\(([^)#\s]+)/g).filter(
      (link) => !link.includes('://'),
    );
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !existsSync(resolve(root, dirname(file), link)))).toEqual([]);
  },
);

test('every dependency is exact and has its line of reason', () => {
  const wanted = { ...manifest.dependencies, ...manifest.devDependencies };
  const table = contributing.slice(contributing.indexOf('## Packages and their reasons'));
  const rows = all(table, /^\| `([^`]+)` \| \S/gm);
  expect(rows.sort()).toEqual(Object.keys(wanted).sort());
  expect(Object.values(wanted).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

test('no lock file or document names where packages are fetched from', () => {
  const lock = readFileSync(join(root, 'bun.lock'), 'utf8');
  expect(all(lock + english + chinese, /(https?:\/\/[^"\s]+\.tgz)/g)).toEqual([]);
});
