import { Option } from 'commander';
import { expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { complete } from '../../cli/completion.ts';
import { nouns } from '../../cli/globals.ts';
import { commandLine } from '../../cli/parts/command-line.ts';
import { bestMatch } from '../../cli/parts/suggest.ts';
import { asHelpFlag, createProgram, trailingGlobals } from '../../cli/program.ts';
import { runQuery } from '../../cli/query.ts';
import { table } from '../../cli/table.ts';
import { expectGolden } from '../support/golden-file.ts';

/** Each page is made once. */
const pages = new Map<string, Promise<string>>();
const helpOf = (name: string, language: 'zh' | 'en'): Promise<string> => {
  const made = pages.get(`${language} ${name}`) ?? pageOf(name, language);
  pages.set(`${language} ${name}`, made);
  return made;
};
const pageOf = async (name: string, language: 'zh' | 'en'): Promise<string> => {
  let out = '';
  const write = (text: string) => {
    out += text;
  };
  const words = [...name.split(' '), '--help'];
  const streams = { out: { write }, err: { write }, outIsTty: false, columns: 80 };
  const program = createProgram({ env: {}, streams, stdin: process.stdin, language }, words);
  await program.parseAsync(words, { from: 'user' }).catch(() => undefined);
  return out;
};

test.each(commands.map((row) => [row.name, row] as const))(
  '%s: two examples, 80 columns, both languages',
  async (name, row) => {
    expect(row.examples.length).toBeGreaterThanOrEqual(2);
    for (const example of row.examples) expect(example.startsWith(name)).toBe(true);
    const own = new Set((row.flags ?? []).map(({ flag }) => new Option(flag).long));
    const texts = { en: await helpOf(name, 'en'), zh: await helpOf(name, 'zh') };
    for (const text of Object.values(texts)) {
      for (const flag of own) expect(text).toContain(flag);
      for (const line of text.split('\n')) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(80);
    }
    expect(texts.zh).toContain('示例');
    expect(row.zh).toMatch(/\p{Script=Han}/u);
    expect(row.en).not.toMatch(/\p{Script=Han}/u);
  },
);

/** As one line: where lines break, and how wide a column is, is layout. */
const inOneLine = (text: string): string => text.replace(/\s+/g, '');

test.each(commands.map((row) => [row.name, row] as const))(
  'the help of %s says what its row says, in its order, in both languages',
  async (name, row) => {
    for (const language of ['en', 'zh'] as const) {
      const said = inOneLine(await helpOf(name, language));
      const parts = [
        ...(row.argument ?? '').split(' '),
        row[language],
        ...(row.flags ?? []).map((flag) => `${flag.flag}${flag[language]}`),
        ...row.examples.map((example) => `gateway ${example}`),
      ];
      let at = 0;
      for (const part of parts) {
        const found = said.indexOf(inOneLine(part), at);
        expect(found, `${language}: ${part}`).toBeGreaterThanOrEqual(at);
        at = found + inOneLine(part).length;
      }
      const [own = ''] = (await helpOf(name, language)).split(/Every command:|通用：/);
      const listed = [...own.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, long]) => long);
      const flags = (row.flags ?? []).map(({ flag }) => new Option(flag).long);
      expect(listed.filter((long) => long !== '--help')).toEqual(flags);
    }
  },
);

/** One of each shape: many flags, an alias, an argument, several of them, values that are shown when absent. */
const shown = ['channel add', 'channel list', 'channel get', 'channel key disable', 'serve', 'import new-api'];

test('the layout of help', async () => {
  const lines: string[] = [];
  for (const name of shown) {
    const page = (await helpOf(name, 'en')).trimEnd().split('\n');
    // What every command takes stands once, in the help of one.
    const common = page.findIndex((line) => line.includes('Every command:'));
    const examples = page.slice(page.findIndex((line) => line.includes('Examples:')));
    lines.push(
      `$ gateway ${name} --help`,
      ...[...page.slice(0, common), ...examples].map((line) => `  | ${line}`.trimEnd()),
    );
  }
  expectGolden('tests/cli/outlines/local/commands.txt', lines);
});

test('every noun has words, every example is a command that exists', () => {
  for (const { name } of commands) {
    const path = name.split(' ').slice(0, -1);
    for (let depth = 1; depth <= path.length; depth++) expect(nouns).toHaveProperty([path.slice(0, depth).join(' ')]);
  }
  expect(new Set(commands.map((row) => row.name)).size).toBe(commands.length);
});

test('no flag takes a secret', () => {
  for (const { flag } of commands.flatMap((row) => row.flags ?? []))
    expect(flag).not.toMatch(/--(key|password|secret|access-token) /);
});

