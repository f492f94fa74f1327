/** Price maps as they were before each change. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { PriceVersionsTable } from '../schema/tables.ts';

export type PriceVersionRow = Selectable<PriceVersionsTable>;

export function createPriceVersionsRepository({ query }: Database) {
  return {
    /** Newest first. */
    page: async (offset: number, limit: number): Promise<{ rows: PriceVersionRow[]; total: number }> => {
      const rows = await query
        .selectFrom('price_versions')
        .selectAll()
        .orderBy('id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await query
        .selectFrom('price_versions')
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** This version and all newer ones, oldest first. */
    since: (id: number): Promise<PriceVersionRow[]> =>
      query.selectFrom('price_versions').selectAll().where('id', '>=', id).orderBy('id').execute(),
  };
}
