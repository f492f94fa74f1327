/** The ephemeral store for several nodes: rows of an unlogged table, which wait for no disk. Each step is one statement. */
import type { EphemeralStore } from '../ephemeral-store.ts';
import { numbers } from './arrays.ts';
import type { PostgresDatabase } from './open.ts';

const put = `WITH put AS (
    INSERT INTO memos (purpose, key, holder, value, until_ms) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (purpose, key, holder) DO UPDATE SET value = excluded.value, until_ms = excluded.until_ms)
  DELETE FROM memos WHERE purpose = $1 AND key = $2 AND holder <> $3 AND (until_ms <= $6 OR holder IN (
    SELECT holder FROM memos WHERE purpose = $1 AND key = $2 AND holder <> $3 ORDER BY until_ms DESC OFFSET $7))`;
const claim = `INSERT INTO memos (purpose, key, until_ms) VALUES ($1, $2, $3)
  ON CONFLICT (purpose, key, holder) DO UPDATE SET until_ms = excluded.until_ms WHERE memos.until_ms <= $4 RETURNING 1`;
const count = `INSERT INTO memos (purpose, key, count, until_ms) VALUES ($1, $2, 1, $3::bigint + $4)
  ON CONFLICT (purpose, key, holder) DO UPDATE SET
    count = CASE WHEN memos.until_ms <= $3 THEN 1 ELSE memos.count + 1 END,
    until_ms = CASE WHEN memos.until_ms <= $3 THEN excluded.until_ms ELSE memos.until_ms END
  WHERE memos.until_ms <= $3 OR memos.count < $5 RETURNING count`;

/** $3 now, $4 window, $5 free tries, $6 how far the tries after those lie apart. A place is due one window before it is forgotten. */
const attempts = 'CASE WHEN memos.until_ms <= $3 THEN 0 ELSE memos.count END';
const due = `CASE WHEN memos.until_ms <= $3 OR memos.count < $5 THEN $3
  ELSE greatest($3, memos.until_ms - $4 + ($6::bigint[])[least(memos.count - $5 + 1, cardinality($6::bigint[]))]) END`;
const queue = `INSERT INTO memos (purpose, key, count, until_ms) VALUES ($1, $2, 1, $3::bigint + $4::bigint)
  ON CONFLICT (purpose, key, holder) DO UPDATE SET count = ${attempts} + 1, until_ms = ${due} + $4
  WHERE ${due} - $3 <= $7 RETURNING until_ms - $4 - $3 AS wait`;

/** @param now epoch milliseconds. */
export function createPostgresEphemeralStore(
  { pool }: Pick<PostgresDatabase, 'pool'>,
  now: () => number,
): EphemeralStore {
  const did = async (text: string, ...values: readonly unknown[]): Promise<boolean> =>
    (await pool.query(text, [...values])).rows.length > 0;
  return {
    async put({ purpose, key }, { holder, value, until }, max) {
      await pool.query(put, [purpose, key, holder, value, until, now(), max - 1]);
    },
    has: ({ purpose, key }, value) =>
      did(
        'SELECT 1 FROM memos WHERE purpose = $1 AND key = $2 AND until_ms > $3 AND value = coalesce($4, value) LIMIT 1',
        ...[purpose, key, now(), value ?? null],
      ),
    take: ({ purpose, key }, value) =>
      did(
        'DELETE FROM memos WHERE purpose = $1 AND key = $2 AND until_ms > $3 AND value = $4 RETURNING 1',
        ...[purpose, key, now(), value],
      ),
    claim: ({ purpose, key }, until) => did(claim, purpose, key, until, now()),
    async write({ purpose, key }, text, until) {
      await pool.query(
        `INSERT INTO memos (purpose, key, value, until_ms) VALUES ($1, $2, $3, $4)
          ON CONFLICT (purpose, key, holder) DO UPDATE SET value = excluded.value, until_ms = excluded.until_ms`,
        [purpose, key, text, until],
      );
    },
    async read({ purpose, key }) {
      const { rows } = await pool.query<{ value: string }>(
        'SELECT value FROM memos WHERE purpose = $1 AND key = $2 AND until_ms > $3 LIMIT 1',
        [purpose, key, now()],
      );
      return rows[0]?.value ?? null;
    },
    async drop({ purpose, key }) {
      await pool.query('DELETE FROM memos WHERE purpose = $1 AND key = $2', [purpose, key]);
    },
    async count({ purpose, key }, windowMs, max) {
      const { rows } = await pool.query<{ count: number }>(count, [purpose, key, now(), windowMs, max]);
      return rows[0]?.count ?? null;
    },
    async uncount({ purpose, key }) {
      await pool.query(
        'UPDATE memos SET count = greatest(0, count - 1) WHERE purpose = $1 AND key = $2 AND until_ms > $3',
        [purpose, key, now()],
      );
    },
    async counted({ purpose, key }) {
      const { rows } = await pool.query<{ count: number }>(
        'SELECT count FROM memos WHERE purpose = $1 AND key = $2 AND until_ms > $3',
        [purpose, key, now()],
      );
      return rows[0]?.count ?? 0;
    },
    async queue({ purpose, key }, { free, delaysMs, maxMs, windowMs }) {
      const values = [purpose, key, now(), windowMs, free, numbers(delaysMs), maxMs];
      const { rows } = await pool.query<{ wait: number }>(queue, values);
      return rows[0]?.wait ?? null;
    },
    async cleanup() {
      await pool.query('DELETE FROM memos WHERE until_ms <= $1', [now()]);
    },
  };
}
