import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wantsColor } from '../../cli/color.ts';
import { table } from '../../cli/table.ts';
import { openDatabase } from '../../db/open.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let data: string;
let runner: Runner;
let key: string;
let upstream: ReturnType<typeof Bun.serve>;

const answers: Readonly<Record<string, unknown>> = {
  '/v1/models': { data: [{ id: 'm-1' }, { id: 'm-2' }] },
  '/v1/dashboard/billing/subscription': { hard_limit_usd: 20, has_payment_method: true },
  '/v1/dashboard/billing/usage': { total_usage: 750 },
};

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-verbs-'));
  data = join(dir, 'data');
  runner = createRunner(dir);
  key = file('key', 'sk-canary');
  upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => Response.json(answers[new URL(request.url).pathname] ?? {}),
  });
  await runner.run(['setup', '--username', 'root', '--password-file', file('pw', 'password1'), '--mode', 'self']);
  for (const name of ['one', 'two', 'three']) {
    const place = ['--base-url', `http://127.0.0.1:${upstream.port}`, '--key-file', key, '--tag', 't'];
    await runner.run(['channel', 'add', '--type', 'openai', '--name', name, '--models', 'm-0', ...place]);
  }
});
afterAll(async () => {
  await upstream.stop(true);
  rmSync(dir, { recursive: true, force: true });
});

const field = async (name: string, wanted: string): Promise<unknown> =>
  ((await runner.json(['channel', 'get', name])) as Record<string, unknown>)[wanted];

test('channels: the models that the upstream offers, stored on request; its remaining balance', async () => {
  expect(await runner.run(['channel', 'models', 'one'])).toBe('m-0');
  expect(await runner.run(['channel', 'models', 'one', '--fetch'])).toBe('m-1\nm-2');
  expect(await field('one', 'models')).toBe('m-0');
  await runner.run(['channel', 'models', 'one', '--set']);
  expect(await field('one', 'models')).toBe('m-1,m-2');
  expect(await runner.json(['channel', 'balance', 'one', 'two'])).toMatchObject([
    { name: 'one', result: '$12.50' },
    { name: 'two', result: '$12.50' },
  ]);
});

test('channels are edited together; a dry run leaves everything as it is', async () => {
  const change = ['channel', 'edit', '--filter', 'tag=t', '--priority', '9'];
  expect(await runner.json([...change, '--dry-run'])).toHaveLength(3);
  expect(await field('two', 'priority')).toBe(0);
  expect(await runner.json(change)).toHaveLength(3);
  expect(await field('two', 'priority')).toBe(9);
  expect(await runner.json(['channel', 'edit', 'two', '--mapping', `@${file('map', '{"m-0":"x"}')}`])).toMatchObject({
    model_mapping: '{"m-0":"x"}',
  });
  await expect(runner.run(['channel', 'edit', '--priority', '1'])).rejects.toMatchObject({ code: 'input_needed' });
  await expect(runner.run(['channel', 'edit', 'two', '--mapping', '@nowhere'])).rejects.toMatchObject({
    code: 'usage',
  });
});

test('options come in as lines; a line without a name is passed over', async () => {
  await runner.run(['option', 'import', file('lines', '# texts\n=nothing\nFooter=two\n')]);
  expect(await runner.run(['option', 'get', 'Footer'])).toContain('two');
});

test('--dry-run on every verb for several things: said, not done, not asked', async () => {
  await runner.run(['token', 'create', '--name', 'ci']);
  await runner.run(['user', 'create', '--username', 'ann', '--password-file', file('pw', 'password1')]);
  await runner.run(['redemption', 'create', '--quota', '1usd', '--name', 'gift']);
  await runner.run(['redemption', 'disable', '1']);
  await runner.run(['option', 'set', 'ModelRatio={"m-0":2}']);
  const before = await snapshot();
  for (const args of [
    ['channel', 'disable', '--all'],
    ['channel', 'enable', '--all'],
    ['channel', 'rm', '--all'],
    ['channel', 'import', file('in.json', '[{"name":"n","type":1,"key":"k"}]')],
    ['tag', 'disable', 't'],
    ['tag', 'rm', 't'],
    ['tag', 'edit', 't', '--priority', '3'],
    ['token', 'disable', 'ci'],
    ['token', 'rm', 'ci'],
    ['user', 'disable', 'ann'],
    ['user', 'rm', 'ann'],
    ['redemption', 'enable', '1'],
    ['redemption', 'rm', '1'],
    ['redemption', 'prune'],
    ['logs', 'prune', '--before', '1d'],
    ['ratios', 'reset'],
  ])
    expect((await runner.run([...args, '--dry-run'])).length, args.join(' ')).toBeGreaterThan(0);
  expect(await snapshot()).toEqual(before);
  expect(await runner.json(['redemption', 'prune', '--dry-run'])).toMatchObject({ would_remove: 1 });
  expect(await runner.json(['redemption', 'prune', '--yes'])).toMatchObject({ removed: 1 });
});

