/**
 * What each command prints for a site of fixed answers, in a pipe and at a terminal, against texts that a person has read:
 * tests/cli/outlines: at a terminal and as JSON what differs from the pipe, of a flag what is asked besides. The other forms
 * (Chinese, YAML, CSV, identifiers, a refusal) are compared with these, not recorded.
 */
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { topics } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import { printError } from '../../cli/errors.ts';
import { createProgram } from '../../cli/program.ts';
import type { Language } from '../../server/contract/enum.ts';
import { answered } from '../support/answered.ts';
import { done, empty, filled, now } from '../support/answers.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';

/** They start servers and programs, or are about the files of this machine. */
const elsewhere =
  /^(serve|setup|doctor|support|service|mock-upstream|backup (create|restore|list)|db|ledger|secrets|import|exec|bench|upgrade|version|chat)\b/;
const mostLines = 40;
const mostCells = 600;
const unanswered = new Set<string>();
const defects = new Set<string>();
let dir = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-outlines-'));
  fixTimeZone();
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
  writeFileSync(join(dir, 'file'), '{"ModelRatio":{"gpt-4o":3}}');
  writeFileSync(join(dir, 'site.yaml'), 'version: 1\noptions: {SystemName: Ours}\n');
  writeFileSync(join(dir, 'channels.json'), '[{"name":"in","type":1,"key":"sk-x","models":"m"}]');
});
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  rmSync(dir, { recursive: true });
});

interface Run {
  readonly language?: Language;
  readonly isTerminal?: boolean;
  readonly answers?: object;
  readonly refusal?: { readonly message: string; readonly code: string };
}

/** What the command asks and prints, every line of it. */
async function linesOf(
  args: readonly string[],
  { language = 'en', isTerminal = false, answers = filled, refusal }: Run,
): Promise<string[]> {
  const lines: string[] = [];
  let rest = '';
  const said = (mark: string) => (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts)
      lines.push(
        `${mark}${line.replaceAll(dir, 'DIR').replaceAll(process.execPath, 'GATEWAY').replaceAll(` on ${hostname()}`, ' on HOST')}`.trimEnd(),
      );
    return true;
  };
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}) =>
    answered(address, init, {
      answers: { ...done, ...answers },
      refusal,
      onCall: (call) => void lines.push(`  asks ${call}`),
      onUnanswered: (id) => void unanswered.add(id),
    }),
  );
  const stdin = Object.assign(Readable.from(['sk-typed\n']), { isTTY: false }) as unknown as NodeJS.ReadStream;
  const streams = {
    out: { write: said('  | ') },
    err: { write: said('  ! ') },
    outIsTty: isTerminal,
    columns: 120,
    color: isTerminal,
  };
  const env = { HOME: dir, GATEWAY_URL: 'https://site.example', GATEWAY_TOKEN: 'access', TZ: 'UTC' };
  try {
    const program = createProgram({ env, streams, stdin, language }, args);
    const ended = program.parseAsync([...args, '--lang', language, '--data-dir', dir], { from: 'user' });
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error('does not end')), 3000));
    await Promise.race([ended, late]);
  } catch (error) {
    if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
      defects.add(`${args.join(' ')}: ${error}`);
    const exit = printError(error, language, { json: false, debug: false, color: isTerminal }, said('  ! '));
    lines.push(`  ends with ${exit}`);
  }
  if (rest !== '') lines.push(`  | ${rest}`);
  return lines;
}

/** For a person to read: of long lists the beginning and the end, of long lines the beginning. */
function shortened(args: readonly string[], lines: readonly string[]): string[] {
  const left = args[0] === 'help' ? 0 : lines.length - mostLines;
  const cut =
    left <= 0 ? lines : [...lines.slice(0, mostLines - 5), '  … more lines', ...lines.slice(lines.length - 5)];
  return cut
    .map((line) => line.replaceAll('\u001b', '^'))
    .map((line) => (line.length > mostCells ? `${line.slice(0, mostCells)} …` : line));
}

const asks = (lines: readonly string[]) => lines.filter((line) => line.startsWith('  asks '));
const endpointOf = (line: string): string => line.split(' ')[3] ?? '';
const errors = (lines: readonly string[]) => lines.filter((line) => line.startsWith('  ! '));
const exit = (lines: readonly string[]) => lines.find((line) => line.startsWith('  ends with ')) ?? '  ends with 0';
const printed = (lines: readonly string[]) =>
  lines.filter((line) => /^ {2}\|( |$)/.test(line)).map((line) => line.slice(4));

/** A line as it reads, whatever its colours and the width of its columns. */
const plainText = (line: string): string => stripVTControlCharacters(line).replace(/\s+/g, ' ').trim();

/** Its colours are not among those that were seen, to which they are added. */
function isNewColour(line: string, seen: Set<string>): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal reads as colour begins with one
  const colours = line.match(/\u001b\[[\d;]*m/g)?.join('') ?? '';
  if (colours === '' || seen.has(colours)) return false;
  seen.add(colours);
  return true;
}

