/** Puts a file in the place of what a server has, in one transaction and while no node lives: all of it or nothing. */
import type { SqliteDatabase } from '../open.ts';
import { placeName } from '../place.ts';
import { requireExclusive } from '../postgres/exclusive.ts';
import type { PostgresDatabase } from '../postgres/open.ts';
import { openServerSandbox } from '../sandbox.ts';
import { type MovedReport, moveSite } from './move.ts';
import { postgresEnd } from './postgres-end.ts';
import { sqliteEnd } from './sqlite-end.ts';

/** @throws AppError nodes_live, move_not_empty when the server has users or channels, move_differs */
export async function fillServer(database: PostgresDatabase, file: SqliteDatabase): Promise<MovedReport> {
  const sandbox = await openServerSandbox(database);
  try {
    await requireExclusive(sandbox.client, placeName(database.place));
    const report = await moveSite({ from: sqliteEnd(file), to: postgresEnd(database, sandbox) });
    await sandbox.commit();
    await database.pool.query('ANALYZE');
    return report;
  } finally {
    await sandbox.close();
  }
}
