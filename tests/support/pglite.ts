/** PostgreSQL in this process, for tests on machines that have no server: one connection, behind what looks like a pool. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import type { Pool } from 'pg';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { overPool, type PostgresDatabase } from '../../db/postgres/open.ts';
import { cleanValues } from '../../db/postgres/text.ts';

const { version } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../node_modules/@electric-sql/pglite/package.json'), 'utf8'),
) as { version: string };

/** Making a new cluster takes it far longer than everything else it does. */
async function startLite(): Promise<PGlite> {
  const { PGlite } = await import('@electric-sql/pglite');
  const folder = resolve(import.meta.dirname, '../../.cache');
  const file = join(folder, `pglite-${version}.tar`);
  if (existsSync(file)) return PGlite.create({ loadDataDir: new Blob([readFileSync(file)]) });
  const fresh = await PGlite.create();
  const image = await fresh.dumpDataDir('none');
  mkdirSync(folder, { recursive: true });
  const part = `${file}.${process.pid}`;
  writeFileSync(part, Buffer.from(await image.arrayBuffer()));
  renameSync(part, file);
  return fresh;
}

const asNumber = (text: string): number => Number(text);
const parsers = { 20: asNumber, 1700: asNumber };

/** The one connection is lent to one after the other. */
function poolOver(lite: PGlite): Pool {
  let free: Promise<unknown> = Promise.resolve();
  const query = async (text: string, values: readonly unknown[] = []) => {
    const { rows, affectedRows } = await lite.query(text, cleanValues(values), { parsers });
    const command = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? '';
    return { rows, rowCount: affectedRows ?? rows.length, command };
  };
  const connect = async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const before = free;
    free = promise;
    await before;
    return { query, release };
  };
  const alone = async (text: string, values?: readonly unknown[]) => {
    const client = await connect();
    try {
      return await client.query(text, values);
    } finally {
      client.release();
    }
  };
  const pool = { connect, query: alone, end: async () => undefined, options: {}, ended: true };
  return pool as unknown as Pool;
}

/** Names of tables, columns, indexes, constraints, triggers and functions, each with the transaction that wrote it. */
const schemaWritten = `
  WITH tables AS (SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace)
  SELECT md5(string_agg(part, ',' ORDER BY part)) AS written FROM (
    SELECT concat_ws(' ', oid, relname, relkind, relnatts, relchecks, relhastriggers, reloptions, relpartbound) AS part FROM tables
    UNION ALL SELECT concat_ws(' ', attrelid, attnum, xmin) FROM pg_attribute WHERE attrelid IN (SELECT oid FROM tables)
    UNION ALL SELECT concat_ws(' ', oid, xmin) FROM pg_attrdef WHERE adrelid IN (SELECT oid FROM tables)
    UNION ALL SELECT concat_ws(' ', oid, xmin) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', oid, xmin) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM tables)
    UNION ALL SELECT concat_ws(' ', oid, xmin) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', seqrelid, xmin) FROM pg_sequence WHERE seqrelid IN (SELECT oid FROM tables)
  ) parts`;

interface Migrated {
  readonly written: string;
  readonly tables: readonly string[];
  /** Rows that the migrations leave behind, as JSON. */
  readonly rows: readonly { readonly table: string; readonly row: string }[];
  /** Puts every sequence where the migrations left it. */
  readonly sequences: string;
}

const readRows = async <Row>(lite: PGlite, text: string): Promise<Row[]> => (await lite.query<Row>(text)).rows;
const schemaOf = async (lite: PGlite): Promise<string> =>
  (await readRows<{ written: string }>(lite, schemaWritten))[0]?.written ?? '';

async function noteMigrated(lite: PGlite): Promise<Migrated> {
  const named = await readRows<{ name: string }>(
    lite,
    "SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  );
  const tables = named.map(({ name }) => name);
  const rows = await readRows<{ table: string; row: string }>(
    lite,
    tables.map((name) => `SELECT '${name}' AS table, to_jsonb(t)::text AS row FROM ${name} t`).join(' UNION ALL '),
  );
  const sequences = await readRows<{ call: string }>(
    lite,
    `SELECT format('SELECT setval(%L, %s, %L)', format('%I', sequencename), coalesce(last_value, start_value), last_value IS NOT NULL) AS call
     FROM pg_sequences WHERE schemaname = 'public'`,
  );
  return { written: await schemaOf(lite), tables, rows, sequences: sequences.map(({ call }) => call).join(';') };
}

/** Empties what was written: migrating again takes twenty times as long. */
async function restore(lite: PGlite, { tables, rows, sequences }: Migrated): Promise<void> {
  const kept = new Set(rows.map(({ table }) => table));
  const looks = tables.map((name) => `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM ${name})`);
  const found = await readRows<{ name: string }>(lite, looks.join(' UNION ALL '));
  const written = new Set([...found.map(({ name }) => name), ...kept]);
  // Neither triggers nor foreign keys look at it.
  await lite.exec(`SET session_replication_role = replica; TRUNCATE ${[...written].join(', ')} CASCADE; ${sequences}`);
  for (const { table, row } of rows)
    await lite.query(
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_record(null::${table}, $1)`,
      [row],
    );
  await lite.exec('SET session_replication_role = origin');
}

let started: Promise<PGlite> | null = null;
let migrated: Migrated | null = null;

/** Empty and migrated; the one before it is gone. */
export async function newLite(): Promise<{ readonly lite: PGlite; readonly database: PostgresDatabase }> {
  started ??= startLite();
  const lite = await started;
  await lite.exec('ROLLBACK');
  const database = overPool(poolOver(lite), { engine: 'postgres', url: 'postgres://pglite/test' });
  if (migrated !== null && migrated.written === (await schemaOf(lite))) {
    await restore(lite, migrated);
    return { lite, database };
  }
  await lite.exec('DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public');
  await migratePostgres(database);
  migrated = await noteMigrated(lite);
  return { lite, database };
}

export const openLite = async (): Promise<PostgresDatabase> => (await newLite()).database;
