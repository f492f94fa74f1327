/** Option texts that differ from their defaults, and earlier price maps. */
import type { Database } from '../open.ts';

export interface OptionVersion {
  readonly actor: string;
  readonly reason: string;
  /** JSON object key -> text, null = default. */
  readonly kept: string;
}

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
    /**
     * Stores texts (null = back to the default), all or none.
     * @param version what was there before, kept so that it can be brought back; null = nothing is kept.
     * @returns the version's id, 0 when none was kept.
     */
    change: (texts: ReadonlyMap<string, string | null>, version: OptionVersion | null, now: number): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const kept =
          version === null
            ? undefined
            : await transaction
                .insertInto('price_versions')
                .values({ at: now, actor: version.actor, reason: version.reason, options: version.kept })
                .returning('id')
                .executeTakeFirstOrThrow();
        for (const [key, value] of texts) {
          if (value === null) await transaction.deleteFrom('options').where('key', '=', key).execute();
          else
            await transaction
              .insertInto('options')
              .values({ key, value, updated_at: now })
              .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
              .execute();
        }
        return kept?.id ?? 0;
      }),
    meta: async (key: string): Promise<string | undefined> =>
      (await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value,
    /** @returns the stored value, else the given one, which is stored. */
    async firstMeta(key: string, value: string): Promise<string> {
      await query
        .insertInto('meta')
        .values({ key, value })
        .onConflict((conflict) => conflict.column('key').doNothing())
        .execute();
      const found = await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirstOrThrow();
      return found.value;
    },
    setMeta: async (key: string, value: string): Promise<void> => {
      await query
        .insertInto('meta')
        .values({ key, value })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
        .execute();
    },
  };
}
