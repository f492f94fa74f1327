/** When each recipient was alerted last, and who may need to be. */
import { sql } from 'kysely';
import type { Database } from '../open.ts';

export interface AlertCandidate {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly setting: string;
  readonly balance: number;
}

export interface ExpiringItem {
  readonly id: string;
  readonly label: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** Alerts to operators belong to no user. */
const operators = 0;
const hourSeconds = 3600;
const baselineHours = 7 * 24;
const minRole = 10;

export function createAlertsRepository({ query }: Database) {
  return {
    /** Active users who were charged in the hours since `hourAt`. */
    spenders: (hourAt: number): Promise<AlertCandidate[]> =>
      query
        .selectFrom('users')
        .innerJoin('accounts', 'accounts.id', 'users.id')
        .select(['users.id', 'username', 'email', 'setting', 'balance'])
        .where('users.deleted_at', 'is', null)
        .where('users.status', '=', 1)
        .where('users.id', 'in', (eb) =>
          eb.selectFrom('usage_hours').select('user_id').where('hour_at', '>=', hourAt).distinct(),
        )
        .orderBy('users.id')
        .execute(),
    /** Quota of the last full hour and what has been used since; of the mean hour of the week before, 0 = there is none. */
    spend: async (now: number): Promise<{ spent: number; baseline: number }> => {
      const hour = now - (now % hourSeconds);
      const sum = async (from: number, to: number) =>
        await query
          .selectFrom('usage_hours')
          .select((eb) => [
            eb.fn.coalesce(eb.fn.sum<number>('quota'), eb.lit(0)).as('quota'),
            eb.fn.coalesce(eb.fn.min<number>('hour_at'), eb.lit(0)).as('first'),
          ])
          .where('hour_at', '>=', from)
          .where('hour_at', '<', to)
          .executeTakeFirstOrThrow();
      const [last, current, week] = await Promise.all([
        sum(hour - hourSeconds, hour),
        sum(hour, now + 1),
        sum(hour - (baselineHours + 1) * hourSeconds, hour - hourSeconds),
      ]);
      const hours = week.first === 0 ? 0 : (hour - hourSeconds - week.first) / hourSeconds;
      // A day at least: before that nothing is known to be usual.
      return { spent: Math.max(last.quota, current.quota), baseline: hours < 24 ? 0 : week.quota / hours };
    },
    /** Quota of hours in which any was used, the earliest first. */
    spendByHour: (from: number, to: number): Promise<{ readonly hour_at: number; readonly quota: number }[]> =>
      query
        .selectFrom('usage_hours')
        .select((eb) => ['hour_at', sql<number>`CAST(${eb.fn.sum('quota')} AS BIGINT)`.as('quota')])
        .where('hour_at', '>=', from)
        .where('hour_at', '<', to)
        .groupBy('hour_at')
        .orderBy('hour_at')
        .execute(),
    /** Access tokens and API keys of administrators that end between two times. */
    expiring: async (from: number, to: number): Promise<ExpiringItem[]> => {
      const rows = await query
        .selectFrom((keys) =>
          keys
            .selectFrom('access_tokens')
            .select(['id', 'name', 'user_id', 'expires_at', sql.lit('access-token-').as('kind')])
            .unionAll(
              keys
                .selectFrom('tokens')
                .select(['id', 'name', 'user_id', 'expires_at', sql.lit('token-').as('kind')])
                .where('deleted_at', 'is', null)
                .where('status', '=', 1),
            )
            .as('key'),
        )
        .innerJoin('users', 'users.id', 'key.user_id')
        .select(['key.id', 'key.name', 'username', 'key.expires_at', 'key.kind'])
        .where('users.deleted_at', 'is', null)
        .where('users.role', '>=', minRole)
        .where('key.expires_at', '>', from)
        .where('key.expires_at', '<=', to)
        .orderBy('key.kind')
        .orderBy('key.id')
        .execute();
      return rows.map(({ id, name, username, expires_at: expiresAt, kind }) => ({
        id: `${kind}${id}`,
        label: `${username} / ${name}`,
        expiresAt,
      }));
    },
    /** Alerts that operators have received, and when. */
    history: () =>
      query.selectFrom('alerts').select(['kind', 'sent_at']).where('user_id', '=', operators).orderBy('kind').execute(),
    /** Records the alert as if it had been sent at that time. */
    postpone: async (kind: string, at: number): Promise<void> => {
      await query
        .updateTable('alerts')
        .set({ sent_at: at })
        .where('user_id', '=', operators)
        .where('kind', '=', kind)
        .execute();
    },
    /** All but those that begin so, up to the target's name behind the last `@`. */
    deleteOld: async (kept: readonly string[]): Promise<void> => {
      const keep = new Set(kept);
      const rows = await query.selectFrom('alerts').select('kind').where('user_id', '=', operators).execute();
      const over = rows.map(({ kind }) => kind).filter((kind) => !keep.has(kind.slice(0, kind.lastIndexOf('@'))));
      for (const kind of over)
        await query.deleteFrom('alerts').where('user_id', '=', operators).where('kind', '=', kind).execute();
    },
    /** Takes the turn to alert. @returns false when the last alert of this kind is younger than `quietSeconds`. */
    claim: async (userId: number, kind: string, now: number, quietSeconds: number): Promise<boolean> =>
      ((
        await query
          .insertInto('alerts')
          .values({ user_id: userId, kind, sent_at: now })
          .onConflict((conflict) =>
            conflict
              .columns(['user_id', 'kind'])
              .doUpdateSet({ sent_at: now })
              .where(sql<boolean>`alerts.sent_at <= ${now - quietSeconds}`),
          )
          .executeTakeFirst()
      ).numInsertedOrUpdatedRows ?? 0n) > 0n,
  };
}
