/** Nodes of an older version: what they do not know of, they do not keep to. */
import { sql } from 'kysely';
import type { Database } from '../open.ts';

/** A node that lives and whose build is from before a migration. @returns its name; undefined = none. */
export async function nodeBefore({ query, engine }: Pick<Database, 'query' | 'engine'>, migration: string) {
  if (engine === 'sqlite') return undefined;
  const { rows } = await sql<{ node: string }>`SELECT node FROM nodes
    WHERE state <> 'expired' AND expires_at > clock_timestamp() AND schema < ${migration} ORDER BY node LIMIT 1`.execute(
    query,
  );
  return rows[0]?.node;
}
