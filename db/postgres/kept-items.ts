/** Stored response items for several nodes: a table of its own. */
import type { Kept, KeptItemLimits, KeptItems, Owned } from '../kept-item.ts';
import { numbers, texts } from './arrays.ts';
import type { PostgresDatabase } from './open.ts';

const dayMs = 86_400_000;
/** As long as upstreams keep responses. */
const ownerDays = 30;
const cleanupMs = 60_000;

/** Losing the last of them costs a client an error, and no money: writes need not wait for a disk. */
const withoutSync = 'SET LOCAL synchronous_commit = off';

const trim = (where: string, max: string) => `DELETE FROM kept_items WHERE number IN (SELECT number FROM
  (SELECT number, sum(size) OVER (ORDER BY number DESC) AS sofar FROM kept_items ${where}) rows WHERE sofar > ${max})`;

/** @param now epoch milliseconds. */
export function createPostgresKeptItems(
  { pool }: Pick<PostgresDatabase, 'pool'>,
  now: () => number,
  limits: KeptItemLimits,
): KeptItems {
  let sweptMs = 0;
  const cleanup = async (): Promise<void> => {
    sweptMs = now();
    await pool.query('DELETE FROM kept_items WHERE until <= $1', [now()]);
    const large = await pool.query<{ user_id: number }>(
      'SELECT user_id FROM kept_items GROUP BY user_id HAVING sum(size) > $1',
      [limits.perUser],
    );
    for (const { user_id } of large.rows) await pool.query(trim('WHERE user_id = $2', '$1'), [limits.perUser, user_id]);
    const { rows } = await pool.query<{ size: number }>('SELECT coalesce(sum(size), 0) AS size FROM kept_items');
    if ((rows[0]?.size ?? 0) > limits.inAll) await pool.query(trim('', '$1'), [limits.inAll]);
    await pool.query(
      `DELETE FROM kept_owners WHERE until <= $1 OR number <= (SELECT max(number) FROM kept_owners) - $2`,
      [now(), limits.owners],
    );
  };
  const quick = async (text: string, values: readonly unknown[]): Promise<void> => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(withoutSync);
      await client.query(text, [...values]);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  };
  return {
    async keepItems(userId, items, days) {
      // One statement must not meet the same row twice.
      const newest = [...new Map(items.map((item) => [item.id, item])).values()];
      await quick(
        `INSERT INTO kept_items (id, user_id, until, size, sealed)
         SELECT id, $1, $2, length(sealed), sealed FROM unnest($3::text[], $4::text[]) AS given(id, sealed)
         ON CONFLICT (user_id, id) DO UPDATE SET until = excluded.until, size = excluded.size, sealed = excluded.sealed,
           number = DEFAULT`,
        [userId, now() + days * dayMs, texts(newest.map(({ id }) => id)), texts(newest.map(({ sealed }) => sealed))],
      );
      if (now() - sweptMs >= cleanupMs) await cleanup();
    },
    async keptItems(userId, ids) {
      const { rows } = await pool.query<Kept>(
        'SELECT id, sealed FROM kept_items WHERE user_id = $1 AND until > $2 AND id = ANY($3::text[])',
        [userId, now(), texts(ids)],
      );
      return rows;
    },
    async keepOwners(owned) {
      // One statement must not meet the same row twice.
      const newest = [...new Map(owned.map((one) => [one.id, one])).values()];
      await quick(
        `INSERT INTO kept_owners (id, owner_id, channel_id, until)
         SELECT id, owner_id, channel_id, $1 FROM unnest($2::text[], $3::bigint[], $4::bigint[])
           AS given(id, owner_id, channel_id)
         ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id, channel_id = excluded.channel_id,
           until = excluded.until, number = DEFAULT`,
        [
          now() + ownerDays * dayMs,
          texts(newest.map(({ id }) => id)),
          numbers(newest.map(({ ownerId }) => ownerId)),
          numbers(newest.map(({ channelId }) => channelId)),
        ],
      );
      if (now() - sweptMs >= cleanupMs) await cleanup();
    },
    async ownersOf(ids) {
      const { rows } = await pool.query<Owned>(
        `SELECT id, owner_id AS "ownerId", channel_id AS "channelId" FROM kept_owners
         WHERE until > $1 AND id = ANY($2::text[])`,
        [now(), texts(ids)],
      );
      return rows;
    },
    async sweepItems(days) {
      await pool.query('DELETE FROM kept_items WHERE until > $1', [now() + days * dayMs]);
      await cleanup();
    },
    closeItems: () => undefined,
  };
}
