/** Brings the schema to this build's version; the migrations are part of the executable. */
import { type Migration, Migrator } from 'kysely/migration';
import { AppError } from '../server/contract/errors.ts';
import { type CopyPlan, copyAside, planCopy } from './maintenance.ts';
import * as initial from './migrations/0001-initial.ts';
import * as accessTokens from './migrations/0002-access-tokens-and-filters.ts';
import * as liveTokens from './migrations/0003-live-tokens.ts';
import * as signIn from './migrations/0004-sign-in.ts';
import * as overrun from './migrations/0005-overrun.ts';
import * as codeExpiry from './migrations/0006-code-expiry.ts';
import type { SqliteDatabase } from './open.ts';

/** Ordered by name; a released migration is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-initial': { up: (db) => initial.up(db) },
  '0002-access-tokens-and-filters': { up: (db) => accessTokens.up(db) },
  '0003-live-tokens': { up: (db) => liveTokens.up(db) },
  '0004-sign-in': { up: (db) => signIn.up(db) },
  '0005-overrun': { up: (db) => overrun.up(db) },
  '0006-code-expiry': { up: (db) => codeExpiry.up(db) },
};

/** Looking writes nothing: the migrator's own lock is a durable write, which every command would wait for. */
function appliedIn({ raw }: SqliteDatabase): string[] {
  const table = raw.prepare<string>("SELECT name FROM sqlite_master WHERE name = 'kysely_migration'").pluck().get();
  if (table === undefined) return [];
  return raw.prepare<string>('SELECT name FROM kysely_migration ORDER BY name').pluck().all();
}

const inMemory = ':memory:';
const known = Object.keys(migrations).sort();

/** What a migration does now, for whoever waits for it. */
export type MigrationStep =
  /** The database is copied aside first. */
  | ({ readonly kind: 'copy'; readonly from: string; readonly to: string } & CopyPlan)
  /** The `at`-th of `of`. */
  | { readonly kind: 'apply'; readonly name: string; readonly at: number; readonly of: number }
  /** `copy` is the way back, '' = there was nothing to copy. */
  | { readonly kind: 'done'; readonly to: string; readonly copy: string };

export interface MigrationWatch {
  /** Of this build, for the copy. */
  readonly version?: string | undefined;
  readonly report?: ((step: MigrationStep) => void) | undefined;
}

/**
 * Applies what is missing, all of it or nothing; what was there before is copied aside first.
 * @returns the names applied. @throws AppError database_newer, backup_unwritable; the first migration's error.
 */
export async function migrate(database: SqliteDatabase, watch: MigrationWatch = {}): Promise<string[]> {
  const { version = '', report = () => undefined } = watch;
  const applied = appliedIn(database);
  const newest = known.at(-1) ?? '';
  const schema = applied.at(-1) ?? '';
  if (applied.some((name) => !known.includes(name))) throw new AppError('database_newer', { schema, newest });
  if (applied.join() === known.join()) return [];
  if (applied.length === 0 || database.raw.name === inMemory) return applyMissing(database, migrations);
  const plan = planCopy(database, schema, newest);
  report({ kind: 'copy', from: schema, to: newest, ...plan });
  await copyAside(database, plan, { schema, version });
  const missing = known.filter((name) => !applied.includes(name));
  const reported = Object.fromEntries(
    Object.entries(migrations).map(([name, { up }]): [string, Migration] => [
      name,
      {
        up(db) {
          report({ kind: 'apply', name, at: missing.indexOf(name) + 1, of: missing.length });
          return up(db);
        },
      },
    ]),
  );
  const names = await applyMissing(database, reported);
  report({ kind: 'done', to: newest, copy: plan.file });
  return names;
}

/** In one transaction, which Kysely leaves out for SQLite: a process that is killed in between leaves what there was. */
async function applyMissing({ raw, query }: SqliteDatabase, all: Record<string, Migration>): Promise<string[]> {
  const migrator = new Migrator({ db: query, provider: { getMigrations: async () => all } });
  raw.exec('BEGIN IMMEDIATE');
  try {
    const { error, results } = await migrator.migrateToLatest();
    if (error) throw error;
    raw.exec('COMMIT');
    return (results ?? []).map((result) => result.migrationName);
  } catch (error) {
    if (raw.inTransaction) raw.exec('ROLLBACK');
    throw error;
  }
}
