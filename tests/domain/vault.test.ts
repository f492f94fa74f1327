import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVault, keyHint, loadMasterKey } from '../../server/domain/secrets/vault.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'vault-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const unreadable = expect.objectContaining({ code: 'secret_unreadable' });

test('a seal opens for its purpose, with its key, unharmed', () => {
  const vault = createVault(Buffer.from('a master key'));
  for (const text of ['', 'sk-1', '密钥 🔑', 'x'.repeat(100_000)]) {
    const sealed = vault.encrypt('channel-key', text);
    expect(vault.open('channel-key', sealed)).toBe(text);
    expect(() => vault.open('token-key', sealed)).toThrow(unreadable);
    expect(() => createVault(Buffer.from('another key')).open('channel-key', sealed)).toThrow(unreadable);
  }
  const sealed = vault.encrypt('channel-key', 'sk-canary');
  expect(sealed).not.toContain('canary');
  expect(vault.encrypt('channel-key', 'sk-canary')).not.toBe(sealed);
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const bent = Buffer.from(bytes);
    bent[at] = (bent[at] ?? 0) ^ 1;
    expect(() => vault.open('channel-key', `v1.${bent.toString('base64url')}`)).toThrow(unreadable);
  }
  for (const nonsense of ['', 'v1.', 'v2.abc', 'plain text', sealed.slice(0, 12)])
    expect(() => vault.open('channel-key', nonsense)).toThrow(unreadable);
});

test('keys are looked up by an HMAC that depends on the master key', () => {
  const one = createVault(Buffer.from('one'));
  expect(one.keyHmac('k')).toMatch(/^[0-9a-f]{64}$/);
  expect(one.keyHmac('k')).toBe(createVault(Buffer.from('one')).keyHmac('k'));
  expect(one.keyHmac('k')).not.toBe(createVault(Buffer.from('two')).keyHmac('k'));
});

test('the key file is made once, for its owner alone', () => {
  const file = join(dir, 'secret.key');
  const key = loadMasterKey(file, {});
  expect(key.length).toBeGreaterThanOrEqual(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(loadMasterKey(file, {})).toEqual(key);
  expect(loadMasterKey(join(dir, 'other.key'), {})).not.toEqual(key);
});

test('the environment wins, by value or by file', () => {
  const file = join(dir, 'secret.key');
  writeFileSync(join(dir, 'given'), ' key-from-a-mounted-file\n');
  expect(loadMasterKey(file, { GATEWAY_SECRET_KEY: 'key-from-the-environment' }).toString()).toBe(
    'key-from-the-environment',
  );
  expect(loadMasterKey(file, { GATEWAY_SECRET_KEY_FILE: join(dir, 'given') }).toString()).toBe(
    'key-from-a-mounted-file',
  );
});

test('an empty or cut-off key is refused', () => {
  const file = join(dir, 'secret.key');
  for (const text of ['', '\n', 'short']) {
    writeFileSync(file, text);
    expect(() => loadMasterKey(file, {})).toThrow(unreadable);
  }
  expect(() => loadMasterKey(file, { GATEWAY_SECRET_KEY: 'short' })).toThrow(unreadable);
});

test('hints show too little to guess from', () => {
  expect(keyHint('sk-abcdefghijklmnop')).toBe('sk-a…mnop');
  expect(keyHint('short')).toBe('…');
});
