/** Which folder a command works with, and whose files are left in it. */
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireLock, ensureDataDir, resolveDataDir } from '../../server/app/data-dir.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('after the package is installed, root and its user find the folder of the service', () => {
  const service = join(dir, 'service');
  const home = join(dir, 'home');
  const own = join(home, 'gateway');
  const found = () => resolveDataDir(undefined, { XDG_DATA_HOME: home }, dir, service);
  expect(found()).toBe(own);
  mkdirSync(service);
  expect(found()).toBe(service);
  expect(resolveDataDir(undefined, {}, dir, service)).toBe(service);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'gateway.db'), '');
  expect(found()).toBe(own);
  expect(resolveDataDir(undefined, { GATEWAY_DATA_DIR: 'named' }, dir, service)).toBe(join(dir, 'named'));
  expect(resolveDataDir('flag', { GATEWAY_DATA_DIR: 'named' }, dir, service)).toBe(join(dir, 'flag'));
});

test('the folder of a service is not used by a user who may not write to it', () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  const below = join(file, 'service');
  expect(resolveDataDir(undefined, { HOME: dir }, dir, below)).not.toBe(below);
});

test('what root writes into the folder of a service belongs to the service', () => {
  const data = join(dir, 'data');
  mkdirSync(data);
  // Anybody but root can only have a folder of their own.
  const uid = process.getuid?.() === 0 ? 65_431 : statSync(data).uid;
  if (process.getuid?.() === 0) chownSync(data, uid, uid);
  const unlock = acquireLock(ensureDataDir(data));
  const key = join(data, 'secret.key');
  writeFileSync(key, '', { mode: 0o600 });
  unlock();
  expect(statSync(key).uid).toBe(uid);
});

test('a folder for owed settlements that the environment names is made readable by its owner alone', () => {
  const owed = join(dir, 'owed');
  const env = { HOME: dir, GATEWAY_OWED_DIR: owed };
  expect(ensureDataDir(join(dir, 'data'), { HOME: dir }).pending.map((one) => one.dir)).not.toContain(owed);
  expect(existsSync(owed)).toBe(false);
  expect(ensureDataDir(join(dir, 'data'), env).pending[1]?.dir).toBe(owed);
  expect(statSync(owed).mode & 0o777).toBe(0o700);
  writeFileSync(join(dir, 'file'), '');
  expect(() => ensureDataDir(join(dir, 'data'), { GATEWAY_OWED_DIR: join(dir, 'file') })).toThrow(
    expect.objectContaining({
      code: 'data_dir_unreadable',
      params: expect.objectContaining({ dir: join(dir, 'file') }),
    }),
  );
});
