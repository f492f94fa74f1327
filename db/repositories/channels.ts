/** Upstream channels. */
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Database } from '../open.ts';
import type { ChannelsTable } from '../schema.ts';
import { escapeLike } from './like.ts';

export type ChannelRow = Selectable<ChannelsTable>;

export interface ChannelFilter {
  readonly keyword?: string | undefined;
  readonly group?: string | undefined;
  readonly model?: string | undefined;
  readonly idSort?: boolean | undefined;
}

/** Member of a comma list, whole names only. */
const inList = (column: string, value: string) =>
  sql<boolean>`instr(',' || ${sql.ref(column)} || ',', ${`,${value},`}) > 0`;

export function createChannelsRepository({ query }: Database) {
  return {
    all: (): Promise<ChannelRow[]> => query.selectFrom('channels').selectAll().execute(),
    byIds: (ids: readonly number[]): Promise<ChannelRow[]> =>
      query.selectFrom('channels').selectAll().where('id', 'in', ids).execute(),
    list: (filter: ChannelFilter, offset: number, limit: number): Promise<ChannelRow[]> =>
      query
        .selectFrom('channels')
        .selectAll()
        .$if(Boolean(filter.keyword), (q) =>
          q.where((eb) =>
            eb.or([
              eb('name', 'like', `%${escapeLike(filter.keyword ?? '')}%`),
              ...(/^\d+$/.test(filter.keyword ?? '') ? [eb('id', '=', Number(filter.keyword))] : []),
            ]),
          ),
        )
        .$if(Boolean(filter.group), (q) => q.where(inList('group_name', filter.group ?? '')))
        .$if(Boolean(filter.model), (q) => q.where('models', 'like', `%${escapeLike(filter.model ?? '')}%`))
        .$if(filter.idSort !== true, (q) => q.orderBy('priority', 'desc'))
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async (): Promise<number> =>
      (
        await query
          .selectFrom('channels')
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .executeTakeFirstOrThrow()
      ).n,
    find: (id: number): Promise<ChannelRow | undefined> =>
      query.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst(),
    create: (rows: readonly Insertable<ChannelsTable>[]): Promise<ChannelRow[]> =>
      query.insertInto('channels').values(rows).returningAll().execute(),
    update: async (id: number, change: Updateable<ChannelsTable>): Promise<boolean> => {
      const result = await query.updateTable('channels').set(change).where('id', '=', id).executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    remove: async (id: number): Promise<boolean> => {
      const result = await query.deleteFrom('channels').where('id', '=', id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}
