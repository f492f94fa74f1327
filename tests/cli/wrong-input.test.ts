/** What is typed wrong, left out or aimed at nothing: said in words, in both languages, and without a guess. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { printError } from '../../cli/errors.ts';
import { AppError, formatError } from '../../server/contract/errors.ts';
import { createRunner } from './runner.ts';

let dir: string;
const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-wrong-'));
  const password = file('password', 'password1');
  await run(['setup', '--username', 'root', '--password-file', password]);
  await run(['user', 'create', '--username', 'user1', '--password-file', password]);
  await run(['channel', 'add', '--type', 'practice', '--name', 'au', '--key-file', file('key', 'sk-1')]);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const run = (args: readonly string[], language: 'zh' | 'en' = 'en') => createRunner(dir, {}, [], language).run(args);
const failure = async (args: readonly string[], language: 'zh' | 'en' = 'en'): Promise<AppError> => {
  const error = await run(args, language).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error, args.join(' ')).toBeInstanceOf(AppError);
  return error as AppError;
};
const words = ({ code, params }: AppError, language: 'zh' | 'en') => formatError(code, params, language);

test.each([
  [['user', 'quota', 'add', 'user1', '-500000'], 'gateway user quota add --data-dir DIR --yes -- user1 -500000'],
  [['redemption', 'prune'], 'gateway redemption prune --data-dir DIR --yes'],
  [['token', 'create', '--rpm', '5'], 'gateway token create --rpm 5 --data-dir DIR --name TEXT'],
  [['channel', 'add', '--name', 'new one'], "gateway channel add --name 'new one' --data-dir DIR --key-stdin < FILE"],
  [['user', 'quota', 'add', 'user1'], 'gateway user quota add user1 AMOUNT --data-dir DIR'],
  [['channel', 'test'], 'gateway channel test ID --data-dir DIR'],
])('the hint is the command that was typed with what it lacks: %o', async (args, expected) => {
  const error = await failure(args);
  expect(error.code).toBe('input_needed');
  expect(String(error.params.example).replace(join(dir, 'data'), 'DIR').replace(' --lang en', '')).toBe(expected);
});

test('a missing argument is a usage error with usage and example, as JSON and in Chinese too', async () => {
  const error = await failure(['channel', 'get']);
  expect(error).toMatchObject({
    code: 'usage',
    params: { usage: 'gateway channel get <id>', example: expect.stringMatching(/^gateway channel get \S/) },
  });
  expect(words(error, 'en')).toBe('Usage error: missing argument id');
  expect(words(error, 'zh')).toBe('用法错误：缺少参数 id');
  let json = '';
  expect(printError(error, 'en', { json: true, debug: false, color: false }, (text) => (json += text))).toBe(2);
  expect(JSON.parse(json)).toMatchObject({ error: { code: 'usage', usage: 'gateway channel get <id>' } });
  let plain = '';
  printError(error, 'zh', { json: false, debug: false, color: false }, (text) => (plain += text));
  expect(plain).toMatch(/^错误：.*\n {2}用法：gateway channel get <id>\n {2}例如：gateway channel get /);
});

test.each([
  [['chanel', 'list'], 'unknown command chanel, did you mean channel?', '未知的命令 chanel，是否指 channel'],
  [
    ['channel', 'list', '--filtre', 'x'],
    'unknown option --filtre, did you mean --filter?',
    '未知的选项 --filtre，是否指 --filter',
  ],
])('what the parser does not know is said in both languages: %o', async (args, en, zh) => {
  const error = await failure(args);
  expect(words(error, 'en')).toBe(`Usage error: ${en}`);
  expect(words(error, 'zh')).toBe(`用法错误：${zh}`);
  expect(error.row.exit).toBe(2);
});

test('a suggestion names the provider or option that was probably meant', async () => {
  const type = await failure(['channel', 'add', '--name', 'x', '--type', 'opnai', '--key-file', join(dir, 'key')]);
  expect(words(type, 'en')).toMatch(/--type opnai: did you mean openai\? There are: .*anthropic/);
  expect(words(type, 'en')).not.toContain('channel types');
  expect((await failure(['option', 'set', 'RetryTime=3'])).params).toMatchObject({
    key: 'RetryTime',
    example: 'gateway option describe RetryTimes',
  });
});

test('a field that does not exist is refused with the fields there are', async () => {
  const error = await failure(['channel', 'list', '--json=nope']);
  expect(words(error, 'en')).toMatch(/--json=nope: there is no such field; there are: id, .*name/);
  expect(JSON.parse(await run(['channel', 'list', '--json=id,name']))).toEqual([{ id: 1, name: 'au' }]);
});

test('an empty key changes nothing and says so', async () => {
  const error = await failure(['channel', 'edit', 'au', '--key-file', file('empty', '\n')]);
  expect(error.row.exit).toBe(2);
  expect(words(error, 'en')).toMatch(/--key-file .*: it is empty, nothing was changed/);
  expect(words(error, 'zh')).toMatch(/没有收到内容/);
});

test.each([
  ['--quota', '-5'],
  ['--quota', 'abc'],
  ['--quota', '5eur'],
  ['--day-budget', '1,00'],
  ['--rpm', '-5'],
  ['--rpm', '12.7'],
  ['--expires', '2026-02-30'],
  ['--expires', '2001-01-01'],
  ['--expires', '12'],
])('%s %s is refused and no key is made', async (flag, given) => {
  const error = await failure(['token', 'create', '--name', 'bad', flag, given]);
  expect(error.code).toBe('usage');
  expect(words(error, 'en')).toContain(`${flag} ${given}: `);
  expect(words(error, 'zh')).toMatch(/\p{Script=Han}{2}/u);
  expect(JSON.parse(await run(['token', 'list', '--json']))).toEqual([]);
});

test.each([
  [['--quota', '1,000,000'], { remain_quota: 1_000_000, unlimited_quota: false }],
  [['--quota', '$5'], { remain_quota: 2_500_000 }],
  [['--quota', '5.5 usd'], { remain_quota: 2_750_000 }],
  [['--quota', '1e6'], { remain_quota: 1_000_000 }],
  [['--quota', 'Unlimited'], { unlimited_quota: true }],
  [['--quota', '不限'], { unlimited_quota: true }],
  [['--day-budget', '￥5'], null],
  [['--day-budget', 'unlimited'], { day_budget: 0 }],
  [['--tpm', '100k', '--rpm', '６０'], { tpm_limit: 100_000, rpm_limit: 60 }],
])('amounts of a key as people write them: %o', async (flags, expected) => {
  const args = ['token', 'create', '--name', 'x', ...flags, '--json'];
  if (expected === null) return void expect(words(await failure(args), 'en')).toMatch(/in USD/);
  const made = JSON.parse(await run(args)) as { id: number };
  expect(made).toMatchObject(expected);
  await run(['token', 'rm', String(made.id), '--yes']);
});

test('a server elsewhere is never described by this machine', async () => {
  const server = Bun.serve({ port: 0, fetch: () => Response.json({ hello: 1 }) });
  const there = createRunner(dir, {}, ['--url', server.url.origin]);
  try {
    await expect(there.run(['db', 'status'])).rejects.toMatchObject({ code: 'usage' });
    await expect(there.run(['db', 'path'])).rejects.toMatchObject({ code: 'usage' });
    // Something answers that is no gateway.
    const error = await there.run(['channel', 'list']).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'server_unreachable', row: { exit: 7 } });
    expect(words(error as AppError, 'en')).toMatch(/no gateway answers there/);
    const checks = (await there.run(['doctor']).catch(String)) as string;
    expect(checks).not.toContain('data directory');
  } finally {
    await server.stop(true);
  }
});

test.each([
  ['http://127.0.0.1:1', 'connection refused', '连接被拒绝'],
  ['http://no-such-host.invalid', 'could not be resolved', '无法解析主机名'],
])('%s: why it cannot be reached', async (url, en, zh) => {
  const there = createRunner(dir, {}, ['--url', url]);
  const error = (await there.run(['channel', 'list']).catch((thrown: unknown) => thrown)) as AppError;
  expect(error.row.exit).toBe(7);
  expect(words(error, 'en')).toContain(en);
  expect(words(error, 'zh')).toContain(zh);
  expect(words(error, 'en')).not.toMatch(/typo|able to access|fetch\(\)/);
});

test('the environment of a key names the address that the server listens on', async () => {
  writeFileSync(join(dir, 'data', 'gateway.url'), 'http://127.0.0.1:41721\n');
  try {
    const printed = await run(['token', 'create', '--name', 'env', '-o', 'env']);
    expect(printed).toContain('OPENAI_BASE_URL=http://127.0.0.1:41721/v1');
  } finally {
    rmSync(join(dir, 'data', 'gateway.url'));
    await run(['token', 'rm', 'env', '--yes']);
  }
});

test('one thing is shown in words: states, amounts and times, in Chinese with Chinese names', async () => {
  const user = await run(['user', 'get', 'root'], 'zh');
  expect(user).toMatch(/角色 +超级管理员/);
  expect(user).toMatch(/状态 +已启用/);
  expect(user).toMatch(/余额 +\$200\.00/);
  expect(user).not.toMatch(/DeletedAt|quota/);
  const channel = await run(['channel', 'get', 'au']);
  expect(channel).toMatch(/^type +practice$/m);
  expect(channel).toMatch(/^created_time +\d{4}-\d\d-\d\dT/m);
  expect(await run(['status'], 'zh')).toMatch(/数据目录 +\//);
});

test('every check of doctor has its name, also where it fails', async () => {
  const found = JSON.parse(await run(['doctor', '--json'])) as { check: string }[];
  expect(found.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      'data directory',
      'disk',
      'server',
      'storage',
      'database',
      'channels',
      'prices',
      'backups',
    ]),
  );
  expect(await run(['doctor'], 'zh')).toMatch(/\t数据目录\t/);
  const gone = createRunner(dir, { GATEWAY_TOKEN: 'no-token' }, ['--url', 'http://127.0.0.1:1']);
  const error = (await gone.run(['doctor']).catch((thrown: unknown) => thrown)) as AppError;
  expect(words(error, 'en')).toBe(
    'Check failed: storage, leases, channels, traffic, prices, chains, keys, programs, budgets, backups',
  );
});

test('a port that is none is named with where it came from', async () => {
  const error = (await createRunner(dir, { GATEWAY_PORT: 'abc' })
    .run(['serve'])
    .catch((thrown: unknown) => thrown)) as AppError;
  expect(words(error, 'en')).toMatch(/^Usage error: GATEWAY_PORT abc: /);
});

test.each(['classes=', 'after=', 'agent_types=', 'group=', 'channel=', 'prompt_up_to=', 'prompt_over=', 'images='])(
  "%s without a value is refused: it would lift a target's condition",
  async (word) => {
    const error = await failure(['model', 'chain', 'add', '--name', 'coder', '--target', `m ${word}`]);
    expect([error.code, words(error, 'en')]).toEqual(['params_invalid', expect.stringContaining(word)]);
  },
);
