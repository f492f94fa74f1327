import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSandbox, freePort, type Sandbox } from './support.ts';

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = createSandbox();
});
afterEach(() => sandbox.close());

test.each([
  ['an unknown flag', ['token', 'list', '--jsn'], 2, '--json'],
  ['an unknown command', ['chanel', 'list'], 2, 'channel'],
  ['a bad value', ['token', 'create', '--name', 'x', '--quota', 'much'], 2, '5usd'],
  ['missing values', ['channel', 'add'], 9, '--name, --key-stdin'],
  ['missing set-up values', ['setup'], 9, '--username, --password-stdin'],
  ['no such thing', ['channel', 'get', '77'], 5, 'channel 77'],
  ['an unknown option', ['option', 'set', 'Nope=1'], 2, 'Nope'],
  ['an unanswered question', ['ratios', 'reset'], 9, '--yes'],
  ['a server that is not there', ['status', '--url', 'http://127.0.0.1:1'], 7, 'reach'],
])('%s', async (_name, args, code, words) => {
  const ran = await sandbox.run(args);
  expect([ran.code, ran.out]).toEqual([code, '']);
  expect(ran.err).toContain(words);
  expect(ran.err).not.toMatch(/\n\s+at /);
});

test('errors are JSON where JSON was asked for, and Chinese where Chinese was', async () => {
  const json = await sandbox.run(['channel', 'get', '77', '--json']);
  expect(JSON.parse(json.err)).toMatchObject({ error: { code: 'not_found' } });
  expect((await sandbox.run(['channel', 'add', '--lang', 'zh'])).err).toContain('缺少必要输入');
});

test('a taken port and a used data directory are named', async () => {
  const port = freePort();
  await sandbox.start(['serve', '--port', String(port)]);
  const second = await sandbox.run(['serve', '--port', String(freePort())]);
  expect([second.code, second.err]).toEqual([6, expect.stringContaining('in use by process')]);
  const other = await sandbox.run(['serve', '--port', String(port)], '', {
    GATEWAY_DATA_DIR: join(sandbox.dir, 'other'),
  });
  expect([other.code, other.err]).toEqual([6, expect.stringContaining(`Port ${port}`)]);
});

test('a damaged database is refused with a hint and left as it is', async () => {
  mkdirSync(sandbox.dataDir, { recursive: true });
  const file = join(sandbox.dataDir, 'gateway.db');
  writeFileSync(file, 'this is not a database at all, but long enough to look like one'.repeat(50));
  const before = readFileSync(file);
  for (const args of [
    ['token', 'list'],
    ['serve', '--port', String(freePort())],
  ]) {
    const ran = await sandbox.run(args);
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('gateway backup restore')]);
  }
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('an unusable data directory is named', async () => {
  writeFileSync(join(sandbox.dir, 'file'), '');
  const ran = await sandbox.run(['token', 'list', '--data-dir', join(sandbox.dir, 'file', 'below')]);
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('cannot be used')]);
});

test('pipes may close early', async () => {
  const piped = Bun.spawn(['bash', '-c', './gateway option list | head -1; echo $PIPESTATUS'], {
    cwd: sandbox.dir,
    env: { PATH: '/usr/bin:/bin', GATEWAY_DATA_DIR: sandbox.dataDir },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const out = (await new Response(piped.stdout).text()).trim().split('\n');
  expect(out[0]).toContain('RegisterEnabled');
  expect(out[1]).toBe('0');
  expect(await new Response(piped.stderr).text()).toBe('');
});

test('SIGTERM lets an open stream end, then stops', async () => {
  const upstream = await sandbox.start([
    'mock-upstream',
    '--port',
    String(freePort()),
    '--chunks',
    '10',
    '--tokens-per-second',
    '20',
  ]);
  const { setUp } = await import('./support.ts');
  const key = await setUp(sandbox, upstream.line);
  const { line, child } = await sandbox.start(['serve', '--port', String(freePort())]);
  const response = await fetch(`${line.replace('URL: ', '')}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: '{"model":"practice-small","stream":true,"messages":[]}',
  });
  const text = response.text();
  child.kill('SIGTERM');
  expect(await text).toContain('data: [DONE]');
  expect(await child.exited).toBe(0);
  expect((await sandbox.run(['ledger', 'verify'])).code).toBe(0);
});
