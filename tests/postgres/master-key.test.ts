/** A new master key for a site on PostgreSQL: while no node lives, all of it or nothing, and no node goes on with the old one. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { endRotation, rotate } from '../../server/domain/secrets/rotation.ts';
import { loadMasterKey } from '../../server/domain/secrets/vault.ts';
import { ask, openSellingSite, type SellingSite } from './serving.ts';

let site: SellingSite;
beforeEach(async () => {
  site = await openSellingSite();
});
afterEach(() => site.close());

/** The key lies in a file of each machine. */
const fromFile = { env: { GATEWAY_SECRET_KEY: '' } };
const newKey = 'another key of the site';
const rotateTo = (dir: string) =>
  site.run(['secrets', 'rotate', '--key-stdin', '--yes', '--json'], { dir, input: newKey });

test('refused while a node lives, by its name; then keys, channels and secrets go on under the new one alone', async () => {
  const node = await site.start();
  const key = await site.furnish(node);
  await node.client.call('option.set', { key: 'SMTPToken', value: 'canary-mail' } as never);
  const idle = site.folder();
  const rejected = await rotateTo(idle);
  expect([rejected.code, rejected.err]).toEqual([6, expect.stringMatching(/Nodes of .+ are running \(.+\)/)]);
  expect((await node.chat(key, ask)).status).toBe(200);
  expect(await node.stop()).toBe(0);

  const before = await site.rows('SELECT key_sealed, key_hmac FROM tokens');
  const rotated = await rotateTo(idle);
  expect([rotated.code, rotated.err]).toEqual([0, '']);
  expect(JSON.parse(rotated.out)).toMatchObject({ result: 'updated', values: 3, kept: '' });
  expect(await site.rows('SELECT key_sealed, key_hmac FROM tokens')).not.toEqual(before);

  const old = await site.run(['token', 'show-key', 't'], { dir: idle });
  expect([old.code, old.err]).toEqual([1, expect.stringContaining('Cannot decrypt')]);
  await expect(site.start({ dir: node.dir })).rejects.toThrow('Cannot decrypt');
  const fresh = await site.start({ dir: node.dir, env: { GATEWAY_SECRET_KEY: newKey } });
  expect((await fresh.chat(key, ask)).status).toBe(200);
  expect(site.upstream.requests.at(-1)?.headers.authorization).toBe('Bearer sk-upstream-secret-key');
});

test('a key in a file is replaced where the command runs, the others need the new file; a rotation that died is ended or undone', async () => {
  const dir = site.folder();
  const outputOf = async (args: readonly string[], where = dir, input = '') => {
    const { code, out, err } = await site.run([...args, '--yes'], { dir: where, input, ...fromFile });
    expect([code, err], args.join(' ')).toEqual([0, expect.anything()]);
    return out;
  };
  await outputOf(['setup', '--username', 'root', '--password-stdin'], dir, 'password1');
  const key = (await outputOf(['token', 'create', '--name', 'ci', '-q'])).trim();
  const file = join(dir, 'secret.key');
  const other = site.folder();
  mkdirSync(other, { recursive: true });
  copyFileSync(file, join(other, 'secret.key'));
  const out = await outputOf(['secrets', 'rotate', '--keep-old']);
  expect(out).toContain('copy the new secret.key');
  expect(readdirSync(dir).filter((name) => name.startsWith('secret.key'))).toHaveLength(2);
  expect((await site.run(['token', 'list'], { dir: other, ...fromFile })).code).toBe(1);
  copyFileSync(file, join(other, 'secret.key'));
  expect((await outputOf(['token', 'show-key', 'ci', '-q'], other)).trim()).toBe(key);

  const place = { engine: 'postgres', url: site.url } as const;
  for (const at of ['written', 'renewed', 'copied'] as const) {
    const database = await openDatabase(place);
    const before = readFileSync(file, 'utf8');
    const order = { from: loadMasterKey(file, {}), to: '', inFile: true, keepOld: false, stamp: at };
    const died = rotate(file, database, order, (step) => {
      if (step === at) throw new Error('killed');
    });
    await expect(died).rejects.toThrow('killed');
    await database.close();
    expect(existsSync(`${file}.next`)).toBe(true);
    await endRotation({ database: place, secretKey: file }, undefined, `${at}-again`);
    expect(existsSync(`${file}.next`)).toBe(false);
    expect(readFileSync(file, 'utf8') === before).toBe(at === 'written');
    expect((await outputOf(['token', 'show-key', 'ci', '-q'])).trim()).toBe(key);
  }
});

test('a node that only stood still ends when it wakes up after its key has been changed', async () => {
  const node = await site.start();
  await site.furnish(node);
  node.process.kill('SIGSTOP');
  const rotated = async () => {
    // As time would do it, when the last sign of life that was on its way has come.
    await site.rows("UPDATE nodes SET expires_at = clock_timestamp() - interval '1 s'");
    return (await rotateTo(site.folder())).code;
  };
  await expect.poll(rotated, { timeout: 60_000 }).toBe(0);
  node.process.kill('SIGCONT');
  expect(await node.process.exited).not.toBe(0);
  expect(node.output()).toContain('Cannot decrypt');
});
