/** What `--json` answers look like: names and types of fields, recorded once. They may grow and never lose anything. Here because calling every command takes a while. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { nameNumber } from '../../db/ledger/names.ts';
import { openDatabase } from '../../db/open.ts';
import { AppError } from '../../server/contract/errors.ts';
import { startPracticeUpstream } from '../../server/practice/upstream.ts';
import { everywhere, onMachine, printsFile } from '../cli/every-command.ts';
import { createRunner, type Runner } from '../cli/runner.ts';

/** Regenerate with GATEWAY_RECORD_SHAPES=1 after adding fields. */
const recorded = join(import.meta.dirname, 'shapes.json');

let dir: string;
let upstream: ReturnType<typeof startPracticeUpstream>;
let runner: Runner;
const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-shapes-'));
  upstream = startPracticeUpstream({ port: 0, latencyMs: 0, chunks: 2, chunkMs: 0, errorRate: 0, noUsage: false });
  runner = createRunner(dir);
  await runner.run(['setup', '--username', 'root', '--password-file', file('pw', 'password1'), '--mode', 'self']);
  const place = ['--base-url', upstream.url, '--key-file', file('key', 'sk-canary-upstream')];
  await runner.run(['channel', 'add', '--type', 'practice', '--name', 'main', '--tag', 't', ...place]);
  await runner.run(['token', 'create', '--name', 'ci', '--quota', '5usd']);
  await fill();
});
afterAll(async () => {
  await upstream.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Rows that only traffic makes. */
async function fill(): Promise<void> {
  const { query, close } = openDatabase(join(dir, 'data', 'gateway.db'));
  const user = { user_id: 1, token_id: 0, channel_id: 1 };
  const log = { created_at: 1_700_000_000, type: 5, username: 'root', token_name: '', group_name: '', model_name: 'm' };
  const rest = { is_stream: 0, use_time: 7, prompt_tokens: 0, completion_tokens: 0, quota: 0, content: '', other: '' };
  await query
    .insertInto('logs')
    .values({ ...user, ...log, ...rest, request_id: null, usage_source: '', end_reason: 'failed' })
    .execute();
  const task = { user_id: 1, task_id: 'song', platform: 'suno', status: 'SUCCESS', submit_at: 1 };
  const session = { user_id: 1, id: nameNumber(1, 'session', 's-1'), kind: 'session', text: 's-1', day: 1 };
  await query.insertInto('names').values(session).execute();
  await query
    .insertInto('logs')
    .values({ ...user, ...log, ...rest, type: 2, request_id: null, session_id: session.id } as never)
    .execute();
  await query
    .insertInto('tasks')
    .values({ ...task, created_at: 1, updated_at: 1 } as never)
    .execute();
  await query
    .insertInto('drawing_tasks')
    .values({ user_id: 1, mj_id: 'cat', action: 'IMAGINE', status: 'SUCCESS', submit_ms: 1000 } as never)
    .execute();
  const order = { user_id: 1, trade_no: 'x1', method: 'epay', amount: 1, quota: 500_000, money: 100, currency: 'CNY' };
  await query
    .insertInto('top_ups')
    .values({ ...order, status: 'pending', created_at: 1, paid_at: 0 })
    .execute();
  await query
    .insertInto('callbacks')
    .values({ source: 'epay', event_id: 'e', trade_no: 'x1', received_at: 1, outcome: 'x', facts: '{}', body: '' })
    .execute();
  await close();
}

type Shape = string | { readonly [field: string]: Shape };

/** `string`, `number[]`, `{...}`; maps whose names are data (models, options, variables) are told by their values. */
function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return value.length === 0 ? 'array' : { '[]': shapeOf(value[0]) };
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]));
}

/** What is missing of the recorded shape. `null`, empty lists and values may turn into one another. */
function missing(wanted: Shape, found: Shape, path = ''): string[] {
  if (typeof wanted === 'string' || typeof found === 'string')
    return wanted === found || [wanted, found].some((one) => one === 'null' || one === 'array')
      ? []
      : [`${path}: ${JSON.stringify(wanted)} became ${JSON.stringify(found)}`];
  return Object.entries(wanted).flatMap(([name, shape]) => {
    const now = found[name];
    return now === undefined ? [`${path}.${name} is gone`] : missing(shape, now, `${path}.${name}`);
  });
}

