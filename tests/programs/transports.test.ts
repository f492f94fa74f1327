/** One list of commands, three ways to the same data: the folder itself, the server's 0600 socket, HTTP with an access token. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { AppError } from '../../server/contract/errors.ts';
import { startPracticeUpstream } from '../../server/practice/upstream.ts';
import { everywhere, printsFile } from '../cli/every-command.ts';
import { createRunner, type Runner } from '../cli/runner.ts';

const main = resolve(import.meta.dirname, '../../cli/main.ts');
const access = 'canary-access-token-0123456789';
const names = ['folder', 'socket', 'http'] as const;
type Transport = (typeof names)[number];

let dir: string;
let upstream: ReturnType<typeof startPracticeUpstream>;
const runners = {} as Record<Transport, Runner>;
const servers: Bun.Subprocess[] = [];

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** What all three begin with: the same rows, the same keys. */
async function template(at: string): Promise<void> {
  const runner = createRunner(at);
  const env = { GATEWAY_ADMIN_TOKEN: access };
  await runner.run(['setup', '--username', 'root', '--password-file', file('pw', 'password1'), '--mode', 'self'], env);
  const place = ['--base-url', upstream.url, '--key-file', file('key', 'sk-canary-upstream')];
  await runner.run(['channel', 'add', '--type', 'practice', '--name', 'main', '--tag', 't', ...place]);
  await runner.run(['token', 'create', '--name', 'ci', '--quota', '5usd']);
  const database = openDatabase(join(at, 'data', 'gateway.db'));
  const log = { created_at: 1_700_000_000, type: 5, user_id: 1, username: 'root', content: 'upstream said no' };
  const rest = { token_id: 0, token_name: '', channel_id: 1, group_name: '', model_name: 'm', is_stream: 0 };
  const end = { use_time: 7, prompt_tokens: 0, completion_tokens: 0, quota: 0, other: '', usage_source: '' };
  for (const model_name of ['m', 'n'])
    await database.query
      .insertInto('logs')
      .values({ ...log, ...rest, ...end, model_name, request_id: null, end_reason: 'failed' })
      .execute();
  await database.close();
}

