/** Looking after the database file: checks, compaction, consistent copies. */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../server/contract/errors.ts';
import { writeBackup } from './backup-file.ts';
import { packJournal } from './journal/replay.ts';
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
  const orphaned = raw.prepare<{ table: string }>('PRAGMA foreign_key_check').all();
  return {
    schema: schemaOf(database),
    problems: [...found.filter((line) => line !== 'ok'), ...orphaned.map((row) => `foreign key: ${row.table}`)],
  };
}

const maxIssues = 5;

/** Pages and records only. @returns what is damaged; empty = nothing. */
export const quickCheck = ({ raw }: SqliteDatabase): readonly string[] =>
  raw
    .prepare<string>(`PRAGMA quick_check(${maxIssues})`)
    .pluck()
    .all()
    .filter((line) => line !== 'ok');

/** Indexes too, one table at a time: a look at all of them at once would keep the log from being folded in. */
export function fullCheck({ raw }: SqliteDatabase): readonly string[] {
  const tables = raw.prepare<string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  return tables.flatMap((table) =>
    raw
      .prepare<string>(`PRAGMA integrity_check('${table}')`)
      .pluck()
      .all()
      .filter((line) => line !== 'ok')
      .slice(0, maxIssues),
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

const maxBackups = 2;
/** Builds before this one copied the plain file. */
const copyName = /^before-(.+)-from-(.+)\.(?:backup|db)$/;

/** @returns the schemas that a copy made before a migration is named by; null = it is another file. */
export function copyNamed(name: string): { readonly next: string; readonly schema: string } | null {
  const [, next, schema] = copyName.exec(name) ?? [];
  return next === undefined || schema === undefined ? null : { next, schema };
}

/** A copy that is being made: `drafts` grow to `bytes` each, then the second one becomes `file`. */
export interface CopyPlan {
  readonly file: string;
  readonly drafts: readonly [plain: string, backup: string];
  readonly bytes: number;
}

export function planCopy({ raw }: SqliteDatabase, schema: string, next: string): CopyPlan {
  const file = join(dirname(raw.name), 'backups', `before-${next}-from-${schema}.backup`);
  const bytes = raw.prepare<number>('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size').pluck();
  return { file, drafts: [`${file}.copy`, `${file}.part`], bytes: bytes.get() ?? 0 };
}

/**
 * What a migration is about to change, as a backup: the build that wrote it and every later one restore it. The two
 * newest copies stay.
 * @param version of this build. @throws AppError backup_unwritable
 */
export async function writeMigrationBackup(
  database: SqliteDatabase,
  { file, drafts }: CopyPlan,
  header: { readonly schema: string; readonly version: string },
): Promise<void> {
  const [plain, backup] = drafts;
  const folder = dirname(file);
  const remove = () => {
    for (const draft of drafts) rmSync(draft, { force: true });
  };
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    remove();
    copyDatabase(database, plain);
    packJournal(database, plain);
    await writeBackup(backup, plain, { ...header, created_at: Math.floor(Date.now() / 1000) });
    renameSync(backup, file);
  } catch (error) {
    throw new AppError('backup_unwritable', { file, detail: error instanceof Error ? error.message : '' }, error);
  } finally {
    remove();
  }
  const copies = readdirSync(folder)
    .filter((name) => copyNamed(name) !== null)
    .map((name) => join(folder, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const old of copies.slice(maxBackups)) rmSync(old);
}

/** Puts everything into the one file, so that it can be moved. */
export function foldLog({ raw }: SqliteDatabase): void {
  raw.pragma('wal_checkpoint(TRUNCATE)');
}
