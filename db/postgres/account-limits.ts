/** Balance and use of a user or key in the ledger, and the leases of this node and the others. */
import type { Line } from './line.ts';

/** @param tokenId null = the user's own. @returns null where there is no such account or key. */
export async function limitsOn(
  line: Line,
  userId: number,
  tokenId: number | null,
): Promise<{ readonly limit: number | null; readonly used: number } | null> {
  const [answer] = await line.send([
    tokenId === null
      ? {
          text: 'SELECT balance + used_quota AS "limit", used_quota AS used FROM accounts WHERE id = $1',
          values: [userId],
        }
      : {
          text: 'SELECT CASE unlimited WHEN 1 THEN NULL ELSE quota_limit END AS "limit", used_quota AS used FROM tokens WHERE id = $1',
          values: [tokenId],
        },
  ]);
  return (answer?.rows[0] as { limit: number | null; used: number } | undefined) ?? null;
}

/** Of the node itself, and how many nodes are live: one that was started again is the same. */
export async function nodesNow(line: Line, epoch: number): Promise<{ readonly state: string; readonly count: number }> {
  const [answer] = await line.send([
    {
      text: `SELECT count(DISTINCT node) AS count, coalesce(max(state) FILTER (WHERE epoch = $1), '') AS state
        FROM nodes WHERE state <> 'expired' AND expires_at > clock_timestamp()`,
      values: [epoch],
    },
  ]);
  return (answer?.rows[0] as { state: string; count: number } | undefined) ?? { state: '', count: 1 };
}
