/** Writes the sums of one batch. */
import type { Database as RawDatabase } from 'better-sqlite3';
import type { CounterChange } from '../../../server/billing/ledger/core.ts';
import { periodStart } from '../../../server/contract/period.ts';
import { manyRows, type Row } from '../../many-rows.ts';
import type { LogSum, NameSum } from '../log-sums.ts';
import { createTotals, type Totals } from '../totals.ts';

export interface LedgerTotals extends Totals {
  /** Writes all sums. */
  flush(): void;
}

const tokenRow = ([id, { used, at }]: readonly [number, { used: number; at: number }]) =>
  [id, used, at, periodStart('day', at), periodStart('month', at)] as const;

const hourRow = (hour: CounterChange): Row => [
  hour.hourAt,
  hour.userId,
  hour.username,
  hour.model,
  hour.channelId,
  hour.requests,
  hour.tokens,
  hour.quota,
];

/** Nobody else writes into the file. */
const writer = 0;
const logRow = (sum: LogSum): Row => [
  sum.span,
  sum.at,
  sum.userId,
  sum.tokenId,
  sum.group,
  sum.model,
  sum.channelId,
  writer,
  sum.username,
  sum.tokenName,
  sum.requests,
  sum.errors,
  sum.promptTokens,
  sum.completionTokens,
  sum.cachedTokens,
  sum.quota,
  sum.list,
];
const nameRow = (sum: NameSum): Row => [
  ...[sum.span, sum.kind, sum.at, sum.userId, sum.nameId, writer],
  ...[sum.requests, sum.promptTokens, sum.completionTokens, sum.cachedTokens, sum.quota],
];

export function createLedgerTotals(raw: RawDatabase): () => LedgerTotals {
  // An account of the system's own kind, such as an affiliate pot, begins with its first posting.
  const openAccount = raw.prepare('INSERT INTO accounts (id) VALUES (?) ON CONFLICT DO NOTHING');
  const addAccount = raw.prepare(
    'UPDATE accounts SET balance = balance + ?, used_quota = used_quota + ?, request_count = request_count + ?, version = version + ?, overrun = overrun + ?, paid_in = paid_in + ? WHERE id = ?',
  );
  const addTokens = manyRows(
    raw,
    5,
    (values) =>
      `UPDATE tokens SET used_quota = used_quota + used, accessed_at = max(accessed_at, at),
        day_used = CASE WHEN day_at > day THEN day_used WHEN day_at = day THEN max(0, day_used + used) ELSE max(0, used) END, day_at = max(day_at, day),
        month_used = CASE WHEN month_at > month THEN month_used WHEN month_at = month THEN max(0, month_used + used) ELSE max(0, used) END, month_at = max(month_at, month)
       FROM (SELECT column1 AS token, column2 AS used, column3 AS at, column4 AS day, column5 AS month FROM (VALUES ${values})) WHERE id = token`,
  );
  const addChannel = raw.prepare('UPDATE channels SET used_quota = used_quota + ? WHERE id = ?');
  const addHours = manyRows(
    raw,
    8,
    (values) =>
      `INSERT INTO usage_hours (hour_at, user_id, username, model_name, channel_id, count, tokens, quota) VALUES ${values}
       ON CONFLICT DO UPDATE SET count = count + excluded.count, tokens = tokens + excluded.tokens, quota = quota + excluded.quota`,
  );

  const addLogs = manyRows(
    raw,
    17,
    (values) =>
      `INSERT INTO log_sums (span, at, user_id, token_id, group_name, model_name, channel_id, writer, username, token_name,
        requests, errors, prompt_tokens, completion_tokens, cached_tokens, quota, list) VALUES ${values}
       ON CONFLICT DO UPDATE SET username = excluded.username, token_name = excluded.token_name, requests = requests + excluded.requests,
        errors = errors + excluded.errors, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
        quota = quota + excluded.quota, list = list + excluded.list`,
  );
  const addNames = manyRows(
    raw,
    11,
    (values) =>
      `INSERT INTO name_sums (span, kind, at, user_id, name_id, writer, requests, prompt_tokens, completion_tokens, cached_tokens, quota)
       VALUES ${values}
       ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
        completion_tokens = completion_tokens + excluded.completion_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
        quota = quota + excluded.quota`,
  );

  // One that was deleted counts nothing.
  const addUse = raw.prepare(
    `INSERT INTO budget_use (budget_id, window_at, used) SELECT id, ?, max(0, ?) FROM budgets WHERE id = ?
     ON CONFLICT DO UPDATE SET used = max(0, used + ?)`,
  );

  return () => {
    const totals = createTotals();
    const { accounts, tokens, channels, hours, logs } = totals;
    return {
      ...totals,
      // Spreading it would read it before anything is counted.
      get budgets() {
        return totals.budgets;
      },
      flush() {
        for (const [id, { balance, used, requests, movements, overrun, paidIn }] of accounts) {
          if (id < 0) openAccount.run(id);
          addAccount.run(balance, used, requests, movements, overrun, paidIn, id);
        }
        addTokens(Array.from(tokens, tokenRow).filter(([id]) => id > 0));
        for (const [id, used] of channels) if (id > 0 && used !== 0) addChannel.run(used, id);
        addHours(Array.from(hours.values(), hourRow));
        addLogs(logs.rows().map(logRow));
        addNames(logs.named().map(nameRow));
        if (totals.budgets !== null)
          for (const { budgetId, windowAt, used } of totals.budgets.values())
            addUse.run(windowAt, used, budgetId, used);
      },
    };
  };
}
