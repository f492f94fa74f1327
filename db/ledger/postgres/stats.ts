/** Read-only queries behind `gateway ledger verify` on PostgreSQL: of all, one state that was there at one moment. */
import { type StoredInvoice, wrongInvoices } from '../../../server/billing/ledger/invoices.ts';
import type { PostgresDatabase } from '../../postgres/open.ts';
import { invoiceRows, wrongOrders } from '../invoices.ts';

const accountSums = `SELECT id, sum(amount) AS amount FROM (
  SELECT credit AS id, amount FROM postings UNION ALL SELECT debit, -amount FROM postings) moved GROUP BY id`;

/** Balances in all: what the nodes moved comes on top of the system's own rows. */
const accounts =
  'SELECT a.id, a.balance + coalesce((SELECT sum(p.balance) FROM account_parts p WHERE p.account_id = a.id), 0) AS balance FROM accounts a';

const wrongCounters = (table: string, column: string, parts: string) => `SELECT '${table} ' || id AS words FROM (
    SELECT id, used_quota AS amount, 1 AS there FROM ${table} WHERE id > 0 ${parts}
    UNION ALL SELECT ${column}, CASE kind WHEN 'settle' THEN -amount ELSE amount END, 0 FROM postings WHERE kind IN ('settle', 'refund')) used
    GROUP BY id HAVING sum(there) > 0 AND sum(amount) <> 0`;

const queries = {
  accounts: 'SELECT count(*) AS n FROM accounts',
  postings: 'SELECT count(*) AS n FROM postings',
  redemptions: 'SELECT count(*) AS n FROM redemptions',
  topUps: 'SELECT count(*) AS n FROM top_ups',
  users: 'SELECT count(*) AS n FROM users',
  counters:
    'SELECT (SELECT count(*) FROM accounts WHERE id > 0) + (SELECT count(*) FROM tokens) + (SELECT count(*) FROM channels) AS n',
  total: `SELECT coalesce(sum(balance), 0) AS n FROM (${accounts}) a`,
  leases: 'SELECT count(*) AS n FROM leases',
  invoices: 'SELECT count(*) AS n FROM invoices',
  budgets: 'SELECT count(*) AS n FROM budget_use',
  paid: 'SELECT coalesce(sum(amount), 0) AS n FROM postings WHERE debit = -3',
  open: 'SELECT coalesce(sum(overrun), 0) AS n FROM accounts',
} as const;

