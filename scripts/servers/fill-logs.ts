/** Fills the log of an empty server as `scripts/lab/measure/logs.ts` fills a file; each month is written first and given its indexes then. */
import { sql } from 'kysely';
import { migratePostgres } from '../../db/postgres/migrate.ts';
import { monthOf } from '../../db/postgres/months.ts';
import type { PostgresDatabase } from '../../db/postgres/open.ts';

export interface LogFill {
  readonly rows: number;
  /** Epoch seconds of the first row. */
  readonly from: number;
  readonly perSecond: number;
  /** Facts of every row. */
  readonly other: string;
  readonly users: number;
  readonly models: readonly string[];
}

/** Rows `first` up to, not including, `end`. */
const rowsBetween = ({ from, perSecond, other, users, models }: LogFill, first: number, end: number) => sql`
  SELECT i + 1 AS id, '20261120' || lpad(i::text, 12, '0') || 'abcdefgh' AS request_id,
    ${sql.lit(from)} + floor(i / ${sql.lit(perSecond)})::bigint AS created_at, CASE i % 50 WHEN 3 THEN 5 ELSE 2 END AS type,
    u AS user_id, 'user' || u AS username, u AS token_id,
    CASE u WHEN ${sql.lit(users)} THEN 'rare-token' ELSE 'default' END AS token_name, 1 + i % 40 AS channel_id,
    CASE i % 100000 WHEN 11 THEN 'rare' ELSE 'default' END AS group_name,
    CASE i % 100000 WHEN 7 THEN 'rare-model' ELSE (ARRAY[${sql.join(models.map((model) => sql.lit(model)))}])[1 + i % ${sql.lit(models.length)}] END AS model_name,
    1 - i % 2 AS is_stream, 2 AS use_time, 1000 AS prompt_tokens, 200 AS completion_tokens, 2250 AS quota, '' AS content,
    ${sql.lit(other)} AS other, 'reported' AS usage_source, 'completed' AS end_reason
  FROM (SELECT i, CASE WHEN i % 1000 = 0 THEN ${sql.lit(users)} ELSE 1 + i % ${sql.lit(users - 1)} END AS u
    FROM generate_series(${sql.lit(first)}::bigint, ${sql.lit(end - 1)}::bigint) AS i) AS numbered`;

/** @param database with nothing in it. */
export async function fillServer(database: PostgresDatabase, fill: LogFill): Promise<void> {
  await migratePostgres(database);
  const { query } = database;
  await sql`INSERT INTO users (id, username, password_hash, created_at)
    SELECT i, 'user' || i, 'x', 1 FROM generate_series(1, ${sql.lit(fill.users)}) AS i`.execute(query);
  for (let first = 0; first < fill.rows; ) {
    const month = monthOf(fill.from + Math.floor(first / fill.perSecond));
    const end = Math.min(fill.rows, Math.ceil((month.to - fill.from) * fill.perSecond));
    const table = sql.table(month.table);
    await sql`CREATE TABLE ${table} (LIKE logs INCLUDING DEFAULTS)`.execute(query);
    await sql`INSERT INTO ${table} (id, request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name,
      model_name, is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason)
      ${rowsBetween(fill, first, end)}`.execute(query);
    await sql`ALTER TABLE logs ATTACH PARTITION ${table} FOR VALUES FROM (${sql.lit(month.from)}) TO (${sql.lit(month.to)})`.execute(
      query,
    );
    await sql`INSERT INTO usage_hour_parts (hour_at, user_id, username, model_name, channel_id, epoch, count, tokens, quota)
      SELECT created_at - created_at % 3600, user_id, min(username), model_name, channel_id, 0, count(*),
        sum(prompt_tokens + completion_tokens), sum(quota) FROM ${table} WHERE type = 2 GROUP BY 1, 2, 4, 5`.execute(
      query,
    );
    first = end;
  }
  await sql`SELECT setval(pg_get_serial_sequence('logs', 'id'), ${sql.lit(fill.rows)})`.execute(query);
  await sql`VACUUM ANALYZE`.execute(query);
}