async function snapshot() {
  const { raw } = openDatabase(join(data, 'gateway.db'), { readonly: true });
  const rows = ['channels', 'tokens', 'users', 'redemptions', 'options', 'logs', 'price_versions'].map((name) =>
    raw.prepare(`SELECT * FROM ${name}`).all(),
  );
  raw.close();
  return rows;
}

test('prices go out as JSON and as CSV and come in again without a change', async () => {
  await runner.run(['option', 'set', 'ModelRatio={"m-0":2,"m, \\"1\\"":3}']);
  await runner.run(['ratios', 'set', 'GroupRatio', 'vip=0.5']);
  const json = file('prices.json', await runner.run(['ratios', 'export']));
  const csv = file('prices.csv', await runner.run(['ratios', 'list', '-o', 'csv']));
  for (const from of [json, csv]) expect(await runner.json(['ratios', 'import', from, '--yes'])).toEqual([]);
  await runner.run(['ratios', 'set', 'ModelRatio', 'm-0=7']);
  await runner.run(['ratios', 'set', 'GroupRatio', 'vip=0.9']);
  for (const from of [json, csv]) {
    const changes = await runner.json(['ratios', 'import', from, '--dry-run']);
    expect(changes).toEqual([
      { key: 'ModelRatio', name: 'm-0', before: '7', after: '2' },
      { key: 'GroupRatio', name: 'vip', before: '0.9', after: '0.5' },
    ]);
  }
  await expect(runner.run(['ratios', 'import', csv])).rejects.toMatchObject({ code: 'input_needed' });
  await runner.run(['ratios', 'import', csv, '--yes']);
  expect(await runner.json(['ratios', 'get', 'm-0'])).toMatchObject({ ModelRatio: 2 });
  await expect(runner.run(['ratios', 'import', file('bad', 'map,name,ratio\na,b,c')])).rejects.toMatchObject({
    code: 'usage',
  });
  expect(await runner.run(['ratios', 'unset-models'])).toBe(await runner.run(['ratios', 'unset']));
});

test('a single drawing or task is shown by its id, and an unknown id is not found', async () => {
  const database = openDatabase(join(data, 'gateway.db'));
  const task = { user_id: 1, task_id: 'song', platform: 'suno', status: 'SUCCESS', submit_at: 1 };
  await database.query
    .insertInto('tasks')
    .values({ ...task, created_at: 1, updated_at: 1 } as never)
    .execute();
  const drawing = { user_id: 1, mj_id: 'cat', action: 'IMAGINE', status: 'SUCCESS', submit_ms: 1000 };
  await database.query
    .insertInto('drawing_tasks')
    .values(drawing as never)
    .execute();
  await database.close();
  expect(await runner.json(['task', 'get', 'song'])).toMatchObject({ task_id: 'song', platform: 'suno' });
  expect(await runner.json(['drawing', 'get', 'cat'])).toMatchObject({ mj_id: 'cat', action: 'IMAGINE' });
  for (const noun of ['task', 'drawing'])
    await expect(runner.run([noun, 'get', 'x'])).rejects.toMatchObject({ code: 'not_found' });
});

test('the database is looked at without being brought up to date or made', async () => {
  expect(await runner.json(['db', 'status'])).toMatchObject({ schema: expect.stringMatching(/^0/), server: null });
  const empty = createRunner(join(dir, 'empty'));
  expect(await empty.json(['db', 'status'])).toMatchObject({ schema: '', bytes: 0 });
  expect(existsSync(join(dir, 'empty', 'data', 'gateway.db'))).toBe(false);
});

test('doctor repairs what others may read', async () => {
  const secret = join(data, 'secret.key');
  chmodSync(secret, 0o644);
  await expect(runner.run(['doctor'])).rejects.toMatchObject({ code: 'check_failed' });
  expect(await runner.run(['doctor', '--fix'])).toContain('data directory');
  expect(statSync(secret).mode & 0o777).toBe(0o600);
});

test('doctor speaks the reader’s language', async () => {
  const found = async (language: 'zh' | 'en'): Promise<string[]> => {
    const rows: { check: string; detail: string }[] = await createRunner(dir, {}, [], language).json(['doctor']);
    return rows.filter(({ check }) => ['disk', 'server', 'backups'].includes(check)).map(({ detail }) => detail);
  };
  expect((await found('zh')).map((detail) => /\p{Script=Han}/u.test(detail))).toEqual([true, true, true]);
  expect((await found('en')).map((detail) => /\p{Script=Han}/u.test(detail))).toEqual([false, false, false]);
});

