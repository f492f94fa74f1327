/** Option texts that differ from their defaults, and earlier price maps. */
import type { Database } from '../open.ts';

export function createOptionsRepository({ query }: Database) {
  return {
    all: async (): Promise<Map<string, string>> => {
      const rows = await query.selectFrom('options').select(['key', 'value']).execute();
      return new Map(rows.map((row) => [row.key, row.value]));
    },
    byKeys: async (keys: readonly string[]): Promise<Map<string, string>> => {
      const rows = await query.selectFrom('options').select(['key', 'value']).where('key', 'in', keys).execute();
      return new Map(rows.map((row) => [row.key, row.value]));
    },
    set: async (key: string, value: string, now: number): Promise<void> => {
      await query
        .insertInto('options')
        .values({ key, value, updated_at: now })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
        .execute();
    },
    /** Stores a price map; what was there before stays as a version. @param kept JSON object key -> stored text. */
    setWithBackup: (
      key: string,
      value: string,
      kept: string,
      actor: string,
      reason: string,
      now: number,
    ): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        await transaction.insertInto('price_versions').values({ at: now, actor, reason, options: kept }).execute();
        await transaction
          .insertInto('options')
          .values({ key, value, updated_at: now })
          .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
          .execute();
      }),
    remove: async (key: string): Promise<void> => {
      await query.deleteFrom('options').where('key', '=', key).execute();
    },
    /** Forgets stored texts, keeping those of `kept` as a version that can be brought back. @returns the version's id. */
    resetWithBackup: (
      keys: readonly string[],
      kept: string,
      actor: string,
      reason: string,
      now: number,
    ): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const { id } = await transaction
          .insertInto('price_versions')
          .values({ at: now, actor, reason, options: kept })
          .returning('id')
          .executeTakeFirstOrThrow();
        await transaction.deleteFrom('options').where('key', 'in', keys).execute();
        return id;
      }),
    meta: async (key: string): Promise<string | undefined> =>
      (await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value,
    setMeta: async (key: string, value: string): Promise<void> => {
      await query
        .insertInto('meta')
        .values({ key, value })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
        .execute();
    },
  };
}
