/** Looking after the database file: checks, compaction, consistent copies. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../server/contract/errors.ts';
import type { SqliteDatabase } from './open.ts';
import { keepPrivate } from './private-file.ts';

export interface DatabaseCheck {
  /** Name of the newest migration. */
  readonly schema: string;
  readonly problems: readonly string[];
}

export function schemaOf({ raw }: SqliteDatabase): string {
  return raw.prepare<string>('SELECT name FROM kysely_migration ORDER BY name DESC LIMIT 1').pluck().get() ?? '';
}

export function checkDatabase(database: SqliteDatabase): DatabaseCheck {
  const { raw } = database;
  const found = raw.prepare<string>('PRAGMA integrity_check').pluck().all();
  const strays = raw.prepare<{ table: string }>('PRAGMA foreign_key_check').all();
  return {
    schema: schemaOf(database),
    problems: [...found.filter((line) => line !== 'ok'), ...strays.map((row) => `foreign key: ${row.table}`)],
  };
}

const mostProblems = 5;

/** Pages and records only. @returns what is damaged; empty = nothing. */
export const quickDamageOf = ({ raw }: SqliteDatabase): readonly string[] =>
  raw
    .prepare<string>(`PRAGMA quick_check(${mostProblems})`)
    .pluck()
    .all()
    .filter((line) => line !== 'ok');

/** Indexes too, one table at a time: a look at all of them at once would keep the log from being folded in. */
export function damageOf({ raw }: SqliteDatabase): readonly string[] {
  const tables = raw.prepare<string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  return tables.flatMap((table) =>
    raw
      .prepare<string>(`PRAGMA integrity_check('${table}')`)
      .pluck()
      .all()
      .filter((line) => line !== 'ok')
      .slice(0, mostProblems),
  );
}

/** @returns bytes before and after. */
export function vacuumDatabase({ raw }: SqliteDatabase): { readonly before: number; readonly after: number } {
  raw.pragma('wal_checkpoint(TRUNCATE)');
  const before = statSync(raw.name).size;
  raw.exec('VACUUM');
  raw.pragma('wal_checkpoint(TRUNCATE)');
  return { before, after: statSync(raw.name).size };
}

/** One read transaction: what others commit meanwhile neither waits nor gets in. */
export function copyDatabase({ raw }: SqliteDatabase, file: string): void {
  keepPrivate(file);
  raw.prepare('VACUUM INTO ?').run(file);
}

const keptCopies = 2;

/** What a migration is about to change, for `backup restore`; the two newest copies stay. @throws AppError backup_unwritable */
export function copyAside(database: SqliteDatabase, schema: string, next: string): void {
  const folder = join(dirname(database.raw.name), 'backups');
  const file = join(folder, `before-${next}-from-${schema}.db`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    rmSync(`${file}.part`, { force: true });
    copyDatabase(database, `${file}.part`);
    chmodSync(`${file}.part`, 0o600);
    renameSync(`${file}.part`, file);
  } catch (error) {
    rmSync(`${file}.part`, { force: true });
    throw new AppError('backup_unwritable', { file, detail: error instanceof Error ? error.message : '' }, error);
  }
  const copies = readdirSync(folder)
    .filter((name) => /^before-.+-from-.+\.db$/.test(name))
    .map((name) => join(folder, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const old of copies.slice(keptCopies)) rmSync(old);
}

/** Puts everything into the one file, so that it can be moved. */
export function foldLog({ raw }: SqliteDatabase): void {
  raw.pragma('wal_checkpoint(TRUNCATE)');
}
