/** Eleven tasks of an operator at the terminal, key by key: how many presses each takes, and that it is done afterwards. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { simulatedProvider } from '../../server/practice/provider.ts';
import { figure } from '../support/figure.ts';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';
import { terminalsIn } from './terminal.ts';

const key = { enter: '\r', down: '\u001b[B', space: ' ' } as const;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());
const open = terminalsIn(() => sandbox);

function sit(args: readonly string[] = []) {
  const terminal = open(['./gateway', ...args], { LANG: 'C.UTF-8' }, { columns: 100 });
  let presses = 0;
  return {
    ...terminal,
    presses: () => presses,
    /** Keys, each of which counts. */
    async press(words: string, ...keys: readonly string[]): Promise<void> {
      await terminal.until(words);
      // What comes together would be taken for a paste.
      for (const one of keys) {
        terminal.type(one);
        presses++;
        await Bun.sleep(40);
      }
    },
    /** What only this person knows: a password, a key, an address, a name. It counts as one. */
    async enter(words: string, text: string): Promise<void> {
      await terminal.until(words);
      terminal.type(text);
      presses++;
      await Bun.sleep(40);
      terminal.type(key.enter);
      presses++;
    },
  };
}

const mock = async (...flags: readonly string[]): Promise<string> =>
  (await sandbox.start(['mock-upstream', '--port', String(freePort()), ...flags])).line;
const json = async <T>(args: readonly string[]): Promise<T> =>
  JSON.parse((await sandbox.run([...args, '--json'])).out) as T;
async function serve(): Promise<string> {
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  return server.line.replace('URL: ', '');
}
const ask = (url: string, token: string, model = 'practice-small') =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  }).then(async (response) => [response.status, await response.text()] as const);

test('1: first run to the first answer, at most 12 presses with a key of the provider that stands first', async () => {
  const address = await mock();
  const terminal = sit();
  await terminal.press('Set one up now?', key.enter);
  await terminal.press('usage mode', key.enter);
  await terminal.press('username', key.enter);
  await terminal.enter('/7 password', 'password1');
  await terminal.enter('the same password again', 'password1');
  await terminal.press('> openai', key.enter);
  await terminal.enter('/7 key', 'sk-canary-own');
  await terminal.enter("upstream's address", address);
  await terminal.press('models', key.enter);
  await terminal.until('the test succeeded');
  await terminal.until('export OPENAI_API_KEY=sk-');
  expect(await terminal.exited()).toBe(0);
  // The address is the test's own: who has a key of the provider presses Enter there.
  const presses = terminal.presses() - 1;
  figure(`first run to the first answer: ${presses} presses`);
  expect(presses).toBeLessThanOrEqual(12);
  const token = /OPENAI_API_KEY=(sk-\w+)/.exec(terminal.text())?.[1] ?? '';
  expect((await ask(await serve(), token, 'gpt-4o-mini'))[0]).toBe(200);
});

