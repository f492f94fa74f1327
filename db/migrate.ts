/** Brings the schema to this build's version; the migrations are part of the executable. */
import { type Migration, Migrator } from 'kysely/migration';
import * as initial from './migrations/0001-initial.ts';
import * as accessTokens from './migrations/0002-access-tokens-and-filters.ts';
import * as liveTokens from './migrations/0003-live-tokens.ts';
import * as signIn from './migrations/0004-sign-in.ts';
import * as overrun from './migrations/0005-overrun.ts';
import type { Database } from './open.ts';

/** Ordered by name; a released migration is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-initial': { up: (db) => initial.up(db) },
  '0002-access-tokens-and-filters': { up: (db) => accessTokens.up(db) },
  '0003-live-tokens': { up: (db) => liveTokens.up(db) },
  '0004-sign-in': { up: (db) => signIn.up(db) },
  '0005-overrun': { up: (db) => overrun.up(db) },
};

/** Looking writes nothing: the migrator's own lock is a durable write, which every command would wait for. */
function isCurrent({ raw }: Database): boolean {
  const table = raw.prepare<string>("SELECT name FROM sqlite_master WHERE name = 'kysely_migration'").pluck().get();
  if (table === undefined) return false;
  const applied = raw.prepare<string>('SELECT name FROM kysely_migration ORDER BY name').pluck().all();
  return applied.join() === Object.keys(migrations).sort().join();
}

/** Applies what is missing and returns the names applied. @throws the first migration's error, nothing after it is tried. */
export async function migrate(database: Database): Promise<string[]> {
  if (isCurrent(database)) return [];
  const migrator = new Migrator({ db: database.query, provider: { getMigrations: async () => migrations } });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
