/** What is sealed in a database of PostgreSQL: something to see whether a key opens it, and all of it renewed. */
import type { PoolClient } from 'pg';
import {
  endOldKeys,
  keyProof,
  markName,
  type Renew,
  rejectUnlisted,
  type SealedSample,
  sealedOption,
  sealedPlaces,
} from '../encrypted-columns.ts';
import { placeName } from '../place.ts';
import { texts } from './arrays.ts';
import { standAlone } from './exclusive.ts';
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

const readMeta = 'SELECT value FROM meta WHERE key = $1';

/** As `keyMark`. */
export async function keyMarkOn({ pool }: Pick<PostgresDatabase, 'pool'>): Promise<string> {
  const { rows } = await pool.query<{ value: string }>(readMeta, [markName]);
  return rows[0]?.value ?? '';
}

const columns = `SELECT c.table_name AS name, c.column_name AS of FROM information_schema.columns c
  WHERE c.table_schema = current_schema() AND c.column_name LIKE '%\\_sealed' ORDER BY 1, 2`;

const rowsAtOnce = 2000;

/** @returns how many rows it has. */
async function renewTable(client: PoolClient, place: (typeof sealedPlaces)[number], renew: Renew): Promise<number> {
  const { table, id, column, purpose, lookedUp } = place;
  let count = 0;
  for (let after = 0; ; ) {
    const { rows } = await client.query<{ id: number; sealed: string }>(
      `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${id} > $1 ORDER BY ${id} LIMIT ${rowsAtOnce}`,
      [after],
    );
    const last = rows.at(-1);
    if (last === undefined) return count;
    const renewed = rows.map(({ sealed }) => renew(purpose, sealed));
    await client.query(
      `UPDATE ${table} t SET ${column} = v.sealed${lookedUp ? ', key_hmac = v.hmac' : ''}
        FROM unnest($1::bigint[], $2::text[], $3::text[]) AS v(id, sealed, hmac) WHERE t.${id} = v.id`,
      [
        `{${rows.map((row) => row.id).join()}}`,
        texts(renewed.map(({ sealed }) => sealed)),
        texts(renewed.map(({ hmac }) => hmac)),
      ],
    );
    count += rows.length;
    after = last.id;
  }
}

/** @returns how many secrets there are. */
async function renewOptions(client: PoolClient, renew: Renew): Promise<number> {
  let count = 0;
  const { rows } = await client.query<{ key: string; value: string }>('SELECT key, value FROM options');
  for (const { key, value } of rows) {
    const purpose = sealedOption(key, value);
    if (purpose === null) continue;
    await client.query('UPDATE options SET value = $1 WHERE key = $2', [renew(purpose, value).sealed, key]);
    count += 1;
  }
  return count;
}

async function renewAll(client: PoolClient, mark: string, renew: Renew): Promise<number> {
  let count = await renewOptions(client, renew);
  for (const place of sealedPlaces) count += await renewTable(client, place, renew);
  await client.query(endOldKeys);
  const { rows } = await client.query<{ value: string }>(readMeta, [keyProof.key]);
  for (const { value } of rows)
    await client.query('UPDATE meta SET value = $1 WHERE key = $2', [
      renew(keyProof.purpose, value).sealed,
      keyProof.key,
    ]);
  await client.query(
    'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [markName, mark],
  );
  return count;
}

/**
 * All or nothing, while no node lives: one that starts meanwhile waits, and then finds that its key opens nothing.
 * @throws AppError nodes_live; when a value cannot be read, or the schema has sealed columns unknown here. @returns how many values there were.
 */
export async function renewSealedOn(
  { pool, place }: Pick<PostgresDatabase, 'pool' | 'place'>,
  mark: string,
  renew: Renew,
): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await standAlone(client, placeName(place));
    const { rows } = await client.query<{ name: string; of: string }>(columns);
    rejectUnlisted(rows.map(({ name, of }) => [name, of]));
    // Nobody follows.
    await client.query("SET LOCAL gateway.quiet = 'on'");
    const count = await renewAll(client, mark, renew);
    await client.query('COMMIT');
    client.release();
    return count;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
