/** Maintenance of a site on either engine: checks, compaction, copies in one file. */
import { checkDatabase, copyDatabase, type DatabaseCheck, schemaOf, vacuumDatabase } from './database-file.ts';
import type { Database } from './open.ts';
import { keepPrivate } from './private-file.ts';

export async function checkSite(database: Database): Promise<DatabaseCheck> {
  if (database.engine === 'sqlite') return checkDatabase(database);
  return (await import('./postgres/server-checks.ts')).checkServer(database);
}

/** @returns bytes before and after. */
export async function vacuumSite(database: Database): Promise<{ readonly before: number; readonly after: number }> {
  if (database.engine === 'sqlite') return vacuumDatabase(database);
  return (await import('./postgres/server-checks.ts')).vacuumServer(database);
}

/** Copies the site into one file, from either engine; concurrent writes neither wait nor are included. @returns name of the file's newest migration. */
export async function portableCopy(
  database: Database,
  file: string,
  nativeBinding: string | undefined,
): Promise<string> {
  if (database.engine === 'sqlite') {
    copyDatabase(database, file);
    return schemaOf(database);
  }
  keepPrivate(file);
  const { copyFromServer } = await import('./move/snapshot.ts');
  return copyFromServer(database, file, nativeBinding);
}
