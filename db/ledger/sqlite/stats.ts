/** Read-only queries behind `gateway ledger verify`. */
import type { Database as RawDatabase } from 'better-sqlite3';
import { type StoredInvoice, wrongInvoices } from '../../../server/billing/ledger/invoices.ts';
import { invoiceRows, wrongOrders } from '../invoices.ts';

/** Added up in one pass: a join looks at each row of the other side for each row. */
const wrongUse = (table: string, column: string): string =>
  `SELECT '${table} ' || id FROM (
    SELECT id, used_quota AS amount, 1 AS there FROM ${table} WHERE id > 0
    UNION ALL SELECT ${column}, CASE kind WHEN 'settle' THEN -amount ELSE amount END, 0 FROM postings WHERE kind IN ('settle', 'refund'))
    GROUP BY id HAVING sum(there) > 0 AND sum(amount) <> 0`;

export function ledgerStats(raw: RawDatabase) {
  const number = (sql: string): number => Number(raw.prepare<number>(sql).pluck().get() ?? 0);
  const words = (sql: string): string[] => raw.prepare<string>(sql).pluck().all();
  const sums = `SELECT id, sum(amount) AS amount FROM (
    SELECT credit AS id, amount FROM postings UNION ALL SELECT debit, -amount FROM postings) GROUP BY id`;

  return {
    accounts: number('SELECT count(*) FROM accounts'),
    postings: number('SELECT count(*) FROM postings'),
    redemptions: number('SELECT count(*) FROM redemptions'),
    topUps: number('SELECT count(*) FROM top_ups'),
    users: number('SELECT count(*) FROM users'),
    counters: number(
      'SELECT (SELECT count(*) FROM accounts WHERE id > 0) + (SELECT count(*) FROM tokens) + (SELECT count(*) FROM channels)',
    ),
    total: number('SELECT sum(balance) FROM accounts'),
    wrongBalances:
      words(`SELECT 'account ' || a.id || ': ' || a.balance || ' <> ' || coalesce(s.amount, 0) FROM accounts a LEFT JOIN (${sums}) s USING (id)
        WHERE a.balance <> coalesce(s.amount, 0)
        UNION ALL SELECT 'no account ' || s.id FROM (${sums}) s WHERE s.id NOT IN (SELECT id FROM accounts)`),
    duplicateRefs: words('SELECT ref FROM postings GROUP BY ref HAVING count(*) > 1'),
    conservation: words(`SELECT 'granted ' || granted || ' <> ' || kept FROM (SELECT
        (SELECT coalesce(sum(amount), 0) FROM postings WHERE credit > 0 AND debit < 0) - (SELECT coalesce(sum(amount), 0) FROM postings WHERE debit > 0 AND credit < 0 AND kind <> 'settle') AS granted,
        (SELECT coalesce(sum(balance), 0) FROM accounts WHERE id > 0) + (SELECT coalesce(sum(amount), 0) FROM postings WHERE kind = 'settle' AND debit > 0) AS kept)
        WHERE granted <> kept`),
    wrongCounters: words(
      `${wrongUse('accounts', "CASE kind WHEN 'settle' THEN debit ELSE credit END")} UNION ALL ${wrongUse('channels', 'channel_id')} UNION ALL ${wrongUse('tokens', 'token_id')}`,
    ),
    negative: words(`SELECT 'hold ' || ref FROM holds WHERE estimate < 0 OR observed < 0
        UNION ALL SELECT 'account ' || id || ': ' || balance FROM accounts WHERE (id > 0 OR id < -1000) AND balance < 0
        UNION ALL SELECT 'overrun of ' || id FROM (
          SELECT id, overrun AS amount, overrun < 0 AS wrong FROM accounts
          UNION ALL SELECT credit, -amount, 0 FROM postings WHERE kind = 'overrun'
          UNION ALL SELECT debit, amount, 0 FROM postings WHERE kind = 'repay')
          GROUP BY id HAVING sum(amount) <> 0 OR sum(wrong) > 0`),
    /** Paid for users by `overrun`: in all, and not paid back yet. */
    overrun: {
      paid: number('SELECT coalesce(sum(amount), 0) FROM postings WHERE debit = -3'),
      open: number('SELECT coalesce(sum(overrun), 0) FROM accounts'),
    },
    wrongRedemptions: words(
      `SELECT 'code ' || id FROM redemptions r WHERE (status = 3) <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'redeem:' || r.id))`,
    ),
    wrongTopUps: words(
      `SELECT 'order ' || trade_no FROM top_ups t WHERE (status = 'success') <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'topup:' || t.trade_no))
        UNION ALL SELECT 'paid in by ' || id || ': ' || sum(paid) || ' > ' || sum(posted) FROM (
          SELECT id, paid_in AS paid, 0 AS posted FROM accounts WHERE paid_in <> 0
          UNION ALL SELECT credit, 0, amount FROM postings WHERE kind = 'topup'
          UNION ALL SELECT debit, 0, -amount FROM postings WHERE kind = 'deduct' AND ref LIKE 'orderrefund:%') GROUP BY id HAVING sum(paid) > sum(posted)`,
    ),
    wrongTransfers: words(`SELECT 'user ' || u.id FROM users u
        LEFT JOIN accounts pot ON pot.id = -1000 - u.id
        LEFT JOIN (SELECT credit AS id, sum(amount) AS amount FROM postings WHERE kind = 'reward' GROUP BY 1) earned ON earned.id = -1000 - u.id
        WHERE u.aff_quota <> coalesce(pot.balance, 0) OR u.aff_history_quota <> coalesce(earned.amount, 0) OR u.aff_quota > u.aff_history_quota`),
    budgets: number('SELECT count(*) FROM budget_use'),
    // Less use than the log has is right where a budget was reset. Hours are whole: a window may begin within one.
    wrongBudgets: words(
      `SELECT 'budget ' || budget_id || ': ' || used || ' > ' || settled FROM (
        SELECT u.budget_id, u.used, (SELECT coalesce(sum(CASE b.unit WHEN 'money' THEN h.quota WHEN 'tokens' THEN h.tokens ELSE h.count END), 0)
          FROM usage_hours h WHERE h.hour_at >= u.window_at - u.window_at % 3600 AND (b.holder = 'site' OR h.user_id = CAST(b.subject AS INTEGER))) AS settled
        FROM budget_use u JOIN budgets b ON b.id = u.budget_id WHERE b.holder IN ('user', 'site')) WHERE used > settled`,
    ),
    invoices: number('SELECT count(*) FROM invoices'),
    wrongInvoices: [...words(wrongOrders), ...wrongInvoices(raw.prepare<StoredInvoice>(invoiceRows).iterate())],
    wrongAmounts: words(
      `SELECT ref FROM postings WHERE typeof(amount) <> 'integer' OR amount NOT BETWEEN 1 AND 1000000000000000`,
    ),
  };
}
