/** Looking after the file of a site and its copies: what is sound, what is damaged and how that is said. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { extractBackup, readHeader, writeBackup } from '../../db/backup-file.ts';
import {
  checkDatabase,
  copyDatabase,
  copyNamed,
  fullCheck,
  planCopy,
  quickCheck,
  schemaOf,
  vacuumDatabase,
  writeMigrationBackup,
} from '../../db/database-file.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import { openMigrated } from '../support/migrated.ts';

let dir = '';
let site: SqliteDatabase;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-files-'));
  site = await openMigrated(join(dir, 'site.db'));
});
afterEach(async () => {
  await site.close();
  rmSync(dir, { recursive: true, force: true });
});
const codeOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    const { code, params } = error as { code: string; params: { detail?: string } };
    return [code, params.detail];
  }
};

test('a sound file has no problems; broken references and broken indexes are named', () => {
  expect(checkDatabase(site)).toEqual({ schema: newestSqlite, problems: [] });
  expect([quickCheck(site), fullCheck(site), schemaOf(site)]).toEqual([[], [], newestSqlite]);
  site.raw.exec('CREATE TABLE child (id INTEGER PRIMARY KEY, of INTEGER REFERENCES accounts (id)) STRICT');
  site.raw.pragma('foreign_keys = OFF');
  site.raw.exec('INSERT INTO child (of) VALUES (987654)');
  expect(checkDatabase(site).problems).toEqual(['foreign key: child']);
  site.raw.exec('CREATE TABLE many (a INTEGER) STRICT; CREATE INDEX many_a ON many (a)');
  site.raw.exec("INSERT INTO many SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9]')");
  // The index says other rows than the table has.
  (site.raw as unknown as { unsafeMode(on: boolean): void }).unsafeMode(true);
  site.raw.pragma('writable_schema = ON');
  site.raw.exec("UPDATE sqlite_master SET sql = 'CREATE INDEX many_a ON many (a + 1)' WHERE name = 'many_a'");
  site.raw.pragma('writable_schema = RESET');
  // Five of each table, so that one says what the others have.
  expect(fullCheck(site)).toEqual(Array.from({ length: 5 }, (_, at) => `row ${at + 1} missing from index many_a`));
});

test('space is given back, and a copy is the same', async () => {
  site.raw.exec(
    "CREATE TABLE big (a TEXT) STRICT; INSERT INTO big SELECT hex(randomblob(2000)) FROM json_each('[1,2,3,4,5,6,7,8,9]'); DROP TABLE big",
  );
  const { before, after } = vacuumDatabase(site);
  expect(after).toBeLessThan(before);
  expect(statSync(join(dir, 'site.db')).size).toBe(after);
  copyDatabase(site, join(dir, 'copy.db'));
  const copy = openDatabase(join(dir, 'copy.db'), { readonly: true });
  expect([schemaOf(copy), statSync(join(dir, 'copy.db')).mode & 0o777]).toEqual([newestSqlite, 0o600]);
  await copy.close();
});

test('the two newest copies before migrations stay, and nothing half-made', async () => {
  const backups = join(dir, 'backups');
  mkdirSync(backups);
  for (const [index, name] of ['before-0002-from-0001.backup', 'before-0003-from-0002.db', 'other.backup'].entries()) {
    writeFileSync(join(backups, name), 'x');
    utimesSync(join(backups, name), index + 1, index + 1);
  }
  const plan = planCopy(site, '0003-x', '0004-y');
  expect(plan).toEqual({
    file: join(backups, 'before-0004-y-from-0003-x.backup'),
    drafts: [
      join(backups, 'before-0004-y-from-0003-x.backup.copy'),
      join(backups, 'before-0004-y-from-0003-x.backup.part'),
    ],
    bytes: expect.any(Number),
  });
  expect(plan.bytes).toBeGreaterThan(100_000);
  await writeMigrationBackup(site, plan, { schema: '0003-x', version: '1.2.3' });
  expect(readdirSync(backups).sort()).toEqual([
    'before-0003-from-0002.db',
    'before-0004-y-from-0003-x.backup',
    'other.backup',
  ]);
  expect(readHeader(plan.file).header).toMatchObject({ format: 1, schema: '0003-x', version: '1.2.3' });
  writeFileSync(join(dir, 'no-folder'), '');
  const blocked = {
    file: join(dir, 'no-folder', 'x.backup'),
    drafts: [join(dir, 'a'), join(dir, 'b')] as const,
    bytes: 1,
  };
  await expect(writeMigrationBackup(site, blocked, { schema: 's', version: 'v' })).rejects.toMatchObject({
    code: 'backup_unwritable',
  });
  expect(existsSync(join(dir, 'a'))).toBe(false);
  expect([
    copyNamed('before-2-from-1.backup'),
    copyNamed('before-2-from-1.db'),
    copyNamed('before-2.db'),
    copyNamed('xbefore-2-from-1.db'),
  ]).toEqual([{ next: '2', schema: '1' }, { next: '2', schema: '1' }, null, null]);
});

test('a backup says what is in it, and is refused with one byte missing or another', async () => {
  const plain = join(dir, 'plain');
  const file = join(dir, 'x.backup');
  writeFileSync(plain, Buffer.alloc((1 << 20) + 17, 'abc'));
  const header = await writeBackup(file, plain, { schema: 's', version: 'v', created_at: 9 });
  expect(header).toMatchObject({ format: 1, bytes: (1 << 20) + 17, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await expect(writeBackup(file, plain, header)).rejects.toMatchObject({ code: 'EEXIST' });
  const out = join(dir, 'out');
  expect(await extractBackup(file, out)).toEqual(header);
  expect(readFileSync(out).equals(readFileSync(plain))).toBe(true);
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const bytes = readFileSync(file);
  const damaged = async (name: string, content: Buffer | string) => {
    writeFileSync(join(dir, name), content);
    return extractBackup(join(dir, name), out).catch((error: { code: string; params: { detail: string } }) => [
      error.code,
      error.params.detail,
    ]);
  };
  expect(await damaged('short', bytes.subarray(0, -1))).toEqual(['backup_damaged', '1048592 bytes instead of 1048593']);
  const other = Buffer.from(bytes);
  other[other.length - 1] = 0;
  expect(await damaged('other', other)).toEqual(['backup_damaged', 'checksum']);
  expect(await damaged('none', 'GATEWAY-BACKUP {}')).toEqual(['backup_damaged', 'no header']);
  expect(await damaged('text', 'something\nelse')).toEqual(['backup_damaged', 'no header']);
  expect(await damaged('broken', 'GATEWAY-BACKUP {"format":\nrest')).toEqual(['backup_damaged', 'header']);
  expect(codeOf(() => readHeader(join(dir, 'none')))).toEqual(['backup_damaged', 'no header']);
  // The copy of an earlier build is the file itself.
  vacuumDatabase(site);
  utimesSync(join(dir, 'site.db'), 77, 77.9);
  expect(await extractBackup(join(dir, 'site.db'), out)).toEqual({
    format: 1,
    schema: '',
    version: '',
    created_at: 77,
    bytes: statSync(out).size,
    sha256: '',
  });
});
