/** Filters that users keep, each for one table. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { SavedFiltersTable } from '../schema/tables.ts';

export type SavedFilterRow = Selectable<SavedFiltersTable>;

export function createSavedFiltersRepository({ query }: Database) {
  return {
    /** @param place '' = of every table. */
    list: (userId: number, place: string): Promise<SavedFilterRow[]> =>
      query
        .selectFrom('saved_filters')
        .selectAll()
        .where('user_id', '=', userId)
        .$if(place !== '', (q) => q.where('place', '=', place))
        .orderBy('place')
        .orderBy('name')
        .execute(),
    /** One of the same name is replaced. */
    save: (row: Insertable<SavedFiltersTable>): Promise<SavedFilterRow> =>
      query
        .insertInto('saved_filters')
        .values(row)
        .onConflict((conflict) => conflict.columns(['user_id', 'place', 'name']).doUpdateSet({ query: row.query }))
        .returningAll()
        .executeTakeFirstOrThrow(),
    remove: async (id: number, userId: number): Promise<boolean> => {
      const { numDeletedRows } = await query
        .deleteFrom('saved_filters')
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
