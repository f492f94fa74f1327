/** Everything that opens an account, changed together: password, sessions, access tokens, passkeys. */
import type { Database } from '../open.ts';

export interface Replacement {
  readonly passwordHash: string;
  /** Hash of the session that stays, '' = none. */
  readonly keepSession: string;
  /** Access tokens, passkeys and programs that signed in end too. */
  readonly all: boolean;
  /** Epoch seconds. */
  readonly now: number;
}

export function createCredentialsRepository({ query }: Database) {
  return {
    /** @returns false when there is no such open account, or its password is another than the one seen (null = any). */
    replace: (
      userId: number,
      seenHash: string | null,
      { passwordHash, keepSession, all, now }: Replacement,
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
        // Programs that signed in as the user; keys that somebody copied stay.
        await transaction
          .updateTable('tokens')
          .set({ deleted_at: now })
          .where('user_id', '=', userId)
          .where('kind', '=', 'agent')
          .where('deleted_at', 'is', null)
          .execute();
        await transaction
          .deleteFrom('sign_ins')
          .where('token_id', 'in', (eb) => eb.selectFrom('tokens').select('id').where('user_id', '=', userId))
          .execute();
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
