import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { openDirect } from '../../server/app/in-process.ts';
import { rotate } from '../../server/domain/secrets/rotation.ts';
import { createVault, loadMasterKey } from '../../server/domain/secrets/vault.ts';
import { createRunner, type Runner } from './runner.ts';

let filled: string;
let dir: string;
let data: string;
let keyFile: string;
let runner: Runner;

function openDir(): void {
  dir = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
  data = join(dir, 'data');
  keyFile = join(data, 'secret.key');
  runner = createRunner(dir);
}

// Eight commands: each test gets a copy of what they made.
beforeAll(async () => {
  openDir();
  await fill(runner);
  filled = dir;
});
afterAll(() => rmSync(filled, { recursive: true, force: true }));
beforeEach(() => {
  openDir();
  cpSync(filled, dir, { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** One secret of every kind. */
async function fill(on: Runner): Promise<void> {
  await on.run(['setup', '--username', 'root', '--password-file', file('pw', 'password1')]);
  await on.run(['channel', 'add', '--type', 'practice', '--name', 'main', '--key-file', file('k', 'sk-canary-up')]);
  await on.run(['token', 'create', '--name', 'ci']);
  await on.run(['token', 'create', '--name', 'gone']);
  await on.run(['token', 'rm', 'gone', '--yes']);
  await on.run(['redemption', 'create', '--quota', '1usd', '--name', 'gift', '--count', '3']);
  await on.run(['option', 'set', `SMTPToken=@${file('mail', 'canary-mail')}`]);
  const database = openDatabase(join(data, 'gateway.db'));
  const sealed = createVault(loadMasterKey(keyFile, on.env)).encrypt('second-factor', 'canary-totp');
  const row = { user_id: 1, secret_sealed: sealed, enabled_at: 1, last_step: 0 };
  await database.query.insertInto('second_factors').values(row).execute();
  const webhook = createVault(loadMasterKey(keyFile, on.env)).encrypt('webhook-secret', 'canary-webhook');
  await database.query.insertInto('webhook_secrets').values({ user_id: 1, secret_sealed: webhook }).execute();
  await database.close();
}

/** Every text in the database that is a seal, wherever it stands, with the purposes it could have been sealed for. */
function seals(): string[] {
  const { raw } = openDatabase(join(data, 'gateway.db'), { readonly: true });
  const tables = raw.prepare<string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  const found = tables.flatMap((table) =>
    raw
      .prepare<unknown[]>(`SELECT * FROM "${table}"`)
      .raw()
      .all()
      .flat()
      .filter((value): value is string => typeof value === 'string' && /^v1\.[\w-]{38,}$/.test(value)),
  );
  raw.close();
  return found;
}

const purposes = ['channel-key', 'token-key', 'redemption-key', 'second-factor', 'webhook-secret', 'option:SMTPToken'];

function opened(key: Buffer): string[] {
  const vault = createVault(key);
  return seals().flatMap((seal) =>
    purposes.flatMap((purpose) => {
      try {
        return [vault.open(purpose, seal)];
      } catch {
        return [];
      }
    }),
  );
}

const keyOf = (): Buffer => loadMasterKey(keyFile, {});

/** What users have in their hands still works. */
async function usable(key: string): Promise<void> {
  expect(await runner.run(['token', 'show-key', 'ci', '-q'])).toBe(key);
  const direct = await openDirect(data, {});
  // Found by its lookup hash, not by its name.
  expect(await direct.call('token.search', { token: key })).toMatchObject([{ name: 'ci' }]);
  await direct.close();
  expect(await runner.run(['option', 'get', 'SMTPToken'])).toBe('set');
}

test('every sealed value is sealed under the new key, none can be read with the old one', async () => {
  const key = await runner.run(['token', 'show-key', 'ci', '-q']);
  const before = keyOf();
  const plain = opened(before).sort();
  expect(plain).toHaveLength(1 + 2 + 3 + 1 + 1 + 1);
  expect(await runner.json(['secrets', 'rotate', '--yes'])).toEqual({ result: 'updated', values: 9, kept: '' });
  expect(keyOf().equals(before)).toBe(false);
  expect(opened(keyOf()).sort()).toEqual(plain);
  expect(opened(before)).toEqual([]);
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  expect(readdirSync(data).filter((name) => name.startsWith('secret.key'))).toEqual(['secret.key']);
  await usable(key);
});

test('what proves the key to other machines is renewed too: a site that was moved here can be moved on', async () => {
  const file = join(data, 'gateway.db');
  const [purpose, name] = ['key-proof', 'key_proof'];
  const database = openDatabase(file);
  await database.query
    .insertInto('meta')
    .values({ key: name, value: createVault(keyOf()).encrypt(purpose, name) })
    .execute();
  await runner.run(['secrets', 'rotate', '--yes']);
  const { value } = await database.query
    .selectFrom('meta')
    .select('value')
    .where('key', '=', name)
    .executeTakeFirstOrThrow();
  await database.close();
  expect(createVault(keyOf()).open(purpose, value)).toBe(name);
});

test('the old key is kept when asked for, and reads an older backup', async () => {
  const backup = join(dir, 'before.backup');
  await runner.run(['backup', 'create', backup]);
  const old = readFileSync(keyFile, 'utf8');
  const { kept } = (await runner.json(['secrets', 'rotate', '--yes', '--keep-old'])) as { kept: string };
  expect([readFileSync(kept, 'utf8'), statSync(kept).mode & 0o777]).toEqual([old, 0o600]);
  await runner.run(['backup', 'restore', backup, '--yes']);
  await expect(runner.run(['token', 'show-key', 'ci'])).rejects.toMatchObject({ code: 'secret_unreadable' });
  writeFileSync(keyFile, old);
  expect(await runner.run(['token', 'show-key', 'ci', '-q'])).toMatch(/^sk-/);
});

test.each(['written', 'renewed', 'copied', 'replaced'] as const)(
  'dead after %s: the next start ends or undoes it, and everything can be read',
  async (at) => {
    const key = await runner.run(['token', 'show-key', 'ci', '-q']);
    const database = openDatabase(join(data, 'gateway.db'));
    const order = { from: keyOf(), to: '', inFile: true, keepOld: false, stamp: 'x' };
    const before = keyOf();
    const died = rotate(keyFile, database, order, (step) => {
      if (step === at) throw new Error('killed');
    });
    await expect(died).rejects.toThrow('killed');
    await database.close();
    await usable(key);
    expect(keyOf().equals(before)).toBe(at === 'written');
    expect(existsSync(`${keyFile}.next`)).toBe(false);
    expect(opened(keyOf())).toHaveLength(9);
  },
);

test('a value that cannot be read stops everything, nothing has changed', async () => {
  const database = openDatabase(join(data, 'gateway.db'));
  await database.query.updateTable('tokens').set({ key_sealed: 'v1.AAAA' }).where('name', '=', 'ci').execute();
  await database.close();
  const before = keyOf();
  await expect(runner.run(['secrets', 'rotate', '--yes'])).rejects.toMatchObject({ code: 'secret_unreadable' });
  expect(await runner.run(['option', 'get', 'SMTPToken'])).toBe('set');
  expect(keyOf().equals(before)).toBe(true);
  expect(existsSync(`${keyFile}.next`)).toBe(false);
});

test('a key from the environment is changed to one that is given, never to one that would be lost', async () => {
  rmSync(data, { recursive: true });
  runner = createRunner(dir, { GATEWAY_SECRET_KEY: 'first-key-0123456789' });
  await fill(runner);
  const key = await runner.run(['token', 'show-key', 'ci', '-q']);
  await expect(runner.run(['secrets', 'rotate', '--yes'])).rejects.toMatchObject({ code: 'input_needed' });
  await expect(
    runner.run(['secrets', 'rotate', '--yes', '--key-file', file('short', 'tooshort')]),
  ).rejects.toMatchObject({ code: 'secret_unreadable' });
  const said = await runner.run(['secrets', 'rotate', '--yes', '--key-file', file('next', 'second-key-0123456789\n')]);
  expect(said).toContain('GATEWAY_SECRET_KEY');
  expect(existsSync(keyFile)).toBe(false);
  await expect(runner.run(['token', 'show-key', 'ci'])).rejects.toMatchObject({ code: 'secret_unreadable' });
  const next = createRunner(dir, { GATEWAY_SECRET_KEY: 'second-key-0123456789' });
  expect(await next.run(['token', 'show-key', 'ci', '-q'])).toBe(key);
});

test('a sealed column that is not known stops everything', async () => {
  const database = openDatabase(join(data, 'gateway.db'));
  database.raw.exec('CREATE TABLE later (id INTEGER PRIMARY KEY, thing_sealed TEXT)');
  await database.close();
  await expect(runner.run(['secrets', 'rotate', '--yes'])).rejects.toThrow('later.thing_sealed');
  expect(opened(keyOf())).toHaveLength(9);
});

test('it asks first, and refuses while another process uses the folder', async () => {
  await expect(runner.run(['secrets', 'rotate'])).rejects.toMatchObject({ code: 'input_needed' });
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  // Ten seconds go by between two looks.
  let looks = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => looks++ * 10_001);
  try {
    writeFileSync(join(data, 'gateway.lock'), JSON.stringify({ pid: other.pid, started: '' }));
    await expect(runner.run(['secrets', 'rotate', '--yes'])).rejects.toMatchObject({ code: 'data_dir_locked' });
  } finally {
    clock.mockRestore();
    other.kill();
  }
});
