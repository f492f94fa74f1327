/** A long log, written by the database itself. */
import { sql } from 'kysely';
import type { Database } from '../../../db/open.ts';

/** 500 users, 20 models, 40 channels; 3 in 100 fail, 2 were retried, 1 is refused. Facts as long as those of a real row. */
export async function fillLog(
  { query, engine }: Database,
  { rows, begin, seconds }: { readonly rows: number; readonly begin: number; readonly seconds: number },
): Promise<void> {
  const numbers =
    engine === 'postgres'
      ? sql`SELECT i FROM generate_series(0::bigint, ${sql.lit(rows - 1)}) AS numbers(i)`
      : sql`SELECT i FROM (WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${sql.lit(rows - 1)}) SELECT i FROM numbers) AS numbers`;
  const facts = `"model_ratio":1.25,"model_price":-1,"completion_ratio":4,"group_ratio":1,"cache_tokens":0,"cache_ratio":0.5,"input":1000,"output":200,"frt":350,"ms":2100,"price_note":"${'x'.repeat(150)}"`;
  const attempts =
    '"admin_info":{"use_channel":["1","2"],"attempts":[{"channel":1,"name":"one","reason":"status","status":429,"ms":310},{"channel":2,"name":"two"}]}';
  await query
    .insertInto('users')
    .values(
      Array.from({ length: 500 }, (_, at) => ({
        id: at + 101,
        username: `user${at + 1}`,
        password_hash: 'x',
        created_at: 1,
      })) as never,
    )
    .execute();
  await sql`INSERT INTO logs (request_id, created_at, type, user_id, username, token_id, token_name, channel_id, group_name, model_name,
      is_stream, use_time, prompt_tokens, completion_tokens, quota, content, other, usage_source, end_reason)
    SELECT 'req' || i, ${sql.lit(begin)} + i * ${sql.lit(seconds)} / ${sql.lit(rows)}, CASE WHEN i % 100 < 4 THEN 5 ELSE 2 END,
      101 + i % 500, 'user' || (1 + i % 500), 1 + i % 1500, 'key' || (i % 30), 1 + i % 40, CASE i % 7 WHEN 0 THEN 'vip' ELSE 'default' END,
      'model-' || (i % 20), 1, 2, 1000, 200, 2250, '',
      CASE WHEN i % 100 < 3 THEN ${sql.lit(`{${facts},"failure":"status 429",${attempts}}`)}
        WHEN i % 100 = 3 THEN '{"refused":"model_forbidden","status":403}'
        WHEN i % 100 < 6 THEN ${sql.lit(`{${facts},${attempts}}`)}
        ELSE ${sql.lit(`{${facts},"admin_info":{"use_channel":["1"]}}`)} END, 'reported',
      CASE WHEN i % 100 < 3 THEN 'upstream_failed' WHEN i % 100 = 3 THEN 'refused' ELSE 'completed' END
    FROM (${numbers}) AS numbered`.execute(query);
}
