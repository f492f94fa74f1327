/** What users, upstreams and models write never acts on the operator's terminal, in any command and any format. Here because calling every command takes a while. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { printError } from '../../cli/errors.ts';
import { createProgram } from '../../cli/program.ts';
import { openDatabase } from '../../db/open.ts';
import { csvLine, safeJson, safeText } from '../../server/contract/safe-text.ts';
import { everywhere, onMachine } from '../cli/every-command.ts';

/** Clears a screen, sets a title, both with one byte, rings, turns the writing round, hides. */
const evil = 'x\u001b[2J\u001b]0;owned\u0007\u009b31m\u0085\u202egnp.exe\u2066\u200b\u{e0041}\u007f\r=1+1';
const raw = new RegExp(
  '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]' +
    '|\\r(?!\\n)|[\\u{e0000}-\\u{e007f}]',
  'u',
);
const secretText =
  /(^|_)(name|content|remark|group|tag|prompt|detail|message|title|label|reason|description|note|notice|summary|display_name|username|model_name|token_name|path|user_agent|ip|model|fail_reason|failed_reason|value|before|after|email)$/;
const used = new Set(['root', 'main', 'ci']);

let dir: string;
let upstream: Server;
const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

interface Ran {
  readonly out: string;
  readonly err: string;
}

async function run(args: readonly string[], tty = false): Promise<Ran> {
  let out = '';
  let err = '';
  const program = createProgram(
    {
      env: { HOME: dir, GATEWAY_DATA_DIR: join(dir, 'data') },
      streams: {
        out: { write: (text) => (out += text) },
        err: { write: (text) => (err += text) },
        outIsTty: tty,
        columns: 200,
        color: false,
      },
      stdin: process.stdin,
      language: 'en',
    },
    args,
  );
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    printError(error, 'en', { json: args.includes('--json'), debug: true, color: false }, (text) => (err += text));
  }
  return { out, err };
}

