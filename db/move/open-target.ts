/** A database of PostgreSQL that is to be filled. */
import type { PostgresPlace } from '../place.ts';
import { migratePostgres } from '../postgres/migrate.ts';
import { openPostgres } from '../postgres/open.ts';
import { postgresMigrations } from '../schema/migrations.ts';
import { postgresEnd } from './postgres-end.ts';
import type { MoveTarget } from './tables.ts';

/** Its tables are made; work that was begun may go on. @throws AppError database_*. */
export async function openTarget(place: PostgresPlace): Promise<{ readonly end: MoveTarget; close(): Promise<void> }> {
  const database = await openPostgres(place);
  try {
    await migratePostgres(database, postgresMigrations, true);
    return { end: postgresEnd(database), close: database.close };
  } catch (error) {
    await database.close();
    throw error;
  }
}
