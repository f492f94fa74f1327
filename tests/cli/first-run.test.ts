import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { fromEnvironment } from '../../cli/commands/site/from-environment.ts';
import { createContext } from '../../cli/context.ts';
import { openDatabase } from '../../db/open.ts';
import { withCheapPasswords } from '../support/cheap-passwords.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-first-'));
  runner = createRunner(dir);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const apiKey = 'sk-canaryInitial00000000000000000000000000000000000';
const access = 'canary-access-token-0123456789';

/** What `serve` does before it starts. */
async function begin(env: Record<string, string>): Promise<string[]> {
  const streams = { out: { write: () => true }, err: { write: () => true }, outIsTty: false, columns: 80 };
  const context = createContext({ dataDir: join(dir, 'data'), lang: 'en' }, env, streams, process.stdin, () => '');
  return withCheapPasswords(() => fromEnvironment(context));
}

const everything = () => ({
  GATEWAY_ADMIN_USERNAME: 'root',
  GATEWAY_ADMIN_PASSWORD_FILE: file('password', 'canary-password\n'),
  GATEWAY_ADMIN_TOKEN: access,
  GATEWAY_INITIAL_TOKEN_FILE: file('key', `${apiKey}\n`),
  GATEWAY_CONFIG: file('site.yaml', 'version: 1\noptions: {SystemName: Ours}\n'),
});

const dump = () => {
  const { raw } = openDatabase(join(dir, 'data', 'gateway.db'), { readonly: true });
  const found = ['users', 'tokens', 'options', 'changes'].map((table) => raw.prepare(`SELECT * FROM ${table}`).all());
  raw.close();
  return found;
};

test('administrator, access token, API key and file come from the environment; twice is once', async () => {
  const said = await begin(everything());
  expect(said).toHaveLength(4);
  expect(said.join('\n')).not.toContain('canary');
  expect(await runner.run(['option', 'get', 'SystemName'])).toBe('Ours');
  expect(await runner.run(['token', 'show-key', 'initial', '-q'])).toBe(apiKey);
  expect(await runner.json(['token', 'get', 'initial'])).toMatchObject({ unlimited_quota: true, user_id: 1 });
  const login = ['api', 'POST', '/api/user/login', '-f', 'username=root&password=canary-password'];
  expect(await runner.run(login)).toContain('"username": "root"');
  const before = dump();
  expect(await begin(everything())).toEqual([expect.stringContaining('0 changes')]);
  expect(dump()).toEqual(before);
});

test('an empty environment opens nothing', async () => {
  expect(await begin({})).toEqual([]);
  await expect(runner.run(['token', 'get', '1'])).rejects.toMatchObject({ code: 'not_found' });
});

test('a name without a password names what is missing', async () => {
  await expect(begin({ GATEWAY_ADMIN_USERNAME: 'root' })).rejects.toMatchObject({
    code: 'input_needed',
    params: { flags: 'GATEWAY_ADMIN_PASSWORD' },
  });
});

test('setup takes the tokens of the environment too', async () => {
  const { GATEWAY_CONFIG: _config, ...env } = everything();
  await runner.run(['setup'], env);
  expect(await runner.run(['token', 'show-key', 'initial', '-q'])).toBe(apiKey);
});

test('a token may bring its own key, once; a new key ends the old one', async () => {
  await runner.run(['setup', '--username', 'root', '--password-file', file('password', 'password1')]);
  const own = file('own', apiKey);
  const made = await runner.json(['token', 'create', '--name', 'old', '--key-file', own]);
  expect(made).toMatchObject({ result: 'created', key: apiKey });
  await expect(runner.run(['token', 'create', '--name', 'again', '--key-file', own])).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(
    runner.run(['token', 'create', '--name', 'short', '--key-file', file('short', 'sk-abc')]),
  ).rejects.toMatchObject({ code: 'params_invalid' });
  await expect(runner.run(['token', 'rotate', 'old'])).rejects.toMatchObject({ code: 'input_needed' });
  const next = await runner.run(['token', 'rotate', 'old', '--yes', '-q']);
  expect(next).toMatch(/^sk-[A-Za-z0-9]{48}$/);
  expect(await runner.run(['token', 'show-key', 'old', '-q'])).toBe(next);
  // The key of a token that is gone does not come back under another name.
  await runner.run(['token', 'rm', 'old', '--yes']);
  await expect(runner.run(['token', 'create', '--name', 'x', '--key-file', file('next', next)])).rejects.toMatchObject({
    code: 'conflict',
  });
});

test('--if-exists: error, skip and update, with the result said', async () => {
  const password = file('password', 'password1');
  await runner.run(['setup', '--username', 'root', '--password-file', password]);
  const token = ['token', 'create', '--name', 'ci', '--quota', '1usd'];
  const user = ['user', 'create', '--username', 'ann', '--password-file', password];
  const channel = ['channel', 'add', '--name', 'c', '--type', 'practice', '--key-file', password];
  for (const [args, change] of [
    [token, ['--quota', '2usd']],
    [user, ['--display-name', 'Ann']],
    [channel, ['--priority', '7']],
  ] as const) {
    expect(await runner.json([...args])).toMatchObject({ result: 'created' });
    expect(await runner.json([...args, '--if-exists', 'skip'])).toMatchObject({ result: 'unchanged' });
    expect(await runner.json([...args, ...change, '--if-exists', 'update'])).toMatchObject({ result: 'updated' });
    await expect(runner.run([...args, '--if-exists', 'error'])).rejects.toMatchObject({
      row: { exit: 6 },
    });
    await expect(runner.run([...args, '--if-exists', 'never'])).rejects.toMatchObject({ code: 'usage' });
  }
  expect(await runner.json([...token, '--if-exists', 'update'])).toMatchObject({ result: 'updated' });
  expect(await runner.json([...token, '--if-exists', 'update'])).toMatchObject({ result: 'unchanged' });
  expect(await runner.json(['token', 'list'])).toHaveLength(1);
  expect(await runner.json(['channel', 'get', 'c'])).toMatchObject({ priority: 7 });
});

test('a key of a name that is there is another one unless --if-exists says otherwise, as its help says', async () => {
  await runner.run(['setup', '--username', 'root', '--password-file', file('password', 'password1')]);
  const create = ['token', 'create', '--name', 'laptop', '--quota', '1usd'];
  for (let n = 0; n < 2; n++) expect(await runner.json(create)).toMatchObject({ result: 'created' });
  expect(await runner.json<unknown[]>(['token', 'list'])).toHaveLength(2);
  expect(await runner.json([...create, '--if-exists', 'skip'])).toMatchObject({ result: 'unchanged' });
  const [help] = commands.filter(({ name }) => name === 'token create');
  const flag = help?.flags?.find((one) => one.flag.startsWith('--if-exists'));
  expect([flag?.en, flag?.zh]).toEqual([expect.stringContaining('default'), expect.stringContaining('默认')]);
});
