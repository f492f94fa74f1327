/** A site that is moved to a server and back: everything is equal, wherever it was stopped. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { MoveProgress } from '../../db/move/move.ts';
import { movedTables } from '../../db/move/tables.ts';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import type { PostgresPlace } from '../../db/place.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { openPostgres } from '../../db/postgres/open.ts';
import { cleanValues } from '../../db/postgres/text.ts';
import { createUsersRepository } from '../../db/repositories/users.ts';
import { serverTables } from '../../db/schema/server-tables.ts';
import { tables } from '../../db/schema/tables.ts';
import { moveToFile, moveToServer } from '../../server/app/move-database.ts';
import { AppError } from '../../server/contract/errors.ts';
import { newDatabase } from '../support/engines.ts';
import { makeSite } from './whole-site.ts';

const dir = mkdtempSync(join(tmpdir(), 'gateway-move-'));
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function server(): Promise<PostgresPlace> {
  const { url, drop } = await newDatabase(false);
  ends.push(drop);
  return { engine: 'postgres', url };
}

let made: Promise<string> | null = null;

let count = 0;
/** @returns a data directory with a copy of the site. */
async function site(): Promise<string> {
  made ??= makeSite(join(dir, 'site.db'));
  const folder = join(dir, `site-${count++}`);
  mkdirSync(folder);
  copyFileSync(await made, join(folder, 'gateway.db'));
  return folder;
}

const open = (folder: string): SqliteDatabase => openDatabase(join(folder, 'gateway.db'), { readonly: true });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

test('every table of a file is moved or left on purpose', async () => {
  const database = open(await site());
  const tables = database.raw
    .prepare<string>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'kysely_%'",
    )
    .pluck()
    .all();
  await database.close();
  expect([...movedTables.map(({ name }) => name), 'changes'].sort()).toEqual(tables.sort());
});

