/** Public halves of passkeys. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { PasskeysTable } from '../schema/tables.ts';

export type PasskeyRow = Selectable<PasskeysTable>;

export function createPasskeysRepository({ query }: Database) {
  return {
    list: (userId: number): Promise<PasskeyRow[]> =>
      query.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('id').execute(),
    findByCredential: (credentialId: string): Promise<PasskeyRow | undefined> =>
      query.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst(),
    create: async (row: Insertable<PasskeysTable>): Promise<void> => {
      await query.insertInto('passkeys').values(row).execute();
    },
    used: async (id: number, counter: number, now: number): Promise<void> => {
      await query.updateTable('passkeys').set({ counter, last_used_at: now }).where('id', '=', id).execute();
    },
    rename: async (id: number, userId: number, name: string): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('passkeys')
        .set({ name })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    remove: async (id: number, userId: number): Promise<boolean> => {
      const { numDeletedRows } = await query
        .deleteFrom('passkeys')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
