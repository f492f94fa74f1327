/** Something sealed in a database of PostgreSQL, to see whether a key opens it. */
import type { SealedSample } from '../sealed.ts';
import { sealedPlaces } from '../sealed.ts';
import type { PostgresDatabase } from './open.ts';

/** @returns null = nothing is. */
export async function sealedSampleOn({ pool }: PostgresDatabase): Promise<SealedSample | null> {
  for (const { table, column, purpose } of sealedPlaces) {
    const { rows } = await pool.query<{ sealed: string }>(
      `SELECT ${column} AS sealed FROM ${table} WHERE ${column} <> '' LIMIT 1`,
    );
    const [row] = rows;
    if (row !== undefined) return { purpose, sealed: row.sealed };
  }
  return null;
}
