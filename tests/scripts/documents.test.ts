/** Documents: both languages say the same, and what they name exists. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { globals } from '../../cli/globals.ts';
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

/** Documents that are written by hand: all but the generated lists, and the changelog, which names what is gone. */
const generated = /^CHANGELOG\.md$|COMMANDS|OPTIONS|PROVIDERS|cli\/AGENTS/;
const documents = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !generated.test(file));
const folders = new Set(readdirSync(root));
const sourceFiles = execFileSync(
  'git',
  ['ls-files', 'server', 'cli', 'db', 'web', 'scripts', 'tests', '.ci', '.github'],
  {
    cwd: root,
    encoding: 'utf8',
  },
).split('\n');
const words = new Map(commands.map((row) => [row.name, row]));
const flagNames = (flags: readonly { readonly flag: string }[]): string[] =>
  flags.flatMap(({ flag }) => all(flag, /(--?[a-z][a-z-]*)/g));
const everywhere = [...flagNames(globals), '--no-color', '--help', '-h', '--version'];

/** What a build writes. */
const ignored = /^(dist|\.cache|node_modules|screenshots)(\/|$)/;

/** Names of today's code: tests excepted, which may quote what is gone. */
const sources = sourceFiles
  .filter((file) =>
    /^(server|cli|db|web|scripts|\.ci)\/.*(?:\.(?:tsx?|mjs|sh|ya?ml|service|container)|run|newcomer)$/.test(file),
  )
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n');
/** Each variable may also name a file that holds its value. */
const isInSources = (name: string): boolean => new RegExp(`\\b${name.replace(/_FILE$/, '')}\\b`).test(sources);

/** What a document has between backquotes, and the lines of its code blocks. */
function codeOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const inBlocks = all(text, /```(?:sh|console)?\n([\s\S]*?)```/g).flatMap((block) =>
    block.replace(/\\\n/g, '').split('\n'),
  );
  return [...code(text.replace(/```[\s\S]*?```/g, '')), ...inBlocks];
}

/** The part of a line that calls the gateway, up to a pipe or a comment; null = it calls something else. */
const called = (line: string): string | null =>
  /(?:^|[|;&(] ?|\b[A-Z_]+=\S+ |sudo |exec )(?:dist\/)?gateway ([^|#&;)]*)/.exec(line)?.[1] ?? null;

test.each(documents)('%s: each command, flag, script, path and link exists', (file) => {
  const wrong: string[] = [];
  for (const line of codeOf(file)) {
    const call = called(line);
    if (call !== null) {
      const given = call.split(/\s+/).filter((word) => word !== '');
      const name = [3, 2, 1].map((size) => given.slice(0, size).join(' ')).find((each) => words.has(each));
      const isNoun =
        [...words.keys()].some((each) => each.startsWith(`${given[0]} `)) && !/^[a-z][a-z-]*$/.test(given[1] ?? '');
      const row = name === undefined ? undefined : words.get(name);
      if (row === undefined && !isNoun && /^[a-z]/.test(given[0] ?? '') && given[0] !== 'help')
        wrong.push(`gateway ${call}`);
      // What follows `--` is another program's.
      const own = given.includes('--') ? given.slice(0, given.indexOf('--')) : given;
      const known = row === undefined ? null : [...flagNames(row.flags ?? []), ...everywhere];
      for (const flag of own.flatMap((word) => all(word, /^(--[a-z][a-z-]*)/g)))
        if (known !== null && !known.includes(flag)) wrong.push(`gateway ${name} ${flag}`);
    }
    for (const script of all(line, /\bnpm run (?:--silent )?([a-z][a-z-]*)/g))
      if (!(script in manifest.scripts)) wrong.push(`npm run ${script}`);
    for (const script of all(line, /\blaunch\.mjs ([a-z][a-z/-]*[a-z])(?![a-z/-]*[A-Z])/g))
      if (!existsSync(join(root, 'scripts', `${script}.ts`))) wrong.push(`launch.mjs ${script}`);
    const path = /^(?:bun )?((?:[\w.-]+\/)+[\w.-]*)(?::\d+)?$/.exec(line)?.[1];
    const first = path?.split('/')[0] ?? '';
    const own = dirname(file);
    const inFolder = own !== '.' && existsSync(join(root, own, first));
    if (path !== undefined && (folders.has(first) || inFolder)) {
      const found = [own, '.'].some((place) => existsSync(join(root, place, path)));
      if (!found && !ignored.test(path)) wrong.push(path);
    }
    const name = /^([\w-]+\.(?:test\.)?tsx?)$/.exec(line)?.[1];
    if (name !== undefined && !sourceFiles.some((each) => each.endsWith(`/${name}`))) wrong.push(name);
  }
  const names = codeOf(file).flatMap((line) => [
    ...all(line, /\b(GATEWAY_[A-Z_]+)\b/g),
    ...(/^#?[A-Z]?[a-zA-Z]+(?:\.[a-zA-Z]+)+(?:\(\))?$/.test(line) && !/\.(?:[a-z]{2,4}|json|yaml)$/.test(line)
      ? line.replace('()', '').split('.')
      : []),
  ]);
  wrong.push(...new Set(names.filter((name) => !isInSources(name))));
  const links = all(readFileSync(join(root, file), 'utf8'), /\]\(([^)#\s]+)/g).filter((link) => !link.includes(':'));
  for (const link of links) if (!existsSync(resolve(root, dirname(file), link))) wrong.push(`](${link})`);
  expect(wrong).toEqual([]);
});

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