/** A value for a flag: by its name, or by what it takes. */
function wordsFor(name: string, flag: string): string[] {
  const place = /[<[]([^>\]]+)/.exec(flag)?.[1];
  if (place === undefined) return [];
  const byName: Readonly<Record<string, string>> = {
    '--models': 'gpt-4o,own-model',
    '--model': 'gpt-4o',
    '--user': place === 'id' ? '7' : 'mira',
    '--token': 'ci',
    '--tag': 'main',
    '--group': 'vip',
    '--if-exists': 'skip',
    '--map': 'GroupRatio',
    '--outcome': 'credited',
    '--format': 'jsonl',
    '--scope': 'read',
    '--dialect': 'openai-responses',
    '--type': place === 'name' ? 'error' : 'abc',
    '--provider': 'openai',
    '--slow': '5s',
    '--ended': 'completed',
    '--before': '90d',
    '--channels': 'east,7',
  };
  const byPlace: Readonly<Record<string, string>> = {
    n: '3',
    amount: '5usd',
    when: '30d',
    time: '24h',
    span: '7d',
    seconds: '5',
    json: '{"a":"b"}',
    'on|off': 'on',
    id: '21',
    month: '2026-10',
    status: 'FAILURE',
    url: 'https://new.example',
    list: 'name=east',
    'list...': '10.0.0.1',
    path: join(dir, 'file'),
    'file-or-url': join(dir, 'file'),
    'assignment...': 'ModelRatio.gpt-4o=9',
    code: '429',
    what: 'model',
  };
  return [byName[name] ?? byPlace[place] ?? 'abc'];
}
const nameOf = (flag: string): string => flag.split(/[ ,]+/).find((word) => word.startsWith('--')) ?? '';

/** Words of an example as a shell passes them on, with files that are there, and things that the site has. */
function argsOf(example: string): string[] {
  const line = example.replace(/ [<>|].*$/, '');
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
  if (words[1] === 'tail') words.push('--no-follow');
  if (words[0] === 'top' && !words.includes('--once')) words.push('--once');
  return words
    .filter((word) => word !== '-f' || words[1] !== 'tail')
    .map((word) => {
      if (/^(prices|options)\.json$|^(pw|k|key2\.txt|new-key)$/.test(word)) return join(dir, 'file');
      if (word === 'channels.json') return join(dir, word);
      if (word === 'site.yaml') return join(dir, word);
      if (word === 'main') return 'east';
      if (word === 'ann' || word === 'alice') return 'mira';
      if (word === 'cheap') return 'main';
      return word.replace('tag=cheap', 'tag=main');
    });
}

const rows = commands.filter(({ name }) => !elsewhere.test(name));
const nouns = [...new Set(rows.map(({ name }) => name.split(' ')[0] ?? ''))];

test.each(nouns)('%s', async (noun) => {
  const recorded: string[] = [];
  const compared: (() => Promise<void>)[] = [];
  const colours = new Set<string>();
  const note = (args: readonly string[], title: string, lines: readonly string[]) =>
    void recorded.push(`$ gateway ${args.join(' ').replaceAll(dir, 'DIR')}${title}`, ...shortened(args, lines));
  for (const row of rows.filter(({ name }) => name.split(' ')[0] === noun)) {
    const examples = row.examples.map(argsOf);
    const bySize = [...examples].sort((a, b) => a.length - b.length);
    const bare = bySize.filter((args) => !args.some((word) => /^(--json.*|-q|-o)$/.test(word)));
    const plain = (bare[0] ?? bySize[0] ?? []).filter((word) => word !== '--json');
    const first = bare.at(-1) ?? plain;
    const inPipe = new Set<string>();
    for (const args of examples) {
      const lines = await linesOf(args, {});
      note(args, '', lines);
      for (const line of lines) inPipe.add(plainText(line));
    }
    const atTerminal = await linesOf([...plain, '--yes'], { isTerminal: true });
    note(
      [...plain, '--yes'],
      '   # at a terminal',
      atTerminal.filter((line) => isNewColour(line, colours) || !inPipe.has(plainText(line))),
    );
    const json = [...first, '--yes', '--json'];
    const jsonLines = await linesOf(json, {});
    note(
      json,
      '',
      jsonLines.filter((line) => !inPipe.has(plainText(line))),
    );
    const base = asks(jsonLines);
    for (const { flag } of row.flags ?? []) {
      const name = nameOf(flag);
      if (name === '' || first.includes(name) || /watch|follow/.test(name)) continue;
      const args = [...first, '--yes', name, ...wordsFor(name, flag)];
      const lines = await linesOf(args, {});
      const now = asks(lines);
      const left = base.filter((line) => !now.some((one) => endpointOf(one) === endpointOf(line)));
      const none = errors(lines).length > 0 ? [] : left.map((line) => line.replace('  asks', '  does not ask'));
      note(args, '', [...none, ...now.filter((line) => !base.includes(line)), ...errors(lines)]);
    }
    compared.push(() => otherForms(row.name, plain));
  }
  if (noun === 'help')
    for (const { name } of topics)
      for (const language of ['en', 'zh'] as const)
        note(['help', name], `   # ${language}`, await linesOf(['help', name], { language }));
  expectGolden(`tests/cli/outlines/${noun}.txt`, recorded);
  for (const compare of compared) await compare();
});

