/** Results of scheduled backups. */
import type { Database } from '../open.ts';

const key = 'scheduled_backup';

export function createBackupsRepository({ query }: Database) {
  return {
    /** @returns JSON text, '' = there was none. */
    state: async (): Promise<string> =>
      (await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value ?? '',
    keep: async (value: string): Promise<void> => {
      await query
        .insertInto('meta')
        .values({ key, value })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
        .execute();
    },
  };
}
