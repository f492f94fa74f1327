/** When somebody was alerted last, and who may need to be. */
import { sql } from 'kysely';
import type { Database } from '../open.ts';

export interface AlertCandidate {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly setting: string;
  readonly balance: number;
}

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
        .execute(),
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