/** Names are data. */
const isMap = /^(option (export)|ratios export|env|api)/;
/** They have no JSON answer in this process: they stay, replace it, or need what runs elsewhere. */
const elsewhere = [
  'alert list',
  'alert test',
  'backup run',
  'backup status',
  'serve',
  'service check',
  'mock-upstream',
  'bench',
  'exec',
  'chat',
  'login',
  'token print',
  'program rm',
  'channel balance',
  'db move',
  'node drain',
  'node forget',
  'context use',
  'context rm',
];

test('every command answers with JSON of the recorded shape', async () => {
  const shapes: Record<string, Shape> = {};
  const details = { file, upstream: upstream.url };
  const nameOf = (args: readonly string[]) =>
    commands
      .filter((row) => row.name.split(' ').every((word, index) => args[index] === word))
      .map((row) => row.name)[0] ?? '';
  const more = [
    ['task', 'get', 'song'],
    ['drawing', 'get', 'cat'],
    ['option', 'set', 'invoice.seller_name=Acme'],
    ['payment', 'complete', 'x1', '--yes'],
    ['invoice', 'get', `INV-${new Date().getUTCFullYear()}-000001`],
    ['payment', 'refund', 'x1', '--yes'],
    ['logs', 'explain', '1'],
    ['diff', '-f', file('same.yaml', 'version: 1\n')],
    // Last: the key that the copy was made under is gone.
    ['backup', 'restore', join(dir, 'place.backup'), '--yes'],
  ];
  const dump = file('dump.sql', 'CREATE TABLE `users` (\n  `id` int\n);\nINSERT INTO `users` VALUES (1);\n');
  const fresh = createRunner(join(dir, 'fresh'));
  const imports = [
    ['import', 'new-api', dump, '--dry-run'],
    ['import', 'one-api', dump, '--dry-run'],
    ['import', 'litellm', file('l.yaml', 'model_list: []\n'), '--dry-run'],
  ];
  const failed = new Map<string, string>();
  const check = async (on: Runner, args: readonly string[]): Promise<void> => {
    const name = nameOf(args);
    if (printsFile(args)) return;
    try {
      const text = await on.run([...args, '--json=']);
      const value: unknown =
        name === 'logs export' || name === 'logs tail' ? JSON.parse(text.split('\n')[0] ?? '') : JSON.parse(text);
      const shape = isMap.test(name) ? { map: typeof value } : shapeOf(value);
      // The fullest answer tells most.
      if (JSON.stringify(shape).length > JSON.stringify(shapes[name] ?? '').length) shapes[name] = shape;
    } catch (error) {
      if (!(error instanceof AppError)) throw new Error(`${args.join(' ')}: ${error}`, { cause: error });
      failed.set(name, error.code);
    }
  };
  await runner.run(['option', 'set', 'RetryTimes=4']);
  const [{ id } = { id: 0 }] = await runner.json<{ id: number }[]>(['audit', 'list', '--action', 'option.set']);
  const ofAudit = ['get', 'undo'].map((verb) => ['audit', verb, String(id), '--yes']);
  for (const args of [...ofAudit, ...everywhere(details), ...onMachine(details), ...more]) await check(runner, args);
  for (const args of imports) await check(fresh, args);
  const uncovered = commands
    .map((row) => row.name)
    .filter((name) => shapes[name] === undefined && !elsewhere.includes(name))
    .map((name) => `${name} (${failed.get(name) ?? 'not called'})`);
  expect(uncovered).toEqual([]);
  if (process.env.GATEWAY_RECORD_SHAPES || !existsSync(recorded))
    writeFileSync(recorded, `${JSON.stringify(shapes, null, 2)}\n`);
  const before = JSON.parse(readFileSync(recorded, 'utf8')) as Record<string, Shape>;
  expect(Object.keys(shapes).filter((name) => before[name] === undefined)).toEqual([]);
  expect(Object.entries(before).flatMap(([name, shape]) => missing(shape, shapes[name] ?? 'nothing', name))).toEqual(
    [],
  );
});
