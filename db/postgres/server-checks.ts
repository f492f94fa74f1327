/** Looking after a database of PostgreSQL as far as it does not do so itself. */
import type { DatabaseCheck } from '../database-file.ts';
import { postgresSchemaOf } from './migrate.ts';
import type { PostgresDatabase } from './open.ts';

/** Its pages are the server's own affair; what a command that was broken off left behind is ours. */
export async function checkServer(database: PostgresDatabase): Promise<DatabaseCheck> {
  const { rows } = await database.pool.query<{ words: string }>(
    `SELECT 'index ' || indexrelid::regclass || ' is not whole' AS words FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE relnamespace = current_schema()::regnamespace AND NOT (indisvalid AND indisready)
     UNION ALL SELECT 'a move into it has not ended' WHERE to_regclass('move_cursor') IS NOT NULL`,
  );
  return { schema: await postgresSchemaOf(database), problems: rows.map(({ words }) => words) };
}

/** Without holding anybody up. @returns bytes before and after. */
export async function vacuumServer({ pool }: PostgresDatabase): Promise<{ before: number; after: number }> {
  const size = async () =>
    (await pool.query<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes')).rows[0]?.bytes ?? 0;
  const before = await size();
  await pool.query('VACUUM (ANALYZE)');
  return { before, after: await size() };
}
