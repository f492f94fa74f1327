/** Balance and use of a user or key in the ledger, and the leases of this node and the others. */
import type { KeyFunds } from '../../server/contract/key-budgets.ts';
import { periodStart } from '../../server/contract/period.ts';
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

interface FundsRow {
  readonly balance: number;
  readonly limit: number | null;
  readonly used: number;
  readonly dayAt: number;
  readonly dayUsed: number;
  readonly monthAt: number;
  readonly monthUsed: number;
}

/** Quota of a key and its user by the site's ledger, whichever node holds it. @param now epoch seconds: sums of a period that is over count as nothing. @returns null where there is no such key. */
export async function fundsOn(line: Line, userId: number, tokenId: number, now: number): Promise<KeyFunds | null> {
  const [answer] = await line.send([
    {
      text: `SELECT a.balance, CASE t.unlimited WHEN 1 THEN NULL ELSE t.quota_limit END AS "limit", t.used_quota AS used,
        t.day_at AS "dayAt", t.day_used AS "dayUsed", t.month_at AS "monthAt", t.month_used AS "monthUsed"
        FROM tokens t JOIN accounts a ON a.id = t.user_id WHERE t.id = $2 AND a.id = $1`,
      values: [userId, tokenId],
    },
  ]);
  const row = answer?.rows[0] as FundsRow | undefined;
  if (row === undefined) return null;
  const { balance, limit, used, dayAt, dayUsed, monthAt, monthUsed } = row;
  return {
    balance: Math.max(0, balance),
    limit,
    used,
    dayUsed: dayAt >= periodStart('day', now) ? dayUsed : 0,
    monthUsed: monthAt >= periodStart('month', now) ? monthUsed : 0,
  };
}

/** State of the node itself, and how many nodes are live: one that was started again is the same. */
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
