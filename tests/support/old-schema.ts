/** Databases as earlier builds made them: the first schema, and the migrations up to a name. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openDatabase, type SqliteDatabase } from '../../db/open.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';
import { type Migration, postgresMigrations, sqliteMigrations } from '../../db/schema/migrations.ts';

const firstSchema = (engine: 'sqlite' | 'postgres'): string =>
  readFileSync(resolve(import.meta.dirname, `../fixtures/schema/first.${engine}.sql`), 'utf8');

const upTo = (all: readonly Migration[], name: string): readonly Migration[] => {
  const at = all.findIndex((one) => one.name === name);
  if (at < 0) throw new Error(`no migration is called ${name}`);
  return all.slice(0, at + 1);
};

export const applyAll = ({ raw }: SqliteDatabase, migrations: readonly Migration[]): void => {
  const note = raw.prepare("INSERT INTO kysely_migration (name, timestamp) VALUES (?, 'then')");
  for (const { name, statements } of migrations) {
    for (const statement of statements) raw.exec(statement);
    note.run(name);
  }
};

/** @param schema name of its newest migration. */
export function openOld(file: string, schema: string): SqliteDatabase {
  const database = openDatabase(file);
  database.raw.exec(firstSchema('sqlite'));
  database.raw.exec(`CREATE TABLE kysely_migration (name varchar(255) NOT NULL PRIMARY KEY, timestamp varchar(255) NOT NULL);
    CREATE TABLE kysely_migration_lock (id varchar(255) NOT NULL PRIMARY KEY, is_locked integer DEFAULT 0 NOT NULL);
    INSERT INTO kysely_migration_lock VALUES ('migration_lock', 0)`);
  applyAll(database, upTo(sqliteMigrations, schema));
  return database;
}

/** @param database with nothing in it. @param schema name of its newest migration. */
export async function makeOld({ pool }: PostgresDatabase, schema: string): Promise<void> {
  for (const statement of firstSchema('postgres').split(/;\n(?=CREATE|INSERT|$)/))
    if (statement.trim() !== '') await pool.query(statement);
  await pool.query(
    'CREATE TABLE gateway_migrations (name text COLLATE "C" PRIMARY KEY, breaks bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())',
  );
  for (const { name, statements, breaks = false } of upTo(postgresMigrations, schema)) {
    for (const statement of statements) await pool.query(statement);
    await pool.query('INSERT INTO gateway_migrations (name, breaks) VALUES ($1, $2)', [name, breaks ? 1 : 0]);
  }
}
