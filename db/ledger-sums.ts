/** Sums of one batch: a busy user's row is written once per commit, not once per request. */
import type { Database as RawDatabase } from 'better-sqlite3';
import { periodStart } from '../server/contract/periods.ts';
import type { CounterChange, Posting } from '../server/ledger/core.ts';

interface AccountSum {
  balance: number;
  used: number;
  requests: number;
  movements: number;
  overrun: number;
}

export interface Sums {
  post(posting: Posting): void;
  use(usage: CounterChange): void;
  /** Balance not written yet. */
  balance(account: number): number;
  /** Change of what the user owes to `overrun`, not written yet. */
  overrun(account: number): number;
  /** Movements not written yet: everything the relay is told of. */
  movements(account: number): number;
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
    const accounts = new Map<number, AccountSum>();
    const tokens = new Map<number, { used: number; at: number }>();
    const channels = new Map<number, number>();
    const hours = new Map<string, CounterChange>();

    const account = (id: number): AccountSum => {
      const known = accounts.get(id);
      if (known !== undefined) return known;
      const fresh = { balance: 0, used: 0, requests: 0, movements: 0, overrun: 0 };
      accounts.set(id, fresh);
      return fresh;
    };

    return {
      post({ debit, credit, amount, kind }) {
        const payer = account(debit);
        const payee = account(credit);
        payer.balance -= amount;
        payee.balance += amount;
        if (kind === 'overrun') payee.overrun += amount;
        if (kind === 'repay') payer.overrun -= amount;
        // One command moves a balance once for its readers: what is given back goes with the credit.
        if (kind === 'settle' || kind === 'repay' || kind === 'house') return;
        payer.movements++;
        payee.movements++;
      },
      use(usage) {
        const user = account(usage.userId);
        user.requests += usage.requests;
        user.used += usage.quota;
        const key = `${usage.hourAt} ${usage.userId} ${usage.channelId} ${usage.model}`;
        const hour = hours.get(key);
        hours.set(
          key,
          hour === undefined
            ? usage
            : {
                ...hour,
                requests: hour.requests + usage.requests,
                tokens: hour.tokens + usage.tokens,
                quota: hour.quota + usage.quota,
              },
        );
        const token = tokens.get(usage.tokenId) ?? { used: 0, at: 0 };
        tokens.set(usage.tokenId, { used: token.used + usage.quota, at: Math.max(token.at, usage.at) });
        channels.set(usage.channelId, (channels.get(usage.channelId) ?? 0) + usage.quota);
      },
      balance: (id) => accounts.get(id)?.balance ?? 0,
      overrun: (id) => accounts.get(id)?.overrun ?? 0,
      movements: (id) => accounts.get(id)?.movements ?? 0,
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
