/** Virtual models, by name. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Database } from '../open.ts';
import type { VirtualModelsTable } from '../schema/tables.ts';

export type VirtualModelRow = Selectable<VirtualModelsTable>;

export function createVirtualModelsRepository(database: Database) {
  const { query, dialect } = database;
  return {
    /**
     * Of all nodes and connections one at a time: what is looked at stays as it is until the work has written.
     * @param work asks `inside` alone: on SQLite the database is busy with it.
     */
    alone: <Of>(work: (inside: Database) => Promise<Of>): Promise<Of> =>
      query.transaction().execute(async (transaction) => {
        await dialect.exclusive(transaction, 'virtual_models');
        return work({ ...database, query: transaction });
      }),
    all: (): Promise<VirtualModelRow[]> => query.selectFrom('virtual_models').selectAll().orderBy('name').execute(),
    create: (row: Insertable<VirtualModelsTable>): Promise<VirtualModelRow> =>
      query.insertInto('virtual_models').values(row).returningAll().executeTakeFirstOrThrow(),
    /** @returns undefined = there is none. */
    update: (id: number, changes: Updateable<VirtualModelsTable>): Promise<VirtualModelRow | undefined> =>
      query.updateTable('virtual_models').set(changes).where('id', '=', id).returningAll().executeTakeFirst(),
    remove: async (id: number): Promise<boolean> => {
      const { numDeletedRows } = await query.deleteFrom('virtual_models').where('id', '=', id).executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
