/** Brings the schema to this build's version; the migrations are part of the executable. */
import { type Migration, Migrator } from 'kysely/migration';
import * as initial from './migrations/0001-initial.ts';
import * as accessTokens from './migrations/0002-access-tokens-and-filters.ts';
import type { Database } from './open.ts';

/** Ordered by name; a released migration is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-initial': { up: (db) => initial.up(db) },
  '0002-access-tokens-and-filters': { up: (db) => accessTokens.up(db) },
};

/** Applies what is missing and returns the names applied. @throws the first migration's error, nothing after it is tried. */
export async function migrate(database: Database): Promise<string[]> {
  const migrator = new Migrator({ db: database.query, provider: { getMigrations: async () => migrations } });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
