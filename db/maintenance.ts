/** Looking after the database file: checks, compaction, consistent copies. */
import { statSync } from 'node:fs';
import type { Database } from './open.ts';
import { keepPrivate } from './private-file.ts';

export interface DatabaseCheck {
  /** Name of the newest migration. */
  readonly schema: string;
  readonly problems: readonly string[];
}

export function schemaOf({ raw }: Database): string {
  return raw.prepare<string>('SELECT name FROM kysely_migration ORDER BY name DESC LIMIT 1').pluck().get() ?? '';
}

export function checkDatabase(database: Database): DatabaseCheck {
  const { raw } = database;
  const found = raw.prepare<string>('PRAGMA integrity_check').pluck().all();
  const strays = raw.prepare<{ table: string }>('PRAGMA foreign_key_check').all();
  return {
    schema: schemaOf(database),
    problems: [...found.filter((line) => line !== 'ok'), ...strays.map((row) => `foreign key: ${row.table}`)],
  };
}

/** @returns bytes before and after. */
export function vacuumDatabase({ raw }: Database): { readonly before: number; readonly after: number } {
  raw.pragma('wal_checkpoint(TRUNCATE)');
  const before = statSync(raw.name).size;
  raw.exec('VACUUM');
  raw.pragma('wal_checkpoint(TRUNCATE)');
  return { before, after: statSync(raw.name).size };
}

/** One read transaction: what others commit meanwhile neither waits nor gets in. */
export function copyDatabase({ raw }: Database, file: string): void {
  keepPrivate(file);
  raw.prepare('VACUUM INTO ?').run(file);
}

/** Puts everything into the one file, so that it can be moved. */
export function foldLog({ raw }: Database): void {
  raw.pragma('wal_checkpoint(TRUNCATE)');
}
