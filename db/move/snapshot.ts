/** A site of PostgreSQL in one file, as it was at one moment, while everybody works on. */

import { foldLog, schemaOf } from '../database-file.ts';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open.ts';
import { placeName } from '../place.ts';
import type { PostgresDatabase } from '../postgres/open.ts';
import { moveSite } from './move.ts';
import { postgresSource } from './postgres-end.ts';
import { sqliteEnd } from './sqlite-end.ts';

/** @param file where nothing is yet. @returns name of its newest migration. @throws AppError move_differs */
export async function copyFromServer(
  { pool, place }: PostgresDatabase,
  file: string,
  nativeBinding: string | undefined,
): Promise<string> {
  const target = openDatabase(file, { nativeBinding });
  try {
    // The copy is synced when it is whole; half of one is thrown away.
    target.raw.pragma('synchronous = OFF');
    await migrate(target);
    const client = await pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const rowsOf = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
        (await client.query<Row>(text, values)).rows;
      const from = {
        ...postgresSource(placeName(place), rowsOf),
        rejectBusy: async () => undefined,
        rejectOwing: async () => undefined,
      };
      await moveSite({ from, to: sqliteEnd(target) });
    } finally {
      await client.query('ROLLBACK').catch(() => undefined);
      client.release();
    }
    foldLog(target);
    return schemaOf(target);
  } finally {
    await target.close();
  }
}
