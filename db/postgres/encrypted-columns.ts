/** Encrypted columns of a PostgreSQL database: a value to check a key with, and re-encryption of all. */
import type { PoolClient } from 'pg';
import {
  type EncryptedSample,
  encryptedColumns,
  endOldKeys,
  keyProof,
  markName,
  optionPurpose,
  type Rotate,
  rejectUnlisted,
} from '../encrypted-columns.ts';
import { placeName } from '../place.ts';
import { texts } from './arrays.ts';
import { requireExclusive } from './exclusive.ts';
import type { PostgresDatabase } from './open.ts';

/** @returns null = nothing is. */
export async function encryptedSampleOn({ pool }: PostgresDatabase): Promise<EncryptedSample | null> {
  for (const { table, column, purpose } of encryptedColumns) {
    const { rows } = await pool.query<{ sealed: string }>(
      `SELECT ${column} AS sealed FROM ${table} WHERE ${column} <> '' LIMIT 1`,
    );
    const [row] = rows;
    if (row !== undefined) return { purpose, encrypted: row.sealed };
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
async function rotateTable(
  client: PoolClient,
  place: (typeof encryptedColumns)[number],
  rotate: Rotate,
): Promise<number> {
  const { table, id, column, purpose, hasHmac } = place;
  let count = 0;
  for (let after = 0; ; ) {
    const { rows } = await client.query<{ id: number; sealed: string }>(
      `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${id} > $1 ORDER BY ${id} LIMIT ${rowsAtOnce}`,
      [after],
    );
    const last = rows.at(-1);
    if (last === undefined) return count;
    const rotated = rows.map(({ sealed: encrypted }) => rotate(purpose, encrypted));
    await client.query(
      `UPDATE ${table} t SET ${column} = v.sealed${hasHmac ? ', key_hmac = v.hmac' : ''}
        FROM unnest($1::bigint[], $2::text[], $3::text[]) AS v(id, sealed, hmac) WHERE t.${id} = v.id`,
      [
        `{${rows.map((row) => row.id).join()}}`,
        texts(rotated.map(({ encrypted }) => encrypted)),
        texts(rotated.map(({ hmac }) => hmac)),
      ],
    );
    count += rows.length;
    after = last.id;
  }
}

/** @returns how many secrets there are. */
async function rotateOptions(client: PoolClient, rotate: Rotate): Promise<number> {
  let count = 0;
  const { rows } = await client.query<{ key: string; value: string }>('SELECT key, value FROM options');
  for (const { key, value } of rows) {
    const purpose = optionPurpose(key, value);
    if (purpose === null) continue;
    await client.query('UPDATE options SET value = $1 WHERE key = $2', [rotate(purpose, value).encrypted, key]);
    count += 1;
  }
  return count;
}

async function rotateAll(client: PoolClient, mark: string, rotate: Rotate): Promise<number> {
  let count = await rotateOptions(client, rotate);
  for (const place of encryptedColumns) count += await rotateTable(client, place, rotate);
  await client.query(endOldKeys);
  const { rows } = await client.query<{ value: string }>(readMeta, [keyProof.key]);
  for (const { value } of rows)
    await client.query('UPDATE meta SET value = $1 WHERE key = $2', [
      rotate(keyProof.purpose, value).encrypted,
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
export async function rotateSecretsOn(
  { pool, place }: Pick<PostgresDatabase, 'pool' | 'place'>,
  mark: string,
  rotate: Rotate,
): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await requireExclusive(client, placeName(place));
    const { rows } = await client.query<{ name: string; of: string }>(columns);
    rejectUnlisted(rows.map(({ name, of }) => [name, of]));
    // No node follows the change stream now.
    await client.query("SET LOCAL gateway.quiet = 'on'");
    const count = await rotateAll(client, mark, rotate);
    await client.query('COMMIT');
    client.release();
    return count;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
