/** Upgrading the executable from a signed file, and going back with program and data. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { isOlder, rollback, upgradeFrom } from '../../cli/commands/site/upgrade.ts';
import { createContext } from '../../cli/context.ts';
import { rejectManaged } from '../../cli/parts/installed-program.ts';
import { schemaOf } from '../../db/database-file.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { newestSqlite as newest, sqliteMigrations } from '../../db/schema/migrations.ts';
import { addUsers } from '../ledger/support.ts';
import { openOld } from '../support/old-schema.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const [, second = '', third = ''] = sqliteMigrations.map(({ name }) => name);

/** Another build, as far as an upgrade asks it. */
const build = (version: string, knows: string, schema = ''): string => `#!/bin/sh
case "$1" in
version) echo '{"version":"${version}"}' ;;
db) echo '{"schema":"${schema}","newest":"${knows}"}' ;;
esac
`;

let dir: string;
let program: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-upgrade-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'release'));
  program = join(dir, 'gateway');
  writeFileSync(program, build('v1', second), { mode: 0o755 });
});

/** Writes files as a release lays them out. */
function publish(files: Readonly<Record<string, string | Uint8Array>>, signer = privateKey): string[] {
  const sums = Object.entries(files)
    .map(([name, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
    .join('');
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(dir, 'release', name), bytes);
  writeFileSync(join(dir, 'release', 'SHA256SUMS'), sums);
  writeFileSync(join(dir, 'release', 'SHA256SUMS.sig'), sign(null, Buffer.from(sums), signer));
  return Object.keys(files).map((name) => join(dir, 'release', name));
}

function session(lang: 'en' | 'zh' = 'en') {
  let out = '';
  const write = (text: string) => {
    out += text;
  };
  const streams = { out: { write }, err: { write: () => undefined }, outIsTty: false, columns: 80 };
  const flags = { dataDir: join(dir, 'data'), lang, yes: true };
  const context = createContext(flags, { HOME: dir }, streams, process.stdin, () => '');
  return { context, out: () => out };
}

const upgradeWith = async (file = '', publicPem = key, allowsDowngrade = false) => {
  const { context, out } = session();
  await upgradeFrom(context, program, file, publicPem, allowsDowngrade);
  return out();
};

test('a signed executable takes the place of the present one, which is kept', async () => {
  const [file] = publish({ 'gateway-linux-x64': build('v2', second) });
  expect(await upgradeWith(file)).toContain('installed v2');
  expect(readFileSync(program, 'utf8')).toBe(build('v2', second));
  expect(readFileSync(`${program}.former`, 'utf8')).toBe(build('v1', second));
  expect(readdirSync(dir).sort()).toEqual(['gateway', 'gateway.former', 'release']);
});

test('an older release is installed only where that is said, however rightly it is signed', async () => {
  const [file] = publish({ 'gateway-linux-x64': build('v0.1.0-old', second) });
  await expect(upgradeWith(file)).rejects.toMatchObject({ code: 'upgrade_downgrade' });
  expect(readFileSync(program, 'utf8')).toBe(build('v1', second));
  expect(readdirSync(dir).sort()).toEqual(['gateway', 'release']);
  expect(await upgradeWith(file, key, true)).toContain('installed v0.1.0-old');
  expect(readFileSync(program, 'utf8')).toBe(build('v0.1.0-old', second));
});

test.each([
  ['v0.1.9', true],
  ['v0.2.0-rc.1', true],
  ['0.2.0', false],
  ['v0.2.0+build', false],
  ['v0.10.0', false],
  ['v1', false],
  ['nightly', true],
  ['', true],
])('%j is older than v0.2.0: %s', (version, older) => {
  expect(isOlder(version, 'v0.2.0')).toBe(older);
});

test('an archive is unpacked, whatever its file is called now', async () => {
  const content = { 'gateway-v2/gateway': build('v2', second), 'gateway-v2/README': 'x' };
  const packed = await new Bun.Archive(content, { compress: 'gzip' }).bytes();
  expect([...packed.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
  const [file = ''] = publish({ 'gateway-linux-x64.tar.gz': packed });
  const renamed = join(dir, 'release', 'download.tgz');
  writeFileSync(renamed, readFileSync(file));
  expect(await upgradeWith(renamed)).toContain('installed v2');
  expect(readFileSync(program, 'utf8')).toBe(build('v2', second));
});

test('an executable that is not signed, not listed, or does not run changes nothing', async () => {
  const before = readFileSync(program);
  const { privateKey: stranger } = generateKeyPairSync('ed25519');
  const [foreign] = publish({ gateway: build('v2', second) }, stranger);
  await expect(upgradeWith(foreign)).rejects.toMatchObject({ code: 'release_unsigned' });
  const [file = ''] = publish({ gateway: build('v2', second) });
  await expect(upgradeWith(file, '')).rejects.toMatchObject({ code: 'release_key_missing' });
  await expect(upgradeWith(file, 'no key')).rejects.toMatchObject({ code: 'release_key_unusable' });
  writeFileSync(file, `${build('v2', second)}# changed`);
  await expect(upgradeWith(file)).rejects.toMatchObject({ code: 'release_unlisted' });
  const [broken] = publish({ gateway: 'for another machine' });
  await expect(upgradeWith(broken)).rejects.toMatchObject({ code: 'release_unusable' });
  const [empty] = publish({ 'gateway.tar.gz': await new Bun.Archive({ README: 'x' }, { compress: 'gzip' }).bytes() });
  await expect(upgradeWith(empty)).rejects.toMatchObject({ code: 'release_unusable' });
  rmSync(join(dir, 'release', 'SHA256SUMS.sig'));
  await expect(upgradeWith(file)).rejects.toMatchObject({ code: 'not_found' });
  expect(readFileSync(program)).toEqual(before);
  expect(readdirSync(dir).sort()).toEqual(['gateway', 'release']);
});

test('an executable that does not know the schema of the data is not installed', async () => {
  const [file] = publish({ gateway: build('v0', second, third) });
  await expect(upgradeWith(file)).rejects.toMatchObject({ code: 'upgrade_older' });
  expect(existsSync(`${program}.former`)).toBe(false);
});

test('an executable that a package manager installed is left to it', () => {
  for (const [path, command] of [
    ['/usr/bin/gateway', 'apt install'],
    ['/usr/lib/node_modules/gateway/gateway', 'npm install'],
    ['/opt/homebrew/Cellar/gateway/1/bin/gateway', 'brew upgrade'],
    ['C:\\Users\\ann\\scoop\\apps\\gateway\\current\\gateway.exe', 'scoop update'],
  ] as const)
    expect(() => rejectManaged(path)).toThrowError(
      expect.objectContaining({ message: expect.stringContaining(command) }),
    );
  for (const path of ['/usr/local/bin/gateway', '/opt/gateway', 'C:\\gateway\\gateway.exe'])
    expect(() => rejectManaged(path)).not.toThrow();
});

/** Data of the build before, upgraded by the present one, and a user added since. */
async function upgradedData(): Promise<string> {
  const data = join(dir, 'data');
  mkdirSync(data, { mode: 0o700 });
  const file = join(data, 'gateway.db');
  const database = openOld(file, second);
  addUsers(database.raw, 7);
  await migrate(database);
  addUsers(database.raw, 8);
  await database.close();
  return file;
}

const usersIn = (file: string): number[] => {
  const database = openDatabase(file, { readonly: true });
  try {
    return database.raw.prepare<number>('SELECT id FROM users ORDER BY id').pluck().all();
  } finally {
    database.raw.close();
  }
};

test.each(['en', 'zh'] as const)('going back brings executable and data of before the upgrade: %s', async (lang) => {
  const file = await upgradedData();
  writeFileSync(`${program}.former`, build('v1', second, newest), { mode: 0o755 });
  writeFileSync(program, build('v2', newest), { mode: 0o755 });
  const { context, out } = session(lang);
  await rollback(context, program);
  expect(out()).toContain(`before-${newest}-from-${second}`);
  expect(out()).toContain(lang === 'zh' ? '已恢复 v1' : 'restored v1');
  expect(readFileSync(program, 'utf8')).toBe(build('v1', second, newest));
  expect(readFileSync(`${program}.newer`, 'utf8')).toBe(build('v2', newest));
  expect(usersIn(file)).toEqual([7]);
  const database = openDatabase(file, { readonly: true });
  expect(schemaOf(database)).toBe(second);
  await database.close();
  const kept = readdirSync(join(dir, 'data')).filter((name) => name.startsWith('gateway.db.before-'));
  expect(kept.map((name) => usersIn(join(dir, 'data', name)))).toEqual([[7, 8]]);
});

test('going back leaves data alone that the former executable reads', async () => {
  const file = await upgradedData();
  writeFileSync(`${program}.former`, build('v1', newest, newest), { mode: 0o755 });
  await rollback(session().context, program);
  expect(usersIn(file)).toEqual([7, 8]);
  expect(readFileSync(program, 'utf8')).toBe(build('v1', newest, newest));
});

test('without a copy of before the upgrade neither executable nor data change', async () => {
  const file = await upgradedData();
  const [copy = ''] = readdirSync(join(dir, 'data', 'backups'));
  expect(basename(copy)).toContain(second);
  rmSync(join(dir, 'data', 'backups', copy));
  await expect(rollback(session().context, program)).rejects.toMatchObject({ code: 'rollback_missing' });
  writeFileSync(`${program}.former`, build('v1', second, newest), { mode: 0o755 });
  const before = readFileSync(program);
  await expect(rollback(session().context, program)).rejects.toMatchObject({ code: 'rollback_data' });
  expect(readFileSync(program)).toEqual(before);
  expect(usersIn(file)).toEqual([7, 8]);
});