test('every table of a server is moved, or left on purpose and with a reason', async () => {
  const place = await server();
  const database = await openPostgres(place);
  await migratePostgres(database);
  const { rows } = await database.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
      AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relname !~ '^logs_\\d{4}_\\d{2}$'`,
  );
  await database.close();
  // Names of the version before, for its nodes: the same rows. Rows of logs whose month has no table of its own; how old the schema is.
  const before = Object.values(tables).flatMap(({ postgres }) => postgres?.alsoNamed ?? []);
  const own = ['changes', 'logs_rest', 'gateway_migrations', ...before, ...Object.keys(serverTables)];
  expect(rows.map(({ name }) => name).sort()).toEqual([...movedTables.map(({ name }) => name), ...own].sort());
  for (const { left } of Object.values(serverTables)) expect(left.length).toBeGreaterThan(20);
});

test('there and back: every row, every number that is given out next', async () => {
  const from = await site();
  const place = await server();
  const before = readFileSync(join(from, 'gateway.db'));
  const there = await moveToServer({ dataDir: from, server: place, batch: 37 });
  expect(readFileSync(join(from, 'gateway.db')).equals(before)).toBe(true);

  const moved = await openPostgres(place);
  await migratePostgres(moved);
  const { rows: ended } = await moved.pool.query(
    "SELECT ref, asked, paid FROM ends WHERE ref IN ('20260601req1', 'old', '20260601req2') ORDER BY ref",
  );
  expect(ended).toEqual([
    { ref: '20260601req1', asked: 50, paid: 43 },
    { ref: '20260601req2', asked: 0, paid: 0 },
    { ref: 'old', asked: 9, paid: 9 },
  ]);
  expect((await moved.pool.query('SELECT count(*) AS n FROM changes')).rows).toEqual([{ n: 0 }]);
  expect((await moved.pool.query('SELECT count(*) AS n FROM logs_rest')).rows).toEqual([{ n: 0 }]);
  const numbers = await moved.pool.query(
    "SELECT nextval(pg_get_serial_sequence('price_versions', 'id')) AS price, nextval(pg_get_serial_sequence('nodes', 'epoch')) AS epoch",
  );
  expect(numbers.rows).toEqual([{ price: 2, epoch: 7 }]);
  expect((await createUsersRepository(moved).find(1))?.balance).toBe(Number.MAX_SAFE_INTEGER);
  await moved.close();

  const back = join(dir, `back-${count++}`);
  const again = await moveToFile({ dataDir: back, server: place, batch: 41 });
  expect(again.tables).toEqual(there.tables);
  const [one, other] = [open(from), open(back)];
  for (const { name, key } of movedTables) {
    // A NUL in a text is the one thing that a server cannot keep.
    const rows = (database: SqliteDatabase) =>
      database.raw.prepare<unknown[]>(`SELECT * FROM ${name} ORDER BY ${key.join()}`).raw().all().map(cleanValues);
    expect(isDeepStrictEqual(rows(other), rows(one)), name).toBe(true);
  }
  await Promise.all([one.close(), other.close()]);
});

test('killed in the middle and run again, it goes on where it stopped', async () => {
  const from = await site();
  const place = await server();
  const child = Bun.spawn([process.execPath, resolve(import.meta.dirname, 'move-child.ts'), from, place.url], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  await child.stdout.getReader().read();
  child.kill('SIGKILL');
  await child.exited;
  const halfway = await openPostgres(place);
  expect(await codeOf(migratePostgres(halfway))).toBe('move_unfinished');
  await halfway.close();
  const report = await moveToServer({ dataDir: from, server: place });
  expect(report.continued).toBeGreaterThan(100);
  expect(report.tables.find(({ name }) => name === 'logs')?.rows).toBe(400);
});

/** As an operator who restarts the server does. */
const cutConnections = (url: string): void => {
  const program = `
    import { Client } from 'pg';
    const client = new Client(process.env.SERVER);
    await client.connect();
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()');
    await client.end();
  `;
  const { exitCode } = Bun.spawnSync([process.execPath, '-e', program], { env: { ...process.env, SERVER: url } });
  expect(exitCode).toBe(0);
};

test('a move whose connection is cut says that the same command goes on where it stopped, and it does, there and back', async () => {
  const from = await site();
  const place = await server();
  const cutOnce = () => {
    let cut = false;
    return ({ step, table, rows }: MoveProgress) => {
      if (cut || step !== 'copied' || table !== 'logs' || rows < 100) return;
      cut = true;
      cutConnections(place.url);
    };
  };
  const there = moveToServer({ dataDir: from, server: place, batch: 20, progress: cutOnce() });
  await expect(there).rejects.toMatchObject({
    code: 'move_interrupted',
    message: expect.stringMatching(/terminat.*run the same command again/),
  });
  expect((await moveToServer({ dataDir: from, server: place })).continued).toBeGreaterThan(100);
  const back = join(dir, `cut-${count++}`);
  expect(await codeOf(moveToFile({ dataDir: back, server: place, batch: 20, progress: cutOnce() }))).toBe(
    'move_interrupted',
  );
  expect((await moveToFile({ dataDir: back, server: place })).continued).toBeGreaterThan(100);
});

test('a source that was changed after the first try is copied again', async () => {
  const from = await site();
  const place = await server();
  const stop = new Error('stopped');
  const half = moveToServer({
    dataDir: from,
    server: place,
    batch: 20,
    progress: ({ table }) => {
      if (table === 'logs') throw stop;
    },
  });
  expect(await codeOf(half)).toBe(String(stop));
  const changed = openDatabase(join(from, 'gateway.db'));
  changed.raw.exec("UPDATE users SET status = 2 WHERE username = 'bob'");
  await changed.close();
  expect((await moveToServer({ dataDir: from, server: place })).continued).toBe(0);
});

/** Done when it returns, so that nothing is compared before. */
const damage = (url: string): void => {
  const program = `
    import { Client } from 'pg';
    const client = new Client(process.env.SERVER);
    await client.connect();
    await client.query("UPDATE logs SET content = 'other' WHERE id = 17");
    await client.end();
  `;
  const { exitCode } = Bun.spawnSync([process.execPath, '-e', program], { env: { ...process.env, SERVER: url } });
  expect(exitCode).toBe(0);
};

test('a row that was damaged on the way is noticed', async () => {
  const from = await site();
  const place = await server();
  const damaged = moveToServer({
    dataDir: from,
    server: place,
    progress: ({ step, table }) => {
      if (step === 'copied' && table === 'logs') damage(place.url);
    },
  });
  expect(await codeOf(damaged)).toBe('move_differs');
});

test('a place that is used is not moved, nor one filled that is not empty', async () => {
  const from = await site();
  const place = await server();
  const modules = resolve(import.meta.dirname, '../../server/app/data-dir.ts');
  const holding = `const { acquireLock, ensureDataDir } = await import('${modules}');
    acquireLock(ensureDataDir('${from}')); console.log('held'); setInterval(() => undefined, 1000);`;
  const holder = Bun.spawn([process.execPath, '-e', holding], { stdout: 'pipe' });
  await holder.stdout.getReader().read();
  expect(await codeOf(moveToServer({ dataDir: from, server: place }))).toBe('data_dir_locked');
  holder.kill();
  await holder.exited;
  await moveToServer({ dataDir: from, server: place });
  expect(await codeOf(moveToServer({ dataDir: from, server: place }))).toBe('move_not_empty');
  expect(await codeOf(moveToFile({ dataDir: from, server: place }))).toBe('move_not_empty');
  const moved = await openPostgres(place);
  await moved.pool.query("INSERT INTO nodes (expires_at, node) VALUES (now() + interval '15 s', 'one')");
  await moved.close();
  expect(await codeOf(moveToFile({ dataDir: join(dir, `busy-${count++}`), server: place }))).toBe('move_node_lives');
});