test.each([
  ['bash', '.local/share/bash-completion/completions/gateway'],
  ['zsh', '.zfunc/_gateway'],
  ['fish', '.config/fish/completions/gateway.fish'],
])('completion for %s is written to the home folder', async (shell, place) => {
  const printed = await runner.run(['completion', shell]);
  const said = await runner.run(['completion', shell, '--install']);
  expect(said).toBe(join(dir, place));
  expect(readFileSync(said, 'utf8').trimEnd()).toBe(printed);
});

test.each([
  [undefined, {}, true, true],
  [undefined, {}, false, false],
  [undefined, { NO_COLOR: '1' }, true, false],
  [undefined, { TERM: 'dumb' }, true, false],
  [undefined, { CLICOLOR: '0' }, true, false],
  [undefined, { CLICOLOR_FORCE: '1' }, false, true],
  [undefined, { FORCE_COLOR: '0' }, true, false],
  ['always', { NO_COLOR: '1' }, false, true],
  ['never', { CLICOLOR_FORCE: '1' }, true, false],
] as const)('colour: --color %s, %j, terminal %s: %s', (when, env, isTty, wanted) => {
  expect(wantsColor(when, env, isTty)).toBe(wanted);
});

test('colour adds nothing but escapes, and leaves the widths alone', () => {
  const columns = [{ name: 'result' }, { name: 'name' }];
  const cells = [
    ['ok', 'first'],
    ['FAILED', 'second'],
  ];
  const plain = table(columns, cells, { maxWidth: 40, header: true, color: false });
  const painted = table(columns, cells, { maxWidth: 40, header: true, color: true });
  expect(painted).not.toEqual(plain);
  expect(painted.map((line) => Bun.stripANSI(line))).toEqual(plain);
});

test('model explain: what a model takes somewhere, what is changed in requests, and who says so', async () => {
  const output = await runner.run(['model', 'explain', 'mistral-large-latest', '--provider', 'mistral']);
  expect(output).toContain('output limit (tokens)');
  expect(output).toMatch(/seed \(openai-chat\) becomes random_seed +https:/);
  const [channel] = (await runner.json(['channel', 'list'])) as { id: number }[];
  expect(await runner.json(['model', 'explain', 'gpt-5', '--channel', String(channel?.id)])).toMatchObject({
    model: 'gpt-5',
    provider: 'openai',
    facts: expect.arrayContaining([expect.objectContaining({ member: 'limitMember', value: 'max_completion_tokens' })]),
  });
  // What has several members is told member by member.
  const grok = await runner.run(['model', 'explain', 'grok-4.6', '--provider', 'xai']);
  expect(grok).toContain('thinking that no limit counts: most 32768');
  expect(grok).toContain('words for effort: low medium high xhigh');
  await expect(runner.run(['model', 'explain', 'm', '--provider', 'nowhere'])).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('ratios sync: an address that answers an error is no price list', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => new Response('{"m-0":9}', { status: url.endsWith('/gone') ? 404 : 200 }),
  });
  try {
    const from = (path: string) => ['ratios', 'sync', '--from', `http://127.0.0.1:${server.port}${path}`, '--yes'];
    await expect(runner.run(from('/gone'))).rejects.toMatchObject({ code: 'usage', params: { detail: /HTTP 404/ } });
  } finally {
    await server.stop(true);
  }
});

test('redemption codes: made with an expiry, changed to another', async () => {
  await runner.run(['redemption', 'create', '--quota', '1usd', '--name', 'short', '--expires', '1h']);
  const [code] = (await runner.json(['redemption', 'list', '--search', 'short'])) as [
    { id: number; expired_time: number },
  ];
  const id = String(code.id);
  const hour = Math.floor(Date.now() / 1000) + 3600;
  expect(Math.abs(code.expired_time - hour)).toBeLessThan(60);
  await expect(runner.run(['redemption', 'edit', id, '--expires', '2001-01-01'])).rejects.toMatchObject({
    code: 'usage',
  });
  await runner.run(['redemption', 'edit', id, '--expires', 'never']);
  expect(await runner.json(['redemption', 'get', id])).toMatchObject({ expired_time: 0 });
  expect(await runner.run(['redemption', 'get', id])).toContain('expires: never');
  await runner.run(['redemption', 'edit', id, '--expires', '2d', '--name', 'longer']);
  expect(await runner.json(['redemption', 'get', id])).toMatchObject({ name: 'longer' });
});