/** Words of ours, not names and values: five of them in lower case. */
const isSentence = (line: string): boolean => /(\b[a-z]{2,}\b,? ){4}[a-z]{2,}/.test(line);

/** Runs a command without leaving a trace: what is stored on this machine is as the recorded commands left it. */
async function leavingNoTrace(args: readonly string[], run: Run): Promise<string[]> {
  const kept = `${dir}-kept`;
  cpSync(dir, kept, { recursive: true });
  const lines = await linesOf(args, run);
  rmSync(dir, { recursive: true });
  renameSync(kept, dir);
  return lines;
}

/** Rows of the log, one by one: as the site has stored them, in any language. */
const inLines = /^logs (tail|export)$/;
/** What they print has no identifiers. */
const noIdentifiers = /^(agents|statusline|capabilities|logs export)$/;

async function otherForms(name: string, example: readonly string[]) {
  const plain = example.filter((word) => word !== '-q');
  const form = (...flags: string[]) => leavingNoTrace([...plain, '--yes', ...flags], {});
  const piped = await form();
  const atTerminal = await leavingNoTrace([...plain, '--yes'], { isTerminal: true });

  const inChinese = await leavingNoTrace([...plain, '--yes'], { isTerminal: true, language: 'zh' });
  expect(asks(inChinese), `${name} asks the same in Chinese`).toEqual(asks(atTerminal));
  expect(exit(inChinese), `${name} ends the same in Chinese`).toBe(exit(atTerminal));
  const english = new Set(inLines.test(name) || name === 'capabilities' ? [] : atTerminal.filter(isSentence));
  expect(
    inChinese.filter((line) => english.has(line)),
    `${name} in Chinese`,
  ).toEqual([]);
  expect(piped.join('').includes('\u001b'), `${name} has no colour in a pipe`).toBe(false);

  const json = await form('--json');
  // Of these the recording has what the pipe lacks, and so nothing where they do less.
  const forms = { 'at a terminal': atTerminal, 'as JSON': json };
  for (const [how, lines] of Object.entries(forms)) {
    expect(exit(lines), `${name} ends the same ${how}`).toBe(exit(piped));
    const unasked = asks(piped).filter((line) => !lines.includes(line));
    // As JSON amounts need no currency.
    expect(
      how === 'as JSON' ? unasked.filter((line) => line !== '  asks status.get') : unasked,
      `${name} ${how}`,
    ).toEqual([]);
    if (printed(piped).length > 0) expect(printed(lines), `${name} ${how}`).not.toEqual([]);
  }
  const yaml = await form('-o', 'yaml');
  expect([asks(yaml), exit(yaml)], `${name} asks the same for YAML`).toEqual([asks(json), exit(json)]);
  const jsonText = printed(json).join('\n');
  if (exit(json) === '  ends with 0' && /^[[{"]/.test(jsonText) && !inLines.test(name))
    expect(parse(printed(yaml).join('\n')), `${name} as YAML`).toEqual(JSON.parse(jsonText));

  const quiet = await form('-q');
  expect(exit(quiet), `${name} -q`).toBe(exit(piped));
  expect(noIdentifiers.test(name) ? [] : printed(quiet).filter(isSentence), `${name} -q`).toEqual([]);

  const refused = await leavingNoTrace([...plain, '--yes'], { refusal: { message: 'no', code: 'forbidden' } });
  if (asks(piped).length > 0) {
    expect(exit(refused), `${name}, refused`).not.toBe('  ends with 0');
    expect([errors(refused).length > 0, printed(refused)], `${name}, refused`).toEqual([true, []]);
  }

  const isList = / (list|stat|history|callbacks)$/.test(name);
  if (isList || /(^top| tail)$/.test(name))
    expect(await leavingNoTrace(plain, { answers: empty, isTerminal: true }), `${name} of an empty site`).not.toEqual(
      [],
    );
  if (!isList) return;
  const csv: unknown[] = parseCsv(printed(await form('-o', 'csv')).join('\n'));
  if (jsonText.startsWith('[')) expect(csv.length, `${name} as CSV`).toBe(JSON.parse(jsonText).length + 1);
}

test('nothing is asked that has no answer', () => expect([...unanswered]).toEqual([]));
test('no command fails by a defect of its own', () => expect([...defects]).toEqual([]));
