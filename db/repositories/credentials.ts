/** Everything that opens an account, changed together: password, sessions, access tokens, passkeys. */
import type { Database } from '../open.ts';

export interface Replacement {
  readonly passwordHash: string;
  /** Hash of the session that stays, '' = none. */
  readonly keepSession: string;
  /** Access tokens and passkeys end too. */
  readonly all: boolean;
}

export function createCredentialsRepository({ query }: Database) {
  return {
    /** @returns false when there is no such open account, or its password is another than the one seen (null = any). */
    replace: (
      userId: number,
      seenHash: string | null,
      { passwordHash, keepSession, all }: Replacement,
    ): Promise<boolean> =>
      query.transaction().execute(async (transaction) => {
        const { numUpdatedRows } = await transaction
          .updateTable('users')
          .set({ password_hash: passwordHash, password_made: 0, ...(all ? { access_token_hash: null } : {}) })
          .where('id', '=', userId)
          .where('deleted_at', 'is', null)
          .$if(seenHash !== null, (q) => q.where('password_hash', '=', seenHash ?? ''))
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await transaction
          .deleteFrom('sessions')
          .where('user_id', '=', userId)
          .where('id_hash', '<>', keepSession)
          .execute();
        if (!all) return true;
        await transaction.deleteFrom('access_tokens').where('user_id', '=', userId).execute();
        await transaction.deleteFrom('passkeys').where('user_id', '=', userId).execute();
        return true;
      }),
    /** The same password under a newer hash. @returns false when it was changed meanwhile. */
    rehash: async (userId: number, seenHash: string, passwordHash: string): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('users')
        .set({ password_hash: passwordHash })
        .where('id', '=', userId)
        .where('password_hash', '=', seenHash)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
  };
}