test('completions: nouns, verbs, flags, keys', async () => {
  expect(await complete(['chan'], {})).toEqual(['channel']);
  expect(await complete(['channel', 'e'], {})).toEqual(['edit', 'enable', 'export']);
  expect(await complete(['channel', 'add', '--key'], {})).toEqual(['--key-file', '--key-mode', '--key-stdin']);
  expect(await complete(['option', 'get', 'RetryT'], {})).toEqual(['RetryTimes']);
  expect(await complete(['user', 'quota', ''], {})).toEqual(['add', 'set']);
});

test.each([
  ['.', { a: 1 }, [{ a: 1 }]],
  ['.[].name', [{ name: 'a' }, { name: 'b' }], ['a', 'b']],
  ['.[] | select(.id == 2) | .name', [{ id: 1 }, { id: 2, name: 'b' }], ['b']],
  ['.[] | select(.name != "a|b") | .id', [{ id: 1, name: 'a|b' }, { id: 2 }], [2]],
  ['.[-1].a.b', [{}, { a: { b: 3 } }], [3]],
  ['length', [1, 2, 3], [3]],
  ['keys', { b: 1, a: 2 }, [['a', 'b']]],
  ['.missing', {}, [null]],
])('--jq %s', (expression, value, found) => {
  expect(runQuery(expression, value)).toEqual(found);
});

test('--jq says what it does not understand', () => {
  expect(() => runQuery('.a + 1', {})).toThrow('--jq');
});

test('tables fit, in cells and not in characters', () => {
  const cells = [['一二三四五六七八九十一二三四五六七八九十', 'x'.repeat(80), 'y']];
  for (const line of table([{ name: 'name' }, { name: 'text' }, { name: 'end' }], cells, {
    maxWidth: 40,
    header: true,
    color: false,
  }))
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(40);
});

test('help on a command is the help of that command; topics stay topics', () => {
  expect(asHelpFlag(['help', 'token', 'create'])).toEqual(['token', 'create', '--help']);
  expect(asHelpFlag(['help', 'exit-codes'])).toEqual(['help', 'exit-codes']);
  expect(asHelpFlag(['help'])).toEqual(['help']);
  expect(asHelpFlag(['token', 'list'])).toEqual(['token', 'list']);
});

test('U.D: columns are left out by importance, numbers and names stay whole', () => {
  const columns = [
    { name: 'id', right: true },
    { name: 'name' },
    { name: 'group', priority: 2 },
    { name: 'used', right: true },
    { name: 'models', priority: 1 },
  ];
  const cells = [['12', 'OpenAI primary', 'default,vip,svip', '$1234.567890', 'gpt-4o,gpt-4o-mini,gpt-5.5']];
  const check = { header: true, color: false };
  expect(table(columns, cells, { maxWidth: 54, ...check }).join('\n')).toContain('OpenAI primary  $1234.567890  gpt');
  const narrow = table(columns, cells, { maxWidth: 40, ...check }).join('\n');
  expect(narrow).toContain('OpenAI primary  $1234.567890');
  expect(narrow).not.toContain('MODELS');
});

test.each([
  [
    ['--data-dir', '/x', 'user', 'quota', 'add', 'ann', '5usd'],
    ['user', 'quota', 'add', '--data-dir', '/x', 'ann', '5usd'],
  ],
  [
    ['--json', 'user', 'list'],
    ['user', 'list', '--json'],
  ],
  [
    ['-q', '--lang=en', 'token', 'list'],
    ['token', 'list', '-q', '--lang=en'],
  ],
  [
    ['--unheard', 'user', 'list'],
    ['--unheard', 'user', 'list'],
  ],
  [
    ['user', 'list'],
    ['user', 'list'],
  ],
])('U.D: flags of every command may stand before it: %j', (given, understood) => {
  expect(trailingGlobals(given)).toEqual(understood);
});

test('U.D: a misspelt type is asked about', () => {
  const slugs = ['openai', 'azure', 'anthropic', 'openrouter'];
  expect(bestMatch('opnai', slugs)).toBe('openai');
  expect(bestMatch('antropic', slugs)).toBe('anthropic');
  expect(bestMatch('nothing-like-it', slugs)).toBeNull();
});

test('a value that begins with a dash stands behind the flags and two dashes in a line that can be run', () => {
  const row = commands.find(({ name }) => name === 'user quota add');
  if (row === undefined) throw new Error('there is no such command');
  expect(commandLine(row, {}, ['ann', '-999usd'], '--yes')).toBe('gateway user quota add --yes -- ann -999usd');
  expect(commandLine(row, { yes: true }, ['ann', '5usd'])).toBe('gateway user quota add ann 5usd --yes');
});
