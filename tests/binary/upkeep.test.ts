/** Work on the data directory while others use it, and after it was cut short. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox, setUp } from './support.ts';

let sandbox: Sandbox;
let upstream: string;
beforeEach(async () => {
  sandbox = createSandbox();
  upstream = (await sandbox.start(['mock-upstream', '--port', String(freePort()), '--chunks', '3'])).line;
});
afterEach(() => sandbox.close());

const ask = (url: string, key: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: '{"model":"practice-small","messages":[{"role":"user","content":"hi"}]}',
  }).then(
    async (response) => ({ status: response.status, text: await response.text() }),
    () => ({ status: 0, text: '' }),
  );

const countOf = async (): Promise<number> =>
  (JSON.parse((await sandbox.run(['logs', 'list', '--limit', '9999', '--type', 'consume', '--json'])).out) as unknown[])
    .length;

const verified = async (): Promise<void> => {
  const ran = await sandbox.run(['ledger', 'verify']);
  expect(ran.code, ran.out).toBe(0);
};

test('a backup taken under load is whole; restored under load it keeps the books in order', async () => {
  const key = await setUp(sandbox, upstream);
  const server = await sandbox.start(['serve', '--port', String(freePort())]);
  const url = server.line.replace('URL: ', '');
  let going = true;
  let served = 0;
  const load = Array.from({ length: 8 }, async () => {
    while (going) if ((await ask(url, key)).status === 200) served++;
  });
  const until = (more: number) => {
    const wanted = served + more;
    return expect.poll(() => served, { timeout: 20_000 }).toBeGreaterThan(wanted);
  };
  await until(100);
  const file = join(sandbox.dir, 'under-load.backup');
  const made = await sandbox.run(['backup', 'create', file, '--json']);
  expect(made.code, made.err).toBe(0);
  await until(100);
  // A server that runs keeps its database.
  const rejected = await sandbox.run(['backup', 'restore', file, '--yes']);
  expect([rejected.code, rejected.err]).toEqual([6, expect.stringContaining('in use by process')]);
  await until(50);
  server.child.kill('SIGTERM');
  expect(await server.child.exited).toBe(0);
  going = false;
  await Promise.all(load);
  await verified();
  const before = await countOf();

  // Others keep trying to use the folder: they work, or are told that it is in use.
  let asking = true;
  const codes = new Set<number>();
  const others = Array.from({ length: 3 }, async () => {
    while (asking) codes.add((await sandbox.run(['token', 'list'])).code);
  });
  let restored = await sandbox.run(['backup', 'restore', file, '--yes', '--json']);
  while (restored.code === 6) restored = await sandbox.run(['backup', 'restore', file, '--yes', '--json']);
  asking = false;
  await Promise.all(others);
  expect(restored.code, restored.err).toBe(0);
  expect([...codes].filter((code) => code !== 0 && code !== 6)).toEqual([]);
  await verified();
  const after = await countOf();
  expect(after).toBeGreaterThan(100);
  expect(after).toBeLessThan(before);

  // What was there lies beside it, whole.
  const { kept } = JSON.parse(restored.out) as { kept: string };
  expect(readdirSync(sandbox.dataDir)).toContain(kept.split('/').at(-1));
  const again = await sandbox.start(['serve', '--port', String(freePort())]);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(again.line.replace('URL: ', ''), key)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  await verified();
});

test('a change of the master key killed at any moment leaves every secret readable', async () => {
  await setUp(sandbox, upstream);
  const made = await sandbox.run(['token', 'create', '--name', 'many', '--count', '300', '-q']);
  const keys = made.out.trim().split('\n');
  expect(keys).toHaveLength(300);
  let [killed, done] = [0, 0];
  for (let after = 15; after <= 315; after += 20) {
    const child = Bun.spawn([join(sandbox.dir, 'gateway'), 'secrets', 'rotate', '--yes'], {
      cwd: sandbox.dir,
      env: { GATEWAY_DATA_DIR: sandbox.dataDir },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), after);
    await child.exited;
    clearTimeout(timer);
    if (child.signalCode === 'SIGKILL') killed++;
    else done++;
    const shown = await sandbox.run(['token', 'show-key', 'many-300']);
    expect([shown.code, shown.out.trim()], `${after} ms: ${shown.err}`).toEqual([0, keys.at(-1)]);
    expect(readdirSync(sandbox.dataDir)).not.toContain('secret.key.next');
  }
  expect(killed).toBeGreaterThan(0);
  expect((await sandbox.run(['secrets', 'rotate', '--yes'])).code).toBe(0);
  const all = JSON.parse((await sandbox.run(['token', 'list', '--json'])).out) as unknown[];
  expect(all).toHaveLength(301);
  expect((await sandbox.run(['channel', 'test', 'practice'])).code).toBe(0);
  expect(done + killed).toBe(16);
});

test('serving begins with what the environment says, and a second start changes nothing', async () => {
  const write = (name: string, text: string): string => {
    writeFileSync(join(sandbox.dir, name), text);
    return join(sandbox.dir, name);
  };
  const apiKey = 'sk-canaryInitial00000000000000000000000000000000000';
  const env = {
    GATEWAY_ADMIN_USERNAME: 'root',
    GATEWAY_ADMIN_PASSWORD_FILE: write('password', 'canary-password\n'),
    GATEWAY_ADMIN_TOKEN: 'canary-access-token-0123456789',
    GATEWAY_INITIAL_TOKEN: apiKey,
    GATEWAY_CONFIG: write(
      'site.yaml',
      `version: 1\noptions: {SelfUseModeEnabled: true}\nchannels:\n  - {name: up, type: practice, base_url: '${upstream}', key: {env: UP_KEY}, models: [practice-small]}\n`,
    ),
    UP_KEY: 'sk-canary-upstream',
  };
  for (const round of [1, 2]) {
    const port = String(freePort());
    const server = await sandbox.start(['serve', '--port', port], env);
    const url = server.line.replace('URL: ', '');
    expect((await ask(url, apiKey)).status, `round ${round}`).toBe(200);
    const remote = ['token', 'list', '--url', url, '--json'];
    const list = await sandbox.run(remote, '', { GATEWAY_TOKEN: env.GATEWAY_ADMIN_TOKEN, GATEWAY_USER: '1' });
    expect(JSON.parse(list.out)).toMatchObject([{ name: 'initial' }]);
    server.child.kill('SIGTERM');
    expect(await server.child.exited).toBe(0);
    const said = await new Response(server.child.stderr).text();
    expect(said).not.toContain('canary');
    expect(said).toContain(round === 1 ? 'token initial' : '0 changes');
  }
});

test('doctor of the executable calls the checks that cannot be made by the names they always have', async () => {
  await setUp(sandbox, upstream);
  const sound = JSON.parse((await sandbox.run(['doctor', '--json'])).out) as { check: string }[];
  writeFileSync(join(sandbox.dataDir, 'gateway.db'), 'not a database');
  const broken = await sandbox.run(['doctor', '--json']);
  expect(broken.code).toBe(8);
  const names = (JSON.parse(broken.out) as { check: string; result: string }[]).map(({ check }) => check);
  // Of several machines, where programs can sign in, and where there are virtual models, keys limited to channels or budgets.
  const sometimes = ['leases', 'programs', 'chains', 'keys', 'budgets'];
  expect(names.filter((name) => !sound.some(({ check }) => check === name) && !sometimes.includes(name))).toEqual([]);
  expect(names).toContain('ledger');
});