const lists = {
  wrongBalances: `SELECT 'account ' || a.id || ': ' || a.balance || ' <> ' || coalesce(s.amount, 0) AS words FROM (${accounts}) a LEFT JOIN (${accountSums}) s USING (id)
    WHERE a.balance <> coalesce(s.amount, 0)
    UNION ALL SELECT 'no account ' || s.id FROM (${accountSums}) s WHERE s.id NOT IN (SELECT id FROM accounts)`,
  duplicateRefs: `SELECT ref AS words FROM postings GROUP BY ref HAVING count(*) > 1
    UNION ALL SELECT request_id FROM logs WHERE request_id IS NOT NULL AND type = 2 GROUP BY request_id HAVING count(*) > 1`,
  conservation: `SELECT 'granted ' || granted || ' <> ' || kept AS words FROM (SELECT
    (SELECT coalesce(sum(amount), 0) FROM postings WHERE credit > 0 AND debit < 0) - (SELECT coalesce(sum(amount), 0) FROM postings WHERE debit > 0 AND credit < 0 AND kind <> 'settle') AS granted,
    (SELECT coalesce(sum(balance), 0) FROM accounts WHERE id > 0) + (SELECT coalesce(sum(amount), 0) FROM postings WHERE kind = 'settle' AND debit > 0) AS kept) both_sides
    WHERE granted <> kept`,
  wrongCounters: [
    wrongCounters('accounts', "CASE kind WHEN 'settle' THEN debit ELSE credit END", ''),
    wrongCounters('channels', 'channel_id', 'UNION ALL SELECT channel_id, used_quota, 0 FROM channel_parts'),
    wrongCounters('tokens', 'token_id', ''),
  ].join(' UNION ALL '),
  negative: `SELECT 'hold ' || ref AS words FROM holds WHERE estimate < 0 OR observed < 0
    UNION ALL SELECT 'account ' || id || ': ' || balance FROM accounts WHERE (id > 0 OR id < -1000) AND balance < 0
    UNION ALL SELECT 'overrun of ' || id FROM (
      SELECT id, overrun AS amount, CASE WHEN overrun < 0 THEN 1 ELSE 0 END AS wrong FROM accounts
      UNION ALL SELECT credit, -amount, 0 FROM postings WHERE kind = 'overrun'
      UNION ALL SELECT debit, amount, 0 FROM postings WHERE kind = 'repay') owed
      GROUP BY id HAVING sum(amount) <> 0 OR sum(wrong) > 0`,
  wrongRedemptions:
    "SELECT 'code ' || id AS words FROM redemptions r WHERE (status = 3) <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'redeem:' || r.id))",
  wrongTopUps: `SELECT 'order ' || trade_no AS words FROM top_ups t WHERE (status = 'success') <> (EXISTS (SELECT 1 FROM postings WHERE ref = 'topup:' || t.trade_no))
    UNION ALL SELECT 'paid in by ' || id || ': ' || sum(paid) || ' > ' || sum(posted) FROM (
      SELECT id, paid_in AS paid, 0 AS posted FROM accounts WHERE paid_in <> 0
      UNION ALL SELECT credit, 0, amount FROM postings WHERE kind = 'topup'
          UNION ALL SELECT debit, 0, -amount FROM postings WHERE kind = 'deduct' AND ref LIKE 'orderrefund:%') of_users GROUP BY id HAVING sum(paid) > sum(posted)`,
  wrongTransfers: `SELECT 'user ' || u.id AS words FROM users u
    LEFT JOIN accounts pot ON pot.id = -1000 - u.id
    LEFT JOIN (SELECT credit AS id, sum(amount) AS amount FROM postings WHERE kind = 'reward' GROUP BY 1) earned ON earned.id = -1000 - u.id
    WHERE u.aff_quota <> coalesce(pot.balance, 0) OR u.aff_history_quota <> coalesce(earned.amount, 0) OR u.aff_quota > u.aff_history_quota`,
  wrongInvoices: wrongOrders,
  wrongAmounts: 'SELECT ref AS words FROM postings WHERE amount NOT BETWEEN 1 AND 1000000000000000',
  // Less use than the log has is right where a budget was reset. Hours are whole: a window may begin within one.
  wrongBudgets: `SELECT 'budget ' || budget_id || ': ' || used || ' > ' || settled AS words FROM (
      SELECT u.budget_id, u.used, (SELECT coalesce(sum(CASE b.unit WHEN 'money' THEN h.quota WHEN 'tokens' THEN h.tokens ELSE h.count END), 0)
        FROM usage_hours h WHERE h.hour_at >= u.window_at - u.window_at % 3600 AND (b.holder = 'site' OR h.user_id::text = b.subject)) AS settled
      FROM budget_use u JOIN budgets b ON b.id = u.budget_id WHERE b.holder IN ('user', 'site')) of_windows WHERE used > settled
    UNION ALL SELECT 'budget ' || budget_id || ': ' || used FROM budget_use WHERE used < 0
    UNION ALL SELECT 'lease of no budget ' || subject FROM leases WHERE kind = 'budget' AND amount > 0 AND subject NOT IN (SELECT id FROM budgets)`,
  wrongLeases: `SELECT kind || ' ' || id || ': ' || leased || ' <> ' || amount AS words FROM (
      SELECT 'account' AS kind, a.id, a.leased, coalesce(l.amount, 0) AS amount, a.balance AS most FROM accounts a
        LEFT JOIN (SELECT subject, sum(amount) AS amount FROM leases WHERE kind = 'account' GROUP BY 1) l ON l.subject = a.id
      UNION ALL SELECT 'token', t.id, t.leased, coalesce(l.amount, 0), 9223372036854775807 FROM tokens t
        LEFT JOIN (SELECT subject, sum(amount) AS amount FROM leases WHERE kind = 'token' GROUP BY 1) l ON l.subject = t.id) leased
      WHERE leased <> amount OR id > 0 AND leased > most
    UNION ALL SELECT 'end ' || e.ref || ' has no posting' FROM ends e LEFT JOIN postings p USING (ref) WHERE e.asked > 0 AND e.provisional = 0 AND p.ref IS NULL
      AND NOT EXISTS (SELECT 1 FROM postings f WHERE f.ref = e.ref || '#final')`,
} as const;

type Numbers = { readonly [Name in Exclude<keyof typeof queries, 'paid' | 'open'>]: number };
type Lists = { readonly [Name in keyof typeof lists]: readonly string[] };

export interface PostgresStats extends Numbers, Lists {
  /** Paid for users by `overrun`: in all, and not paid back yet. */
  readonly overrun: { readonly paid: number; readonly open: number };
}

export async function postgresStats({ pool }: PostgresDatabase): Promise<PostgresStats> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const counts: Record<string, number> = {};
    for (const [name, text] of Object.entries(queries))
      counts[name] = Number((await client.query<{ n: number }>(text)).rows[0]?.n ?? 0);
    const words: Record<string, string[]> = {};
    for (const [name, text] of Object.entries(lists))
      words[name] = (await client.query<{ words: string }>(text)).rows.map((row) => row.words);
    words.wrongInvoices?.push(...wrongInvoices((await client.query<StoredInvoice>(invoiceRows)).rows));
    const { paid = 0, open = 0, ...rest } = counts;
    return { ...(rest as Numbers), ...(words as unknown as Lists), overrun: { paid, open } };
  } finally {
    await client.query('ROLLBACK').catch(() => undefined);
    client.release();
  }
}
