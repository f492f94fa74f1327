/** Work on a whole site while no node lives. */
import type { PoolClient } from 'pg';
import { AppError } from '../../server/contract/errors.ts';

const live =
  "SELECT DISTINCT node FROM nodes WHERE state <> 'expired' AND expires_at > clock_timestamp() ORDER BY node";

/** @param name of the database, for people. @throws AppError nodes_live */
export async function rejectLive(client: Pick<PoolClient, 'query'>, name: string): Promise<void> {
  const { rows } = await client.query<{ node: string }>(live);
  if (rows.length > 0) throw new AppError('nodes_live', { name, nodes: rows.map(({ node }) => node).join(', ') });
}

/** From here to the end of the transaction no node begins: it waits. @throws AppError nodes_live */
export async function requireExclusive(client: PoolClient, name: string): Promise<void> {
  await client.query("SET LOCAL lock_timeout = '10s'");
  await client.query('LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE');
  await rejectLive(client, name);
}
