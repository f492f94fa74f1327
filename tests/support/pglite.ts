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

let started: Promise<PGlite> | null = null;

/** Empty and migrated; the one before it is gone. */
export async function newLite(): Promise<{ readonly lite: PGlite; readonly database: PostgresDatabase }> {
  started ??= startLite();
  const lite = await started;
  await lite.exec('ROLLBACK; DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const database = overPool(poolOver(lite), { engine: 'postgres', url: 'postgres://pglite/test' });
  await migratePostgres(database);
  return { lite, database };
}

export const openLite = async (): Promise<PostgresDatabase> => (await newLite()).database;
