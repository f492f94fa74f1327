/** Read-only queries behind `gateway ledger verify`. */
import type { Database as RawDatabase } from 'better-sqlite3';

const settled = (column: string, owner: string): string =>
  `SELECT coalesce(sum(amount), 0) FROM postings WHERE kind = 'settle' AND ${column} = ${owner}.id`;

export function ledgerFacts(raw: RawDatabase) {
  const number = (sql: string): number => Number(raw.prepare<number>(sql).pluck().get() ?? 0);
  const words = (sql: string): string[] => raw.prepare<string>(sql).pluck().all();
  const sums = `SELECT id, sum(amount) AS amount FROM (
    SELECT credit AS id, amount FROM postings UNION ALL SELECT debit, -amount FROM postings) GROUP BY id`;

  return {
    accounts: () => number('SELECT count(*) FROM accounts'),
    postings: () => number('SELECT count(*) FROM postings'),
    redemptions: () => number('SELECT count(*) FROM redemptions'),
    topUps: () => number('SELECT count(*) FROM top_ups'),
    users: () => number('SELECT count(*) FROM users'),
    counters: () =>
      number(
        'SELECT (SELECT count(*) FROM accounts WHERE id > 0) + (SELECT count(*) FROM tokens) + (SELECT count(*) FROM channels)',
      ),
    total: () => number('SELECT sum(balance) FROM accounts'),
    wrongBalances: () =>
      words(`SELECT 'account ' || a.id || ': ' || a.balance || ' <> ' || coalesce(s.amount, 0) FROM accounts a LEFT JOIN (${sums}) s USING (id)
        WHERE a.balance <> coalesce(s.amount, 0)
        UNION ALL SELECT 'no account ' || s.id FROM (${sums}) s WHERE s.id NOT IN (SELECT id FROM accounts)`),
    doubledRefs: () => words('SELECT ref FROM postings GROUP BY ref HAVING count(*) > 1'),
    conservation: () =>
      words(`SELECT 'granted ' || granted || ' <> ' || kept FROM (SELECT
        (SELECT coalesce(sum(amount), 0) FROM postings WHERE credit > 0 AND debit < 0) - (SELECT coalesce(sum(amount), 0) FROM postings WHERE debit > 0 AND credit < 0 AND kind <> 'settle') AS granted,
        (SELECT coalesce(sum(balance), 0) FROM accounts WHERE id > 0) + (SELECT coalesce(sum(amount), 0) FROM postings WHERE kind = 'settle') AS kept)
        WHERE granted <> kept`),
    wrongCounters: () =>
      words(`SELECT 'user ' || id FROM accounts a WHERE id > 0 AND used_quota <> (${settled('debit', 'a')})
        UNION ALL SELECT 'channel ' || id FROM channels c WHERE used_quota <> (${settled('channel_id', 'c')})
        UNION ALL SELECT 'token ' || t.id FROM tokens t LEFT JOIN
          (SELECT token_id, sum(amount) AS amount FROM postings WHERE kind = 'settle' GROUP BY token_id) s ON s.token_id = t.id
          WHERE t.used_quota <> coalesce(s.amount, 0)`),
    negative: () =>
      words(`SELECT 'hold ' || ref FROM holds WHERE estimate < 0 OR observed < 0
        UNION ALL SELECT 'user ' || id || ': ' || balance FROM accounts WHERE id > 0 AND balance < 0`),
    wrongRedemptions: () =>
      words(
        `SELECT 'code ' || id FROM redemptions r WHERE (status = 3) <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'redeem:' || r.id))`,
      ),
    wrongTopUps: () =>
      words(
        `SELECT 'order ' || trade_no FROM top_ups t WHERE (status = 'success') <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'topup:' || t.trade_no))`,
      ),
    wrongTransfers: () => words(`SELECT 'user ' || id FROM users WHERE aff_quota > aff_history_quota`),
    wrongAmounts: () =>
      words(`SELECT ref FROM postings WHERE typeof(amount) <> 'integer' OR amount NOT BETWEEN 1 AND 1000000000000000`),
    /** Rows that charged something; a row cleared by retention cannot be checked any more. */
    pricedLogs: () =>
      raw
        .prepare<{ request_id: string; quota: number; other: string }>(
          'SELECT request_id, quota, other FROM logs WHERE type = 2 AND quota > 0 AND request_id IS NOT NULL',
        )
        .iterate(),
  };
}
