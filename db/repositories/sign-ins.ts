/** Programs that signed in: hashes of their refresh tokens. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { SignInsTable } from '../schema/tables.ts';

export type SignInRow = Selectable<SignInsTable>;

export function createSignInsRepository({ query }: Database) {
  const first = (column: 'refresh_hash' | 'previous_hash', hash: string): Promise<SignInRow | undefined> =>
    query.selectFrom('sign_ins').selectAll().where(column, '=', hash).where(column, '<>', '').executeTakeFirst();
  const signedIn = query
    .selectFrom('sign_ins')
    .innerJoin('tokens', 'tokens.id', 'sign_ins.token_id')
    .where('tokens.deleted_at', 'is', null)
    .select(['tokens.id', 'tokens.user_id', 'tokens.name', 'tokens.accessed_at', 'tokens.day_at', 'tokens.day_used'])
    .select(['sign_ins.client', 'sign_ins.host', 'sign_ins.address', 'sign_ins.created_at', 'sign_ins.last_used_at']);
  return {
    create: async (row: Insertable<SignInsTable>): Promise<void> => {
      await query.insertInto('sign_ins').values(row).execute();
    },
    byRefresh: (hash: string): Promise<SignInRow | undefined> => first('refresh_hash', hash),
    byPrevious: (hash: string): Promise<SignInRow | undefined> => first('previous_hash', hash),
    of: (tokenId: number): Promise<SignInRow | undefined> =>
      query.selectFrom('sign_ins').selectAll().where('token_id', '=', tokenId).executeTakeFirst(),
    /** @param now epoch seconds. @returns false when another caller was faster. */
    rotate: async (id: number, hash: string, next: string, now: number): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('sign_ins')
        .set({ refresh_hash: next, previous_hash: hash, rotated_at: now, last_used_at: now })
        .where('id', '=', id)
        .where('refresh_hash', '=', hash)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    /** Live keys of programs that a user has. */
    count: async (userId: number): Promise<number> =>
      Number(
        (
          await query
            .selectFrom('tokens')
            .select((eb) => eb.fn.countAll<number>().as('n'))
            .where('user_id', '=', userId)
            .where('kind', '=', 'agent')
            .where('deleted_at', 'is', null)
            .executeTakeFirstOrThrow()
        ).n,
      ),
    /** Those of a user that work, the latest first. */
    list: (userId: number) => signedIn.where('tokens.user_id', '=', userId).orderBy('sign_ins.id', 'desc').execute(),
    get: (tokenId: number) => signedIn.where('tokens.id', '=', tokenId).executeTakeFirst(),
    token: (id: number) =>
      query
        .selectFrom('tokens')
        .select(['id', 'user_id', 'key_hmac', 'status', 'expires_at'])
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .executeTakeFirst(),
  };
}
