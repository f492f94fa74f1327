/** Option texts that differ from their defaults, and earlier price maps. */
import type { Database } from '../open.ts';

export interface OptionVersion {
  readonly actor: string;
  readonly reason: string;
  /** JSON object key -> text, null = default. */
  readonly kept: string;
}

/** A value of the table `meta` that only one of several processes may put in the place of another. */
export interface MetaClaim {
  readonly key: string;
  /** null = there is none yet. */
  readonly before: string | null;
  readonly after: string;
}

export interface OptionChange {
  /** null = back to the default. */
  readonly texts: ReadonlyMap<string, string | null>;
  readonly meta: ReadonlyMap<string, string>;
  /** The value before, kept so that it can be brought back; null = nothing is kept. */
  readonly version: OptionVersion | null;
  /** Values of earlier versions by their ids, where they are stored in another form now. */
  readonly versions?: ReadonlyMap<number, string>;
}

export function createOptionsRepository({ query }: Database) {
  type Within = Pick<typeof query, 'insertInto' | 'deleteFrom' | 'updateTable'>;

  const keepVersion = async (within: Within, { actor, reason, kept: options }: OptionVersion, at: number) => {
    const row = within.insertInto('price_versions').values({ at, actor, reason, options });
    return (await row.returning('id').executeTakeFirstOrThrow()).id;
  };
  const write = async (within: Within, texts: OptionChange['texts'], now: number): Promise<void> => {
    for (const [key, value] of texts) {
      if (value === null) await within.deleteFrom('options').where('key', '=', key).execute();
      else
        await within
          .insertInto('options')
          .values({ key, value, updated_at: now })
          .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, updated_at: now }))
          .execute();
    }
  };
  const writeMeta = async (within: Within, key: string, value: string): Promise<void> => {
    await within
      .insertInto('meta')
      .values({ key, value })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
      .execute();
  };

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
    change: (texts: OptionChange['texts'], version: OptionVersion | null, now: number): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const id = version === null ? 0 : await keepVersion(transaction, version, now);
        await write(transaction, texts, now);
        return id;
      }),
    /** The same, and values of `meta` with it, by whoever claims it first. @returns false = another process did. */
    changeOnce: (
      { key, before, after }: MetaClaim,
      { texts, meta, version, versions = new Map() }: OptionChange,
      now: number,
    ): Promise<boolean> =>
      query.transaction().execute(async (transaction) => {
        const claimed =
          before === null
            ? await transaction
                .insertInto('meta')
                .values({ key, value: after })
                .onConflict((conflict) => conflict.column('key').doNothing())
                .returning('key')
                .executeTakeFirst()
            : await transaction
                .updateTable('meta')
                .set({ value: after })
                .where('key', '=', key)
                .where('value', '=', before)
                .returning('key')
                .executeTakeFirst();
        if (claimed === undefined) return false;
        for (const [id, options] of versions)
          await transaction.updateTable('price_versions').set({ options }).where('id', '=', id).execute();
        if (version !== null) await keepVersion(transaction, version, now);
        await write(transaction, texts, now);
        for (const [name, value] of meta) await writeMeta(transaction, name, value);
        return true;
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
    setMeta: (key: string, value: string): Promise<void> => writeMeta(query, key, value),
  };
}
