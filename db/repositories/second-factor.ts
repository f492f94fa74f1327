/** One-time password secrets and recovery codes. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { SecondFactorsTable } from '../schema/tables.ts';

export type SecondFactorRow = Selectable<SecondFactorsTable>;

export function createSecondFactorsRepository({ query }: Database) {
  return {
    find: (userId: number): Promise<SecondFactorRow | undefined> =>
      query.selectFrom('second_factors').selectAll().where('user_id', '=', userId).executeTakeFirst(),
    /** Replaces one that was begun; one that is in use stays. */
    begin: async (userId: number, sealed: string): Promise<void> => {
      await query
        .insertInto('second_factors')
        .values({ user_id: userId, secret_sealed: sealed, enabled_at: 0, last_step: 0 })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet({ secret_sealed: sealed }).where('second_factors.enabled_at', '=', 0),
        )
        .execute();
    },
    /** Uses a step up. @returns false when it, or a later one, was used before. */
    takeStep: async (userId: number, step: number): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('second_factors')
        .set({ last_step: step })
        .where('user_id', '=', userId)
        .where('last_step', '<', step)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    enable: async (userId: number, now: number): Promise<void> => {
      await query.updateTable('second_factors').set({ enabled_at: now }).where('user_id', '=', userId).execute();
    },
    remove: (userId: number): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        await transaction.deleteFrom('second_factors').where('user_id', '=', userId).execute();
        await transaction.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
      }),
    replaceCodes: (userId: number, hashes: readonly string[]): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        await transaction.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
        await transaction
          .insertInto('recovery_codes')
          .values(hashes.map((code_hash) => ({ user_id: userId, code_hash })))
          .execute();
      }),
    /** @returns whether the code was there; it is gone now. */
    takeCode: async (userId: number, hash: string): Promise<boolean> => {
      const { numDeletedRows } = await query
        .deleteFrom('recovery_codes')
        .where('user_id', '=', userId)
        .where('code_hash', '=', hash)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    /** Hashes of recovery codes that are bcrypt's. */
    slowHashes: async (userId: number): Promise<string[]> =>
      (
        await query
          .selectFrom('recovery_codes')
          .select('code_hash')
          .where('user_id', '=', userId)
          .where('code_hash', 'like', '$2%')
          .execute()
      ).map(({ code_hash }) => code_hash),
    codesLeft: async (userId: number): Promise<number> => {
      const { left } = await query
        .selectFrom('recovery_codes')
        .select((eb) => eb.fn.countAll<number>().as('left'))
        .where('user_id', '=', userId)
        .executeTakeFirstOrThrow();
      return left;
    },
  };
}
