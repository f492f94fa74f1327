/** One kind of backup for both engines: made while everybody works, and restored into either. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, expect, test } from 'vitest';
import { extractBackup } from '../../db/backup-file.ts';
import { ledgerStats } from '../../db/ledger/sqlite/stats.ts';
import { movedTables } from '../../db/move/tables.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import type { DatabasePlace, PostgresPlace } from '../../db/place.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { cleanValues } from '../../db/postgres/text.ts';
import { newestPostgres } from '../../db/schema/migrations.ts';
import { restore } from '../../server/app/data-dir-commands.ts';
import { moveToFile, moveToServer } from '../../server/app/move-database.ts';
import { reportsOf } from '../../server/billing/ledger/verify.ts';
import { AppError } from '../../server/contract/errors.ts';
import { restoreToServer } from '../../server/domain/backup/restore.ts';
import { createMaintenance } from '../../server/domain/backup/service.ts';
import { verifiedBackup } from '../../server/domain/backup/verified.ts';
import { deduct, grant } from '../ledger/support.ts';
import { newDatabase, requested } from '../support/engines.ts';
import { ledgerOn } from '../support/ledger-on.ts';
import { makeSite } from './whole-site.ts';

const dir = mkdtempSync(join(tmpdir(), 'gateway-backup-'));
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let count = 0;
function folder(): string {
  const made = join(dir, `data-${count++}`);
  mkdirSync(made);
  return made;
}

async function server(migrated = false): Promise<PostgresPlace> {
  const { url, drop } = await newDatabase(migrated);
  ends.push(drop);
  return { engine: 'postgres', url };
}

const backupOf = async (source: DatabasePlace): Promise<string> => {
  const target = join(folder(), 'one.backup');
  await verifiedBackup({ source, target, nativeBinding: undefined, version: 'test', at: 1 });
  return target;
};

const open = (data: string): SqliteDatabase => openDatabase(join(data, 'gateway.db'), { readonly: true });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

/** Names of the tables in which two files differ. */
async function differing(one: string, other: string): Promise<string[]> {
  const databases = [open(one), open(other)] as const;
  const rowsOf = ({ raw }: SqliteDatabase, table: string, key: readonly string[]) =>
    raw.prepare<unknown[]>(`SELECT * FROM ${table} ORDER BY ${key.join()}`).raw().all().map(cleanValues);
  const [first, second] = databases;
  const found = movedTables
    .filter(({ name, key }) => !isDeepStrictEqual(rowsOf(first, name, key), rowsOf(second, name, key)))
    .map(({ name }) => name);
  for (const database of databases) await database.close();
  return found;
}

/** Its books add up, as a backup's have to. */
async function soundSite(): Promise<string> {
  const data = folder();
  const file = await makeSite(join(data, 'gateway.db'));
  const { raw } = openDatabase(file);
  const grants = Array.from({ length: 9 }, (_, n) => `('g${n}', -1, 1, 1000000000000000, 'grant', 1)`);
  raw.exec(`DELETE FROM postings; DELETE FROM accounts WHERE id < 0; UPDATE users SET aff_quota = 0, aff_history_quota = 0;
    UPDATE accounts SET balance = 0, used_quota = 0, overrun = 0; UPDATE tokens SET used_quota = 0; UPDATE channels SET used_quota = 0;
    UPDATE redemptions SET status = 1 WHERE status = 3; UPDATE top_ups SET status = 'pending' WHERE status = 'success';
    INSERT INTO accounts (id, balance) VALUES (-1, -9000000000000000);
    INSERT INTO postings (ref, debit, credit, amount, kind, at) VALUES ${grants.join()};
    UPDATE accounts SET balance = 9000000000000000 WHERE id = 1`);
  raw.close();
  return data;
}

test('what a server holds is backed up and restored into a file and into another server, row by row the same', async () => {
  const site = await soundSite();
  const place = await server();
  await moveToServer({ dataDir: site, server: place });
  const backup = await backupOf(place);

  const file = folder();
  await restore(backup, file, 'x', {});
  expect(await differing(site, file)).toEqual([]);

  const other = await server();
  const data = folder();
  await restore(backup, data, 'x', { DATABASE_URL: other.url });
  expect(readdirSync(data).filter((name) => name.includes('restoring'))).toEqual([]);
  const back = folder();
  await moveToFile({ dataDir: back, server: other });
  expect(await differing(site, back)).toEqual([]);
  expect(await codeOf(restore(backup, data, 'x', { DATABASE_URL: other.url }))).toBe('move_not_empty');
});

