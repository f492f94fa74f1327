/** Writes the sums of one batch. */
import type { Database as RawDatabase } from 'better-sqlite3';
import { periodStart } from '../server/contract/periods.ts';
import { createTotals, type Totals } from './ledger-totals.ts';

export interface Sums extends Totals {
  /** Writes all sums. */
  flush(): void;
}

export function createLedgerSums(raw: RawDatabase): () => Sums {
  // An account of the system's own kind, such as an affiliate pot, begins with its first posting.
  const openAccount = raw.prepare('INSERT INTO accounts (id) VALUES (?) ON CONFLICT DO NOTHING');
  const addAccount = raw.prepare(
    'UPDATE accounts SET balance = balance + ?, used_quota = used_quota + ?, request_count = request_count + ?, version = version + ?, overrun = overrun + ? WHERE id = ?',
  );
  const addToken = raw.prepare(
    `UPDATE tokens SET used_quota = used_quota + $used, accessed_at = max(accessed_at, $at),
      day_used = CASE WHEN day_at > $day THEN day_used WHEN day_at = $day THEN max(0, day_used + $used) ELSE max(0, $used) END, day_at = max(day_at, $day),
      month_used = CASE WHEN month_at > $month THEN month_used WHEN month_at = $month THEN max(0, month_used + $used) ELSE max(0, $used) END, month_at = max(month_at, $month)
     WHERE id = $id`,
  );
  const addChannel = raw.prepare('UPDATE channels SET used_quota = used_quota + ? WHERE id = ?');
  const addHour = raw.prepare(
    `INSERT INTO usage_hours (hour_at, user_id, username, model_name, channel_id, count, tokens, quota) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, tokens = tokens + excluded.tokens, quota = quota + excluded.quota`,
  );

  return () => {
    const totals = createTotals();
    const { accounts, tokens, channels, hours } = totals;
    return {
      ...totals,
      flush() {
        for (const [id, { balance, used, requests, movements, overrun }] of accounts) {
          if (id < 0) openAccount.run(id);
          addAccount.run(balance, used, requests, movements, overrun, id);
        }
        for (const [id, { used, at }] of tokens) {
          if (id > 0) addToken.run({ id, used, at, day: periodStart('day', at), month: periodStart('month', at) });
        }
        for (const [id, used] of channels) if (id > 0 && used !== 0) addChannel.run(used, id);
        for (const { hourAt, userId, username, model, channelId, requests, tokens: count, quota } of hours.values())
          addHour.run(hourAt, userId, username, model, channelId, requests, count, quota);
      },
    };
  };
}