test('2: a wrong key is mended where its test failed', async () => {
  const right = simulatedProvider('openai', true)?.key ?? '';
  const strict = await mock('--as', 'openai', '--strict');
  await sandbox.run(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  const terminal = sit(['setup']);
  await terminal.press('> openai', key.enter);
  await terminal.enter('/4 key', 'sk-wrong');
  await terminal.enter("upstream's address", strict);
  await terminal.press('models', key.enter);
  await terminal.until('the test failed');
  const before = terminal.presses();
  await terminal.press('> correct the key', key.enter);
  await terminal.enter('key [', right);
  await terminal.until('the test succeeded');
  expect(await terminal.exited()).toBe(0);
  const presses = terminal.presses() - before;
  figure(`a wrong key mended: ${presses} presses`);
  expect(presses).toBeLessThanOrEqual(3);
  expect(await json<readonly object[]>(['channel', 'list'])).toHaveLength(1);
});

test('3: a failing channel is found and disabled on the board', async () => {
  const token = await setUp(sandbox, await mock());
  const bad = ['channel', 'add', '--type', 'practice', '--name', 'bad', '--base-url', await mock('--error-rate', '1')];
  await sandbox.run([...bad, '--priority', '9', '--key-stdin'], 'k\n');
  const url = await serve();
  for (let sent = 0; sent < 6; sent++) expect((await ask(url, token))[0]).toBe(200);
  const terminal = sit();
  await terminal.until('▸ bad');
  await terminal.press('✗ failing', 'd');
  await terminal.press('disable bad?', 'y');
  await terminal.until('bad is disabled');
  figure(`a failing channel found and disabled on the board: ${terminal.presses()} presses`);
  expect(terminal.presses()).toBe(2);
  terminal.type('q');
  expect(await terminal.exited()).toBe(0);
  const channels = await json<readonly { name: string; status: number }[]>(['channel', 'list']);
  expect(Object.fromEntries(channels.map(({ name, status }) => [name, status]))).toEqual({ practice: 1, bad: 2 });
});

test('4: a second provider with a key and its models', async () => {
  await setUp(sandbox, await mock());
  const terminal = sit(['channel', 'add']);
  await terminal.press('> openai', key.enter);
  await terminal.press('name', key.enter);
  await terminal.enter('key', 'sk-canary-second');
  await terminal.press("upstream's address", key.enter);
  await terminal.press('models', key.enter);
  await terminal.until('the same as one command');
  expect(await terminal.exited()).toBe(0);
  figure(`a provider with a key and its models: ${terminal.presses()} presses`);
  expect(terminal.presses()).toBeLessThanOrEqual(6);
  const channels = await json<readonly { name: string; models: string }[]>(['channel', 'list']);
  const second = channels.find(({ name }) => name === 'openai');
  expect(second?.models.split(',').length).toBeGreaterThan(10);
  expect(terminal.raw()).not.toContain('canary');
});

test('5: a key with $5 a month for two models', async () => {
  await setUp(sandbox, await mock());
  const terminal = sit(['token', 'create']);
  await terminal.enter('1/3 name', 'ann');
  await terminal.press('> unlimited', key.down, key.down, key.down, key.enter);
  await terminal.enter('amount per month', '5');
  await terminal.press('create it now', key.down, key.enter);
  await terminal.press('Space selects', key.space, key.down, key.space, key.enter);
  await terminal.press('> never', key.enter);
  await terminal.press("the account's own group", key.enter);
  await terminal.press('requests per minute', key.enter);
  await terminal.press('tokens per minute', key.enter);
  await terminal.press('requests at once', key.enter);
  await terminal.until('the same as one command');
  expect(await terminal.exited()).toBe(0);
  figure(`a key with $5 a month for two models: ${terminal.presses()} presses`);
  expect(terminal.presses()).toBeLessThanOrEqual(19);
  const made = await json<{ month_budget: number; model_limits: string }>(['token', 'get', 'ann']);
  const models = made.model_limits.split(',').sort();
  expect([made.month_budget, models]).toEqual([2_500_000, ['practice-large', 'practice-small']]);
});

test('6: why a request failed', async () => {
  const token = await setUp(sandbox, await mock('--error-rate', '1'));
  await ask(await serve(), token);
  const terminal = sit();
  await terminal.press('CHANNEL', '4');
  await terminal.press('failed', key.enter);
  await terminal.until('gateway logs explain');
  expect(terminal.text()).toContain('The upstream returned status 500');
  expect(terminal.text()).toMatch(/model +practice-small[\s\S]*channel +practice #1/);
  figure(`why a request failed: ${terminal.presses()} presses`);
  expect(terminal.presses()).toBeLessThanOrEqual(2);
});

interface Typed {
  readonly out: string;
  readonly err: string;
  readonly url: string;
  readonly token: string;
}

/** Tasks of one line each: who knows the noun finds the verb by Tab. */
test.each<[number, string, readonly string[], (typed: Typed) => Promise<void>]>([
  [
    7,
    'what a model costs, 20% more',
    ['ratios', 'set', 'ModelRatio', 'practice-small=+20%'],
    async () => expect(await json(['ratios', 'get', 'practice-small'])).toMatchObject({ ModelRatio: 1.2 }),
  ],
  [
    8,
    'a leaked key is replaced',
    ['token', 'rotate', 'test', '--yes', '-q'],
    async ({ out, url, token }) => {
      expect(out.trim()).toBe((await sandbox.run(['token', 'show-key', 'test', '-q'])).out.trim());
      expect([(await ask(url, out.trim()))[0], (await ask(url, token))[0]]).toEqual([200, 401]);
    },
  ],
  [
    9,
    'nobody may register any more',
    ['option', 'set', 'RegisterEnabled=false'],
    async () => expect((await sandbox.run(['option', 'get', 'RegisterEnabled'])).out.trim()).toBe('false'),
  ],
  [
    10,
    'a backup, which can be read',
    ['backup', 'create', 'site.backup'],
    async () => {
      const there = ['--data-dir', join(sandbox.dir, 'other')];
      expect((await sandbox.run(['backup', 'restore', 'site.backup', '--yes', ...there])).code).toBe(0);
      // It holds no key that opens what is sealed.
      copyFileSync(join(sandbox.dataDir, 'secret.key'), join(sandbox.dir, 'other/secret.key'));
      expect(await json(['channel', 'list', ...there])).toMatchObject([{ name: 'practice' }]);
    },
  ],
  [
    11,
    'the month of a customer, each charge recomputed',
    ['statement', '--user', 'root', '--check'],
    async ({ out, err }) => {
      expect(out).toMatch(/practice-small/);
      expect(err).toContain('1 charge recomputed, 0 differ');
    },
  ],
])('%i: %s, in one line', async (_number, what, args, done) => {
  const token = await setUp(sandbox, await mock());
  await sandbox.run(['option', 'set', 'ModelRatio={"practice-small":1}']);
  const url = await serve();
  expect((await ask(url, token))[0]).toBe(200);
  const { code, out, err } = await sandbox.run(args);
  expect([code, err.includes('error')]).toEqual([0, false]);
  await done({ out, err, url, token });
  figure(`${what}: gateway ${args.slice(0, 2).join(' ')}, one line`);
});