test('the backup of a file is restored into a server, and one that stopped goes on', async () => {
  const site = await soundSite();
  const backup = await backupOf({ engine: 'sqlite', file: join(site, 'gateway.db') });
  const place = await server();
  const stop = new Error('stopped');
  const order = { file: backup, dir: folder(), server: place, nativeBinding: undefined };
  const half = restoreToServer({
    ...order,
    progress: ({ table }) => {
      if (table === 'logs') throw stop;
    },
  });
  expect(await codeOf(half)).toBe(String(stop));
  await restoreToServer(order);
  // A copy can be made only while no client is connected.
  const name = new URL(place.url).pathname.slice(1);
  await requested(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
  await requested(`DROP DATABASE ${name}_copy`);
  const back = folder();
  await moveToFile({ dataDir: back, server: place });
  expect(await differing(site, back)).toEqual([]);
});

test('a backup is one moment, whatever is posted meanwhile', async () => {
  const place = await server(true);
  const database = await openPostgres(place);
  const ids = Array.from({ length: 50 }, (_, index) => index + 1);
  for (const id of ids)
    await database.pool.query(
      `WITH made AS (INSERT INTO users (id, username, password_hash, created_at) VALUES (${id}, 'u${id}', 'x', 1))
       INSERT INTO accounts (id) VALUES (${id})`,
    );
  const ledger = await ledgerOn(database);
  let stopped = false;
  let posted = 0;
  const posting = (async () => {
    for (let n = 0; !stopped; n++) {
      await Promise.all(ids.flatMap((id) => [ledger.execute(grant(`g${n}-${id}`, id, 5))]));
      await Promise.all(ids.map((id) => ledger.execute(deduct(`d${n}-${id}`, id, 2))));
      posted += 2 * ids.length;
    }
  })();
  try {
    await expect.poll(() => posted).toBeGreaterThan(0);
    const before = posted;
    const backup = await backupOf(place);
    await expect.poll(() => posted).toBeGreaterThan(before);
    const plain = join(folder(), 'plain.db');
    await extractBackup(backup, plain);
    const copy = openDatabase(plain);
    expect(reportsOf(ledgerStats(copy.raw)).filter(({ violations }) => violations > 0)).toEqual([]);
    expect(copy.raw.prepare<number>('SELECT count(*) FROM postings').pluck().get()).toBeGreaterThan(0);
    await copy.close();
  } finally {
    stopped = true;
    await posting;
    ledger.close();
    await database.close();
  }
});

test('a server is looked after like a file: its schema, what is not whole, room given back', async () => {
  const place = await server(true);
  const database = await openPostgres(place);
  const { backup, check, vacuum } = createMaintenance({
    database,
    dataFolder: { folder: folder(), nativeBinding: undefined },
    version: 'test',
    now: () => 7000,
  });
  expect(await check('en')).toMatchObject({ schema: newestPostgres, problems: [] });
  const sizes = await vacuum();
  expect(Math.min(sizes.before, sizes.after)).toBeGreaterThan(0);
  const file = join(folder(), 'one.backup');
  expect(await backup(file)).toMatchObject({ created_at: 7, version: 'test' });
  expect(readdirSync(dirname(file))).toEqual(['one.backup']);
  await database.pool.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'users_username_key'::regclass");
  expect((await check('en')).problems).toEqual(['index users_username_key is not whole']);
  await database.close();
});

test('the commands of the terminal do so on a server', async () => {
  const site = await soundSite();
  // The key that these are encrypted under is gone.
  const { raw } = openDatabase(join(site, 'gateway.db'));
  for (const table of ['tokens', 'channels', 'redemptions', 'second_factors', 'webhook_secrets'])
    raw.exec(`DELETE FROM ${table}`);
  raw.close();
  const [place, other] = [await server(), await server()];
  await moveToServer({ dataDir: site, server: place });
  const backups = folder();
  const run = async (url: string, ...args: readonly string[]) => {
    const line = [...args, '--database', url, '--data-dir', join(backups, 'data'), '--json', '--yes'];
    const child = Bun.spawn([process.execPath, resolve(import.meta.dirname, '../../cli/main.ts'), ...line], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err], args.join(' ')).toEqual([0, expect.anything()]);
    return JSON.parse(out);
  };
  const file = join(backups, 'one.backup');
  expect(await run(place.url, 'backup', 'create', file)).toMatchObject({ file, schema: expect.any(String) });
  expect(await run(other.url, 'backup', 'restore', file)).toMatchObject({ result: 'updated', kept: '' });
  expect(await run(other.url, 'db', 'path')).toEqual({ path: new URL(other.url).host + new URL(other.url).pathname });
  expect(await run(other.url, 'db', 'status')).toMatchObject({ schema: newestPostgres });
  expect(await run(other.url, 'db', 'check')).toMatchObject({ problems: [] });
  expect(await run(other.url, 'user', 'list')).toHaveLength((await run(place.url, 'user', 'list')).length);
});
