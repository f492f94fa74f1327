/** Access tokens with scopes: their hashes. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { AccessTokensTable } from '../schema/tables.ts';

export type AccessTokenRow = Selectable<AccessTokensTable>;

export function createAccessTokensRepository({ query }: Database) {
  return {
    list: (userId: number): Promise<AccessTokenRow[]> =>
      query.selectFrom('access_tokens').selectAll().where('user_id', '=', userId).orderBy('id').execute(),
    count: async (userId: number): Promise<number> =>
      (
        await query
          .selectFrom('access_tokens')
          .select((eb) => eb.fn.countAll<number>().as('count'))
          .where('user_id', '=', userId)
          .executeTakeFirstOrThrow()
      ).count,
    /** @param now epoch seconds; expired ones are not found. */
    find: (hash: string, now: number): Promise<AccessTokenRow | undefined> =>
      query
        .selectFrom('access_tokens')
        .selectAll()
        .where('token_hash', '=', hash)
        .where((eb) => eb.or([eb('expires_at', '=', -1), eb('expires_at', '>', now)]))
        .executeTakeFirst(),
    create: (row: Insertable<AccessTokensTable>): Promise<AccessTokenRow> =>
      query.insertInto('access_tokens').values(row).returningAll().executeTakeFirstOrThrow(),
    used: async (id: number, now: number): Promise<void> => {
      await query.updateTable('access_tokens').set({ last_used_at: now }).where('id', '=', id).execute();
    },
    remove: async (id: number, userId: number): Promise<boolean> => {
      const { numDeletedRows } = await query
        .deleteFrom('access_tokens')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
