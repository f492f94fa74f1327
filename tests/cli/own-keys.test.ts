/** Commands on the machine act as the first administrator: they neither use nor change the keys of other users. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRunner, type Runner } from './runner.ts';

interface Key {
  readonly id: number;
  readonly user_id: number;
  readonly name: string;
  readonly key: string;
  readonly unlimited_quota: boolean;
}

let dir: string;
let runner: Runner;
let alice: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-own-keys-'));
  const password = join(dir, 'password');
  writeFileSync(password, 'a-long-password');
  runner = createRunner(dir);
  await runner.run(['setup', '--username', 'root', '--password-file', password, '--mode', 'external']);
  await runner.run(['user', 'create', '--username', 'alice', '--password-file', password]);
  alice = ((await runner.json(['user', 'get', 'alice'])) as { id: number }).id;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const created = async (...args: string[]): Promise<Key> => await runner.json(['token', 'create', ...args]);

test('programs get a key of the user who runs the command, or none', async () => {
  const theirs = await created('--name', 'hers', '--user', 'alice');
  expect(theirs.user_id).toBe(alice);
  for (const command of [
    ['env'],
    ['env', '--token', 'hers'],
    ['env', '--token', String(theirs.id)],
    ['agents'],
    ['chat', 'hi'],
  ])
    await expect(runner.run(command)).rejects.toMatchObject({ code: 'not_found' });
  const own = await created('--name', 'mine');
  await created('--name', 'hers too', '--user', 'alice');
  expect(await runner.run(['env', '--for', 'openai'])).toContain(own.key);
  expect(await runner.run(['agents', 'codex'])).not.toContain(theirs.key);
});

test('a name is looked up among the keys of one owner', async () => {
  const theirs = await created('--name', 'ci', '--user', 'alice', '--quota', '100');
  const own = await created('--name', 'ci', '--if-exists', 'update', '--quota', 'unlimited');
  expect(own.id).not.toBe(theirs.id);
  const read = async (...args: string[]): Promise<Key> => await runner.json(['token', 'get', ...args]);
  expect(await read(String(theirs.id))).toMatchObject({ unlimited_quota: false, user_id: alice });
  expect((await read('ci')).id).toBe(own.id);
  expect((await read('ci', '--user', 'alice')).id).toBe(theirs.id);
  await runner.run(['token', 'rm', String(own.id), '--yes']);
  await expect(runner.run(['token', 'edit', 'ci', '--quota', 'unlimited'])).rejects.toMatchObject({
    code: 'not_found',
  });
  await runner.run(['token', 'edit', 'ci', '--user', 'alice', '--quota', '7']);
  expect(await read(String(theirs.id))).toMatchObject({ unlimited_quota: false, remain_quota: 7 });
});

test('lists say whose a key is, and can show one owner alone', async () => {
  await created('--name', 'hers', '--user', 'alice');
  await created('--name', 'mine');
  const owners = async (...args: string[]) =>
    ((await runner.json(['token', 'list', ...args])) as Key[]).map((key) => [key.name, key.user_id]);
  expect(await owners()).toEqual([
    ['mine', 1],
    ['hers', alice],
  ]);
  expect(await owners('--user', 'alice')).toEqual([['hers', alice]]);
  expect(await runner.run(['token', 'list', '--columns', 'name,owner'])).toContain(`hers\t${alice}`);
});
