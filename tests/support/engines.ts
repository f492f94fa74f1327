/** Databases of either engine for tests. GATEWAY_TEST_DATABASE=postgres://… names a server whose user may create databases. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Insertable, sql } from 'kysely';
import type { Pool } from 'pg';
import { movedTables } from '../../db/move/tables.ts';
import type { Database } from '../../db/open.ts';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { createPool, openPostgres, type PostgresDatabase } from '../../db/postgres/open.ts';
import { newestPostgres } from '../../db/schema/migrations.ts';
import type { UsageHoursTable } from '../../db/schema/tables.ts';
import { openMigrated } from './migrated.ts';
import { openLite } from './pglite.ts';

export interface TestEngine {
  readonly name: string;
  /** Migrated and empty. */
  open(): Promise<Database>;
}

export const testServer = process.env.GATEWAY_TEST_DATABASE ?? '';
export const onServer = /^postgres/.test(testServer);

const inDatabase = (name: string): string => {
  const url = new URL(testServer);
  url.pathname = `/${name}`;
  return url.href;
};

let administrator: Pool | null = null;

/** On the server as its administrator, by connections that stay: opening one takes as long as most of what is said over it. */
export async function requested<Row extends object>(text: string): Promise<Row[]> {
  administrator ??= createPool(testServer, { connections: 2 });
  return (await administrator.query<Row>(text)).rows;
}

const unique = (): string => `t_${randomUUID().replaceAll('-', '')}`;

/** Migrated once for all workers: whoever comes first makes it under another name. */
async function template(): Promise<string> {
  const name = `described_${newestPostgres.replaceAll('-', '_')}`;
  const [there] = await requested(`SELECT 1 FROM pg_database WHERE datname = '${name}'`);
  if (there !== undefined) return name;
  const making = unique();
  await requested(`CREATE DATABASE ${making}`);
  const database = await openPostgres({ engine: 'postgres', url: inDatabase(making) }, { connections: 1 });
  await migratePostgres(database);
  await database.close();
  await requested(`ALTER DATABASE ${making} RENAME TO ${name}`).catch(() => requested(`DROP DATABASE ${making}`));
  return name;
}

/** In memory a copy of the files is the quickest; on a disk it waits for a checkpoint, and servers before 15 know nothing else. */
async function copying(): Promise<string> {
  const inMemory = "current_setting('data_directory') LIKE '/dev/shm/%'";
  const [found] = await requested<{ files: boolean }>(
    `SELECT ${inMemory} AND current_setting('server_version_num')::int >= 150000 AS files`,
  );
  return `TEMPLATE ${await template()}${found?.files === true ? ' STRATEGY FILE_COPY' : ''}`;
}

let copy: Promise<string> | null = null;

/** @param migrated false = with nothing in it. @returns its address; whoever uses it removes it. */
export async function newDatabase(migrated = true): Promise<{ url: string; drop(): Promise<void> }> {
  copy ??= copying();
  const name = unique();
  await requested(migrated ? `CREATE DATABASE ${name} ${await copy}` : `CREATE DATABASE ${name}`);
  return { url: inDatabase(name), drop: async () => void (await requested(`DROP DATABASE ${name} WITH (FORCE)`)) };
}

async function openOnServer(): Promise<PostgresDatabase> {
  const { url, drop } = await newDatabase();
  const database = await openPostgres({ engine: 'postgres', url });
  let closed: Promise<void> | null = null;
  return {
    ...database,
    close() {
      closed ??= database.close().then(drop);
      return closed;
    },
  };
}

async function openFile(): Promise<Database> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-engine-'));
  const database = await openMigrated(join(dir, 'gateway.db'));
  return {
    ...database,
    async close() {
      await database.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const sqlite: TestEngine = { name: 'SQLite', open: openFile };
/** A server where one is named, otherwise PostgreSQL in this process. */
export const postgres: TestEngine = onServer
  ? { name: 'PostgreSQL', open: openOnServer }
  : { name: 'PGlite', open: openLite };
export const engines: readonly TestEngine[] = [sqlite, postgres];

/** What a test runs on that is about neither engine: a file, or a database of its own where a server is named. */
export const openChosen = (file: string): Promise<Database> => (onServer ? openOnServer() : openMigrated(file));

/** @param text as both engines understand it, `?` for each value. */
export async function rowsOf<Row extends object = Record<string, unknown>>(
  { query }: Database,
  text: string,
  ...values: readonly unknown[]
): Promise<Row[]> {
  const chunks = text.split('?');
  return (await sql<Row>(Object.assign(chunks, { raw: chunks }), ...values).execute(query)).rows;
}

/** An hour's use, as the ledger would have added it up. */
export async function addHour(database: Database, hour: Insertable<UsageHoursTable>): Promise<void> {
  const parts = database.engine === 'postgres';
  await database.query
    .insertInto((parts ? 'usage_hour_parts' : 'usage_hours') as 'usage_hours')
    .values({ ...hour, ...(parts ? { epoch: 0 } : {}) })
    .execute();
}

/** Everything that lies in it, as whoever steals it would find it. */
export async function contentOf(database: Database): Promise<string> {
  if (database.engine === 'sqlite') {
    database.raw.pragma('wal_checkpoint(TRUNCATE)');
    return readFileSync(database.raw.name, 'latin1');
  }
  const tables = [...movedTables.map(({ name }) => name), 'changes', 'memos'];
  return JSON.stringify(await Promise.all(tables.map((name) => rowsOf(database, `SELECT * FROM ${name}`))));
}
