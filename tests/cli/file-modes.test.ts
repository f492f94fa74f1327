/** What lies in the data folder is its owner's alone, also in a folder that everybody may look into. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openClient } from '../../cli/client.ts';
import { migrate } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import { dataDirFiles, ensureDataDir } from '../../server/app/data-dir.ts';
import { openDirect } from '../../server/app/in-process.ts';
import { restoreBackup } from '../../server/domain/backup/restore.ts';
import { createMaintenance } from '../../server/domain/backup/service.ts';

let home: string;
let dir: string;
const umask = process.umask();
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'modes-'));
  dir = join(home, 'data');
  mkdirSync(dir);
  chmodSync(dir, 0o755);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0)
    .map((entry) => entry.name);

test('database, log and key of a new folder, and its backup, are 0600 in a folder of 0755', async () => {
  expect(umask & 0o044).toBe(0);
  const gateway = await openDirect(dir, {});
  await gateway.call('setup.run', { username: 'root', password: 'password1', confirmPassword: 'password1' });
  expect(readdirSync(dir)).toEqual(
    expect.arrayContaining(['gateway.db', 'gateway.db-wal', 'gateway.db-shm', 'secret.key']),
  );
  expect(open(dir)).toEqual([]);
  await gateway.close();
  expect(open(dir)).toEqual([]);
  expect(statSync(dir).mode & 0o777).toBe(0o755);
});

test('files that others could read before are closed when the database is opened', async () => {
  const file = join(dir, 'gateway.db');
  const first = openDatabase(file);
  await migrate(first);
  for (const end of ['', '-wal', '-shm']) chmodSync(file + end, 0o644);
  const second = openDatabase(file);
  expect(open(dir)).toEqual([]);
  await second.close();
  await first.close();
  chmodSync(file, 0o664);
  const third = openDatabase(file);
  third.raw.exec('CREATE TABLE more (id INTEGER)');
  expect(open(dir)).toEqual([]);
  await third.close();
});

test('a backup is closed while it is made, and so is what it is restored to', async () => {
  const file = join(dir, 'gateway.db');
  const database = openDatabase(file);
  await migrate(database);
  const seen: string[][] = [];
  const maintenance = createMaintenance({
    database,
    version: 'test',
    // Asked for when the copy lies there and the backup is not written yet.
    now: () => {
      seen.push(
        readdirSync(dir).filter((name) => name.endsWith('.part')),
        open(dir),
      );
      return 0;
    },
  });
  await maintenance.backup(join(dir, 'kept.backup'));
  expect(seen).toEqual([['kept.backup.part'], []]);
  await database.close();
  await restoreBackup(join(dir, 'kept.backup'), file, 'stamp', undefined);
  expect(readdirSync(dir)).toEqual(expect.arrayContaining(['gateway.db', 'gateway.db.before-stamp', 'kept.backup']));
  expect(open(dir)).toEqual([]);
});

describe('a data directory whose path is too long for sockets', () => {
  const long = () => ensureDataDir(join(home, 'x'.repeat(100)));
  const remove = (path: string) => rmSync(path, { recursive: true, force: true });
  /** The folder's name follows from the path alone. */
  const socketDir = () => dataDirFiles(join(home, 'x'.repeat(100))).socketDir;

  afterEach(() => remove(socketDir()));

  test('has them in a folder of its own, which its user alone may enter', () => {
    const files = long();
    expect(files.socketDir).not.toBe(files.dir);
    expect(statSync(files.socketDir).mode & 0o777).toBe(0o700);
    expect(long().localSocket).toBe(files.localSocket);
  });

  test('is refused by server and commands when others may enter that folder, own it, or put a link in its place', async () => {
    const rejected = async () => {
      expect(long).toThrowError(expect.objectContaining({ code: 'socket_dir_foreign' }));
      const client = openClient({
        dataDir: join(home, 'x'.repeat(100)),
        url: '',
        token: '',
        userId: '',
        env: {},
        language: 'en',
        timeoutMs: 1000,
      });
      await expect(client).rejects.toMatchObject({ code: 'socket_dir_foreign' });
    };
    mkdirSync(socketDir(), { mode: 0o700 });
    chmodSync(socketDir(), 0o770);
    await rejected();
    remove(socketDir());
    symlinkSync(home, socketDir());
    await rejected();
    remove(socketDir());
    writeFileSync(socketDir(), '');
    await rejected();
    remove(socketDir());
    mkdirSync(socketDir(), { mode: 0o700 });
    const own = process.getuid;
    process.getuid = () => (own?.() ?? 0) + 1;
    try {
      // Another user's folder of the same name: the name holds the user's number, so the stranger's is made here.
      mkdirSync(socketDir(), { mode: 0o700 });
      await rejected();
    } finally {
      remove(socketDir());
      process.getuid = own;
    }
  });
});
