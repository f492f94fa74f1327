/** Brings the schema to this build's version; the migrations are part of the executable. */
import { type Migration, Migrator } from 'kysely/migration';
import { AppError } from '../server/contract/errors.ts';
import { copyAside } from './maintenance.ts';
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

/** Applies what is missing and returns the names applied; what was there before is copied aside first. @throws AppError database_newer, backup_unwritable; the first migration's error, nothing after it is tried. */
export async function migrate(database: SqliteDatabase): Promise<string[]> {
  const applied = appliedIn(database);
  const newest = known.at(-1) ?? '';
  const schema = applied.at(-1) ?? '';
  if (applied.some((name) => !known.includes(name))) throw new AppError('database_newer', { schema, newest });
  if (applied.join() === known.join()) return [];
  if (applied.length > 0 && database.raw.name !== inMemory) copyAside(database, schema, newest);
  const migrator = new Migrator({ db: database.query, provider: { getMigrations: async () => migrations } });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
