/** Secrets of users' webhooks, sealed. */
import { sql } from 'kysely';
import type { Database } from '../open.ts';

export function createWebhookSecretsRepository({ query }: Database) {
  return {
    /** @returns the sealed secret, null = none. */
    find: async (userId: number): Promise<string | null> =>
      (
        await query
          .selectFrom('webhook_secrets')
          .select('secret_sealed')
          .where('user_id', '=', userId)
          .executeTakeFirst()
      )?.secret_sealed ?? null,
    set: async (userId: number, sealed: string): Promise<void> => {
      await query
        .insertInto('webhook_secrets')
        .values({ user_id: userId, secret_sealed: sealed })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ secret_sealed: sealed }))
        .execute();
    },
    /** Users whose settings came from elsewhere with a readable secret in them. */
    readable: (): Promise<{ id: number; setting: string }[]> =>
      query
        .selectFrom('users')
        .select(['id', 'setting'])
        .where(sql<boolean>`setting LIKE '%"webhook_secret"%'`)
        .orderBy('id')
        .execute(),
  };
}