/** Every text that a row of the site has, as far as the row still means something with it. */
async function plant(): Promise<number> {
  const database = openDatabase(join(dir, 'data', 'gateway.db'));
  let planted = 0;
  const tables = database.raw.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
  for (const table of tables.filter(
    (name) => !/^(sqlite_|ledger|postings|migrations|kysely|sessions|changes)/.test(name),
  )) {
    const columns = database.raw.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all() as {
      name: string;
      type: string;
    }[];
    for (const { name, type } of columns.filter((column) => column.type === 'TEXT' && secretText.test(column.name))) {
      expect(type).toBe('TEXT');
      if (table === 'options' && name !== 'value') continue;
      const only =
        table === 'options' ? " AND key IN ('SystemName', 'Notice', 'About', 'Footer', 'HomePageContent')" : '';
      const kept = [...used].map((word) => `'${word}'`).join(', ');
      try {
        planted += Number(
          database.raw
            .prepare(`UPDATE "${table}" SET "${name}" = "${name}" || ? WHERE "${name}" NOT IN (${kept})${only}`)
            .run(evil).changes,
        );
      } catch {
        // A CHECK holds this column to known words.
      }
    }
  }
  await database.close();
  return planted;
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-escapes-'));
  // An upstream that means ill: in its refusals, its list of models and its answers.
  upstream = createServer((request, response) => {
    request.resume().on('end', () => {
      const rejected = request.url?.includes('models') !== true;
      response.writeHead(rejected ? 400 : 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          rejected
            ? { error: { message: `no ${evil}`, type: evil, code: evil } }
            : { data: [{ id: `m${evil}`, object: 'model' }] },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  await run(['setup', '--username', 'root', '--password-file', file('pw', 'password1'), '--mode', 'self']);
  const place = [
    '--base-url',
    `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    '--key-file',
    file('key', 'sk-x'),
  ];
  await run(['channel', 'add', '--type', 'practice', '--name', 'main', '--tag', 't', ...place]);
  await run(['channel', 'add', '--type', 'practice', '--name', 'other', '--tag', 'u', '--remark', 'r', ...place]);
  await run(['token', 'create', '--name', 'ci', '--quota', '5usd']);
  await run(['token', 'create', '--name', 'evil token', '--quota', '5usd']);
  await run(['user', 'create', '--username', 'mallory', '--password-file', file('pw', 'password1')]);
  await run(['redemption', 'create', '--name', 'gift', '--quota', '1usd']);
  for (const key of ['Notice', 'About', 'SystemName', 'Footer']) await run(['option', 'set', `${key}=text`]);
  const database = openDatabase(join(dir, 'data', 'gateway.db'));
  const log = { created_at: 1_700_000_000, type: 5, user_id: 1, username: 'root', content: `upstream ${evil}` };
  const rest = { token_id: 0, token_name: evil, channel_id: 1, group_name: evil, model_name: `m${evil}`, is_stream: 0 };
  const end = { use_time: 7, prompt_tokens: 0, completion_tokens: 0, quota: 0, usage_source: '', end_reason: 'failed' };
  for (const id of ['evil-1', 'evil-2'])
    await database.query
      .insertInto('logs')
      .values({ ...log, ...rest, ...end, request_id: id, other: JSON.stringify({ failure: evil, dropped: [evil] }) })
      .execute();
  await database.close();
  expect(await plant()).toBeGreaterThan(8);
});
afterAll(() => {
  upstream.close();
  rmSync(dir, { recursive: true, force: true });
});

const more = (): readonly (readonly string[])[] => [
  ['logs', 'explain', 'evil-1'],
  ['logs', 'tail', '--lines', '5'],
  ['logs', 'export', '--format', 'csv'],
  ['channel', 'get', '2'],
  ['token', 'get', '2'],
  ['user', 'get', '2'],
  ['redemption', 'get', '1'],
  ['option', 'get', 'Notice'],
  ['option', 'list'],
  ['model', 'explain', `m${evil}`],
  ['route', 'explain', `m${evil}`],
  ['channel', 'models', '2', '--fetch'],
  ['channel', 'test', '2'],
  ['channel', 'get', `no ${evil}`],
  [`no ${evil}`],
  ['token', 'list', `--no-${evil}`],
  ['api', 'GET', '/api/log/?p=1'],
];

test('no command lets a control character through, in any format', { timeout: 1_800_000 }, async () => {
  const chosen = more();
  const calls = [
    ...chosen,
    ...everywhere({ file, upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` }),
    ...onMachine({ file, upstream: 'http://127.0.0.1:1' }),
  ];
  const reached = new Set<string>();
  for (const args of calls) {
    const formats = [
      [],
      ['--json'],
      ...(chosen.includes(args) ? [['-o', 'csv'], ['-o', 'yaml'], ['-o', 'jsonl'], ['-q']] : []),
    ];
    for (const format of formats) {
      const { out, err } = await run([...args, ...format], format.length === 0);
      const said = JSON.stringify([...args, ...format]);
      expect(raw.exec(out)?.[0], `${said} on stdout: ${JSON.stringify(out.slice(0, 300))}`).toBeUndefined();
      expect(raw.exec(err)?.[0], `${said} on stderr: ${JSON.stringify(err.slice(0, 300))}`).toBeUndefined();
      if (/owned/.test(out + err)) reached.add(args.slice(0, 2).join(' '));
    }
  }
  // The test would be worth nothing if the texts did not come through at all.
  for (const command of [
    'logs explain',
    'logs tail',
    'logs export',
    'channel get',
    'user get',
    'redemption get',
    'option get',
    'channel test',
  ])
    expect([...reached], command).toContain(command);
});

test('JSON loses nothing, and the tail of the log is the same text', async () => {
  const { out } = await run(['option', 'get', 'Notice', '--json']);
  expect(out).toContain('\\u009b');
  expect(JSON.stringify(JSON.parse(out))).toContain(JSON.stringify(evil).slice(1, -1));
  expect(JSON.parse(safeJson({ [evil]: [evil, '👩‍👩‍👧 می‌خواهم'] }))).toEqual({ [evil]: [evil, '👩‍👩‍👧 می‌خواهم'] });
  const yaml = await run(['option', 'get', 'Notice', '-o', 'yaml']);
  expect(JSON.stringify(Bun.YAML.parse(yaml.out))).toContain('owned');
});

test('emoji and scripts keep their joiners, names lose theirs', () => {
  expect(safeText('👩‍👩‍👧 می‌خواهم 通知\n\tok')).toBe('👩‍👩‍👧 می‌خواهم 通知\n\tok');
  expect(safeText('ad\u200dmin ro\u200cot')).toBe('ad min ro ot');
});

test.each([
  ['=1+1', "'=1+1"],
  [' =1+1', "' =1+1"],
  ['-2+3', "'-2+3"],
  ['-2.5', '-2.5'],
  ['+1', "'+1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1', "'＝1"],
  ['\t=1', "'\t=1"],
  ['a,"b"', '"a,""b"""'],
  ['a\u001b[2Jb', 'a [2Jb'],
])('a spreadsheet gets %j as %j', (text, field) => {
  expect(csvLine([text])).toBe(field);
});
