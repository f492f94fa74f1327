/** A site that is put in the place of another, copied out of a server, broken off and taken up again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJobLock } from '../../db/create-job-lock.ts';
import { createLedgerStore } from '../../db/ledger/sqlite/store.ts';
import { fillServer } from '../../db/move/fill.ts';
import { withInterruptNote } from '../../db/move/interrupted.ts';
import { type MoveProgress, moveSite } from '../../db/move/move.ts';
import { openTarget } from '../../db/move/open-target.ts';
import { sqliteEnd } from '../../db/move/sqlite-end.ts';
import { type MoveEnd, movedTables } from '../../db/move/tables.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import { openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { newestSqlite } from '../../db/schema/migrations.ts';
import { checkSite, portableCopy, vacuumSite } from '../../db/site-checks.ts';
import { addUsers, grant, settle } from '../ledger/support.ts';
import { openMigrated } from '../support/migrated.ts';
import { type LiteServer, serveLite } from '../support/pglite-server.ts';

let dir = '';
let server: LiteServer;
let database: PostgresDatabase;
let site: SqliteDatabase;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-moves-'));
  server = await serveLite();
  database = await openPostgres({ engine: 'postgres', url: server.url }, { connections: 3 });
  site = await openMigrated(join(dir, 'site.db'));
  addUsers(site.raw, 1, 2, 3);
  createLedgerStore(site.raw).apply([grant('g', 1, 50), settle('a', 1, 20), settle('b', 2, 40)]);
});
afterAll(async () => {
  await database.close();
  await site.close();
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const rowsOf = ({ raw }: SqliteDatabase) =>
  Object.fromEntries(
    movedTables.map(({ name, key }) => [name, raw.prepare(`SELECT * FROM ${name} ORDER BY ${key.join()}`).all()]),
  );
const place = () => ({ engine: 'postgres', url: server.url }) as const;

test('a database file moves to an empty server while no node lives, and comes back the same', async () => {
  await database.pool.query(
    "INSERT INTO nodes (node, run, version, schema, expires_at, started_at) VALUES ('n', 'r', 'v', 's', now() + interval '1 hour', 1)",
  );
  await expect(fillServer(database, site)).rejects.toMatchObject({ code: 'nodes_live', params: { nodes: 'n' } });
  await database.pool.query("UPDATE nodes SET state = 'expired'");
  const report = await fillServer(database, site);
  expect([report.continued, report.tables.length]).toEqual([0, movedTables.length]);
  expect(report.rows).toBe(report.tables.reduce((sum, { rows }) => sum + rows, 0));
  expect(report.tables.find(({ name }) => name === 'users')).toEqual({
    name: 'users',
    rows: 3,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  await expect(fillServer(database, site)).rejects.toMatchObject({ code: 'move_not_empty' });
  expect((await database.pool.query('SELECT ref, account, asked, paid FROM ends ORDER BY ref')).rows).toMatchObject([
    { ref: 'a', asked: 20, paid: 20 },
    { ref: 'b', asked: 40, paid: 0 },
  ]);
  expect(await portableCopy(database, join(dir, 'copy.db'), undefined)).toBe(newestSqlite);
  const copy = openDatabase(join(dir, 'copy.db'), { readonly: true });
  expect(rowsOf(copy)).toEqual(rowsOf(site));
  await copy.close();
  expect(await portableCopy(site, join(dir, 'second.db'), undefined)).toBe(newestSqlite);
  expect([(await checkSite(site)).problems, (await checkSite(database)).problems]).toEqual([[], []]);
  expect((await vacuumSite(site)).after).toBeGreaterThan(1000);
});

test('a move that is broken off goes on where it stopped, says how far it is, and begins anew where the source has changed', async () => {
  const target = await openMigrated(join(dir, 'target.db'));
  const told: MoveProgress[] = [];
  const breaking = (progress: MoveProgress) => {
    told.push(progress);
    if (progress.table === 'users' && progress.rows === 2) throw new Error('broken off');
  };
  const ends = { from: sqliteEnd(site), to: sqliteEnd(target) };
  await expect(moveSite({ ...ends, progress: breaking, batch: 2 })).rejects.toThrow('broken off');
  expect(told.at(-1)).toEqual({ step: 'copied', table: 'users', rows: 2, of: 3 });
  // Half a site is no site.
  expect(target.raw.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'move_cursor'").get()).toEqual({
    n: 1,
  });
  told.length = 0;
  const report = await moveSite({ ...ends, progress: (one) => void told.push(one), batch: 2 });
  expect(report.continued).toBeGreaterThanOrEqual(2);
  expect(told.filter(({ table }) => table === 'users')).toEqual([
    { step: 'copied', table: 'users', rows: 3, of: 3 },
    { step: 'compared', table: 'users', rows: 2, of: 3 },
    { step: 'compared', table: 'users', rows: 3, of: 3 },
  ]);
  expect(rowsOf(target)).toEqual(rowsOf(site));
  expect(target.raw.prepare('SELECT count(*) AS n FROM changes').get()).toEqual({ n: 0 });
  const numbersOf = async (database: SqliteDatabase) =>
    [...(await sqliteEnd(database).numbers())].filter(([name]) => name !== 'changes').sort();
  expect(await numbersOf(target)).toEqual(await numbersOf(site));
  await target.close();

  const other = await openMigrated(join(dir, 'other.db'));
  await expect(moveSite({ from: sqliteEnd(site), to: sqliteEnd(other), progress: breaking, batch: 2 })).rejects.toThrow(
    'broken off',
  );
  createLedgerStore(site.raw).apply([grant('later', 3, 7)]);
  const anew = await moveSite({ from: sqliteEnd(site), to: sqliteEnd(other) });
  expect(anew.continued).toBe(0);
  expect(rowsOf(other)).toEqual(rowsOf(site));
  await other.close();
});

test('what is in use, has changed meanwhile, or arrives otherwise is not moved', async () => {
  const target = async (name: string) => sqliteEnd(await openMigrated(join(dir, name)));
  await expect(moveSite({ from: sqliteEnd(site, () => true), to: await target('a') })).rejects.toMatchObject({
    code: 'move_busy',
    params: { name: site.place.file },
  });
  const busy = { ...(await target('b')), rejectBusy: () => Promise.reject(new Error('the target is busy')) };
  await expect(moveSite({ from: sqliteEnd(site), to: busy })).rejects.toThrow('the target is busy');
  let marks = 0;
  const moving: MoveEnd = { ...sqliteEnd(site), mark: async () => `mark ${++marks}` };
  await expect(moveSite({ from: moving, to: await target('c') })).rejects.toMatchObject({ code: 'move_changed' });
  const own = await target('d');
  const wrong = {
    ...own,
    write: async (...given: Parameters<typeof own.write>) =>
      own.write(
        given[0],
        given[1],
        given[2].map((row) => ('balance' in row ? { ...row, balance: Number(row.balance) + 1 } : row)),
        given[3],
      ),
  };
  await expect(moveSite({ from: sqliteEnd(site), to: wrong })).rejects.toMatchObject({
    code: 'move_differs',
    params: { table: 'accounts', detail: expect.stringMatching(/^\d+ \/ \d+, balance: -?\d+ \/ -?\d+$/) },
  });
  const fewer = await target('e');
  const losing = {
    ...fewer,
    write: async (...given: Parameters<typeof own.write>) =>
      fewer.write(given[0], given[1], given[0].name === 'users' ? given[2].slice(1) : given[2], given[3]),
  };
  await expect(moveSite({ from: sqliteEnd(site), to: losing })).rejects.toMatchObject({
    code: 'move_differs',
    params: { table: 'users', detail: expect.stringMatching(/^3 \/ 2/) },
  });
  await expect(moveSite({ from: sqliteEnd(site), to: sqliteEnd(site) })).rejects.toMatchObject({
    code: 'move_not_empty',
  });
});

test('a connection that was lost is a move to be taken up again; what else goes wrong is said as it is', async () => {
  const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  await expect(withInterruptNote(() => Promise.reject(lost))).rejects.toMatchObject({
    code: 'move_interrupted',
    params: { detail: 'connect ECONNREFUSED' },
  });
  await expect(withInterruptNote(() => Promise.reject(new Error('other')))).rejects.toThrow('other');
  expect(await withInterruptNote(async () => 7)).toBe(7);
  const { end, close } = await openTarget(place());
  expect(end.name).toMatch(/^127\.0\.0\.1:\d+\/test$/);
  await close();
});

test('a job of a file runs once at a time, and again when it has ended, however it ended', async () => {
  const lock = createJobLock(site, 'me');
  const gate = Promise.withResolvers<void>();
  const first = lock.take('sweep', 0, () => gate.promise);
  expect(await lock.take('sweep', 0, async () => undefined)).toBe(false);
  expect(await lock.take('other', 0, async () => undefined)).toBe(true);
  gate.reject(new Error('failed'));
  await expect(first).rejects.toThrow('failed');
  expect(await lock.take('sweep', 0, async () => undefined)).toBe(true);
});
