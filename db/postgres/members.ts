/** The nodes of a site as people see them: who lives, what each has in hand, and who is to end. */

import type { NodeCount } from '../../server/contract/snapshot.ts';
import { defaultLeaseSeconds, graceSeconds, leftoversDue, maxRequestSeconds } from './nodes.ts';
import type { PostgresDatabase } from './open.ts';

export interface MemberRow {
  readonly epoch: number;
  readonly node: string;
  readonly state: 'live' | 'draining' | 'expired';
  readonly version: string;
  readonly schema: string;
  readonly started_at: number;
  readonly left_at: number;
  /** Seconds since its last heartbeat. */
  readonly silent: number;
  readonly figures: string;
  /** Accounts and keys that it leases, quota of the accounts', and its open requests in the ledger. */
  readonly leases: number;
  readonly leased: number;
  readonly holds: number;
  /** Seconds until what it left open is settled for it and its leases are free; null = it lives, or has left nothing open. */
  readonly settles: number | null;
  /** Seconds until it counts as gone, should it be heard of no more; null = it does. */
  readonly ends: number | null;
  readonly forgotten_at: number;
}

/** A node is represented by its newest start; what earlier ones have left counts with it. */
const counted = `SELECT newest.*,
    (SELECT count(*) FROM leases JOIN nodes USING (epoch) WHERE nodes.node = newest.node) AS leases,
    (SELECT coalesce(sum(amount), 0) FROM leases JOIN nodes USING (epoch) WHERE nodes.node = newest.node AND kind = 'account') AS leased,
    (SELECT count(*) FROM holds JOIN nodes USING (epoch) WHERE nodes.node = newest.node) AS holds
  FROM (SELECT DISTINCT ON (node) * FROM nodes ORDER BY node, epoch DESC) newest`;

/** A node that was removed at once no longer counts for any limit. */
const all = `SELECT epoch, node, state, version, schema, started_at, left_at, forgotten_at, figures, leases, leased, holds,
    greatest(0, extract(epoch FROM clock_timestamp() - expires_at) + coalesce((figures::json ->> 'lease_seconds')::int, ${defaultLeaseSeconds}))::bigint AS silent,
    CASE WHEN state = 'expired' AND (leases > 0 OR holds > 0)
      THEN greatest(0, extract(epoch FROM expires_at - clock_timestamp()) + ${maxRequestSeconds})::bigint END AS settles,
    CASE WHEN state <> 'expired'
      THEN greatest(1, ceil(extract(epoch FROM expires_at - clock_timestamp()) + ${graceSeconds}))::bigint END AS ends
  FROM (${counted}) counted WHERE expires_at > '-infinity'`;

const keptSeconds = 86_400;
/** How long admitted requests count after a node has ended. */
const windowSeconds = 60;

export function createMembers({ pool }: Pick<PostgresDatabase, 'pool'>) {
  return {
    /** Those that live, and those that are gone while something is left of them. */
    async list(): Promise<MemberRow[]> {
      const { rows } = await pool.query<MemberRow>(
        `${all} AND (state <> 'expired' OR left_at = 0 AND forgotten_at = 0 OR leases > 0 OR holds > 0) ORDER BY node`,
      );
      return rows;
    },
    async find(node: string): Promise<MemberRow | null> {
      const { rows } = await pool.query<MemberRow>(`${all} AND node = $1`, [node]);
      return rows[0] ?? null;
    },
    /**
     * Nodes that share a limit: those that live, since one that drains admits requests until its balancer has noticed, and
     * where a minute counts those that served until a minute ago. A node that starts again counts once; a CLI command that has ended
     * does not renew its row, and has admitted no requests.
     */
    async sharing(): Promise<NodeCount> {
      const { rows } = await pool.query<NodeCount>(
        `SELECT count(DISTINCT node) FILTER (WHERE state <> 'expired') AS live, count(DISTINCT node) AS recent FROM nodes
         WHERE state <> 'expired' OR figures <> '{}' AND expires_at > clock_timestamp() - make_interval(secs => $1)`,
        [windowSeconds],
      );
      return rows[0] ?? { live: 0, recent: 0 };
    },
    async leftoversDue(): Promise<boolean> {
      const { rows } = await pool.query<{ due: boolean }>(leftoversDue);
      return rows[0]?.due === true;
    },
    /** @returns false when it does not live. */
    async drain(node: string): Promise<boolean> {
      const { rowCount } = await pool.query(
        "UPDATE nodes SET state = 'draining' WHERE node = $1 AND state <> 'expired'",
        [node],
      );
      return (rowCount ?? 0) > 0;
    },
    /** Stops waiting for the rows on its disk. @param now its open requests are settled at once, as far as they were seen; otherwise when their time is over. */
    async deleteOld(node: string, now: boolean): Promise<void> {
      await pool.query(
        `UPDATE nodes SET forgotten_at = extract(epoch FROM clock_timestamp())::bigint,
           expires_at = CASE WHEN $2 THEN '-infinity' ELSE expires_at END
         WHERE node = $1 AND state = 'expired'`,
        [node, now],
      );
    },
    /** Writes this node's figures. The ledger's own writes to the row wait for no disk because of it. */
    async report(node: string, position: string, stats: string): Promise<void> {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('SET LOCAL synchronous_commit = off');
        await client.query(
          `UPDATE nodes SET follows = $2::xid8, figures = $3
           WHERE epoch = (SELECT max(epoch) FROM nodes WHERE node = $1) AND state <> 'expired'`,
          [node, position, stats],
        );
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      } finally {
        client.release();
      }
    },
    /** Rows that nothing speaks of any more. */
    async sweep(): Promise<void> {
      await pool.query(
        `DELETE FROM nodes WHERE state = 'expired' AND expires_at < clock_timestamp() - make_interval(secs => $1)
           AND (left_at > 0 OR forgotten_at > 0 OR EXISTS (SELECT 1 FROM nodes newer WHERE newer.node = nodes.node AND newer.epoch > nodes.epoch))
           AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.epoch = nodes.epoch)
           AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.epoch = nodes.epoch)`,
        [keptSeconds],
      );
    },
  };
}