async function serve(at: string): Promise<string> {
  const child = Bun.spawn([process.execPath, main, 'serve', '--port', '0', '--data-dir', join(at, 'data')], {
    env: { PATH: process.env.PATH, HOME: at, LANG: 'C' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  servers.push(child);
  const reader = child.stdout.getReader();
  let text = '';
  while (!/URL: \S+\n/.test(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error('serve ended early');
    text += new TextDecoder().decode(value);
  }
  return /URL: (\S+)/.exec(text)?.[1] ?? '';
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-transports-'));
  upstream = startPracticeUpstream({ port: 0, latencyMs: 0, chunks: 2, chunkMs: 0, errorRate: 0, noUsage: false });
  const first = join(dir, 'template');
  mkdirSync(first);
  await template(first);
  for (const name of names) cpSync(first, join(dir, name), { recursive: true });
  await serve(join(dir, 'socket'));
  const url = await serve(join(dir, 'http'));
  runners.folder = createRunner(join(dir, 'folder'));
  runners.socket = createRunner(join(dir, 'socket'));
  runners.http = createRunner(join(dir, 'http'), { GATEWAY_TOKEN: access, GATEWAY_USER: '1' }, ['--url', url]);
});
afterAll(async () => {
  for (const server of servers) server.kill('SIGTERM');
  await Promise.all(servers.map((server) => server.exited));
  await upstream?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/**
 * `condition`, `relays`: how a channel does, and how many relays serve, is known to a running server alone. `checked`: an
 * operator on the machine leaves a row in the audit trail for each key of a user, a user with his own keys does not.
 */
const elsewhere =
  /^(checked|condition|time|response_time|test_time|url|link|data_dir|uptime|started_at|start_time|ms|by|actor|actor_id|ip)$/;

/** Times, made-up keys and places differ; everything else must not. */
function alike(value: unknown, name = ''): unknown {
  if (elsewhere.test(name)) return '-';
  if (Array.isArray(value)) return value.map((item) => alike(item));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        // A server elsewhere has no folder on this machine.
        .filter(([key]) => key !== 'relays' && key !== 'data_dir')
        .map(([key, item]) => [
          key,
          // Who made a code: the owner of the folder is no user.
          key === 'user_id' && 'redeemed_time' in value ? '-' : alike(item, key),
        ]),
    );
  if (typeof value === 'number') return value > 1_700_000_001 ? 'TIME' : value;
  if (typeof value !== 'string') return value;
  return value
    .replace(/sk-[A-Za-z0-9]{48}/g, 'KEY')
    .replace(/gat_(…[\w-]{4}|[\w-]{43})/g, 'ACCESS')
    .replace(/(sk-)?\w{4}…\w{4}/g, 'KEY')
    .replace(/\b[0-9a-f]{32,64}\b/g, 'HEX')
    .replace(/\b20\d\d-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
}

/** The JSON answer, or how it failed. */
async function answer(runner: Runner, args: readonly string[]): Promise<unknown> {
  try {
    const text = await runner.run([...args, '--json=']);
    return text === '' || printsFile(args) ? text : alike(JSON.parse(text));
  } catch (error) {
    if (error instanceof AppError) return { error: error.code, exit: error.row.exit };
    throw error;
  }
}

test('the same commands give the same answers over all three', async () => {
  let spoken = 0;
  const different: string[] = [];
  for (const args of everywhere({ file, upstream: upstream.url })) {
    const [folder, socket, http] = await Promise.all(names.map((name) => answer(runners[name], args)));
    for (const [name, found] of Object.entries({ socket, http }))
      if (JSON.stringify(found) !== JSON.stringify(folder))
        different.push(`${name} ${args.join(' ')}\n${JSON.stringify(folder)}\n${JSON.stringify(found)}`);
    if (JSON.stringify(folder).length > 4) spoken++;
  }
  expect(different).toEqual([]);
  expect(spoken).toBeGreaterThan(95);
});

test('calls reserved for the folder’s owner work over the socket and are refused over HTTP', async () => {
  const local = [
    ['db', 'check'],
    ['db', 'vacuum'],
    ['ledger', 'verify'],
    ['backup', 'create', join(dir, 'b.backup')],
  ];
  for (const args of local) {
    const over = async (name: Transport) =>
      answer(
        runners[name],
        args.map((arg) => arg.replace('b.backup', `${name}.backup`)),
      );
    expect(JSON.stringify(await over('socket')), args.join(' ')).not.toContain('"error"');
    expect(await over('http'), args.join(' ')).toMatchObject({
      exit: expect.toSatisfy((exit) => exit === 4 || exit === 2),
    });
  }
});

test('the socket is for its owner, a wrong access token is refused to everybody', async () => {
  expect(statSync(join(dir, 'socket', 'data', 'local.sock')).mode & 0o777).toBe(0o600);
  const args = ['token', 'list'];
  const url = runners.http.where;
  for (const env of [{ GATEWAY_TOKEN: 'wrong', GATEWAY_USER: '1' }, { GATEWAY_TOKEN: access, GATEWAY_USER: '7' }, {}])
    expect(await answer(createRunner(dir, env as Record<string, string>, url), args)).toMatchObject({ exit: 4 });
});

test('logging in keeps the token in a private file; contexts are chosen, named and forgotten', async () => {
  const home = join(dir, 'home');
  mkdirSync(home);
  // A directory that is named by its flag wins over the last login.
  const local = createRunner(home, { GATEWAY_DATA_DIR: join(home, 'data') }, ['--color', 'never']);
  const url = runners.http.where[1] ?? '';
  const args = ['login', url, '--token-file', file('access', `${access}\n`), '--name', 'far'];
  expect(await local.json(args)).toEqual({ context: 'far', url, username: 'root' });
  const kept = join(home, '.config', 'gateway', 'contexts.json');
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  expect(await local.json(['whoami'])).toMatchObject({ url, id: 1, username: 'root' });
  expect(await local.json(['context', 'list'])).toMatchObject([{ name: 'far', url, current: true }]);
  expect(JSON.stringify(await local.json(['context', 'list']))).not.toContain(access);
  expect(await answer(local, ['token', 'list'])).toEqual(await answer(runners.http, ['token', 'list']));
  await local.run(['context', 'use', 'local']);
  expect(await local.json(['whoami'])).toMatchObject({ local: true });
  expect(await local.json(['whoami', '--context', 'far'])).toMatchObject({ username: 'root' });
  await local.run(['context', 'use', 'far']);
  expect(await createRunner(home).json(['whoami'])).toMatchObject({ local: true });
  expect(await local.json(['logout'])).toEqual({ result: 'deleted', context: 'far' });
  expect(await local.json(['context', 'list'])).toEqual([]);
  await expect(local.run(['context', 'use', 'far'])).rejects.toMatchObject({ code: 'not_found' });
  await expect(local.run(['login', url, '--token-file', file('wrong', 'wrong')])).rejects.toMatchObject({
    code: 'access_token_invalid',
  });
});

test('one question through the relay, as text and as JSON', async () => {
  for (const name of ['socket', 'http'] as const) {
    const said = await runners[name].json(['chat', 'hello', '-m', 'practice-small', '--token', 'made']);
    expect(said).toEqual({ model: 'practice-small', content: expect.stringContaining('practice') });
  }
});

test('commands that come at the same time wait for one another, also behind a socket that no process listens on', async () => {
  const home = join(dir, 'together');
  cpSync(join(dir, 'template'), home, { recursive: true });
  writeFileSync(join(home, 'data', 'local.sock'), '');
  const child = (name: string) =>
    Bun.spawn([process.execPath, main, 'token', 'create', '--name', name, '-q', '--data-dir', join(home, 'data')], {
      env: { PATH: process.env.PATH, HOME: home, LANG: 'C' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    });
  const children = ['a', 'b', 'c'].map(child);
  expect(await Promise.all(children.map((one) => one.exited))).toEqual([0, 0, 0]);
  expect(await createRunner(home).json(['token', 'list'])).toHaveLength(4);
});
