/** Upstream channels. */
import { type Insertable, type Selectable, type SelectQueryBuilder, sql, type Updateable } from 'kysely';
import type { Dialect } from '../dialect.ts';
import type { Database } from '../open.ts';
import type { ChannelsTable, Schema } from '../schema/tables.ts';
import { escapeLike } from './like.ts';

export type ChannelRow = Selectable<ChannelsTable>;

export interface ChannelFilter {
  readonly keyword?: string | undefined;
  readonly group?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: number | undefined;
  readonly type?: number | undefined;
  readonly idSort?: boolean | undefined;
  /** Channels whose key the keyword is. */
  readonly keyed?: readonly number[] | undefined;
}

/** Member of a comma list, whole names only. */
const inList = (dialect: Dialect, column: string, value: string) =>
  sql<boolean>`${dialect.position(sql<string>`',' || ${sql.ref(column)} || ','`, `,${value},`)} > 0`;

/** @param keyword part of the name or of the address, or the whole id. */
const filtered = (
  dialect: Dialect,
  channels: SelectQueryBuilder<Schema, 'channels', Record<never, never>>,
  { keyword, group, model, status, type, keyed = [] }: ChannelFilter,
) =>
  channels
    .$if(Boolean(keyword), (q) =>
      q.where((eb) =>
        eb.or([
          dialect.like('name', `%${escapeLike(keyword ?? '')}%`, ''),
          dialect.like('base_url', `%${escapeLike(keyword ?? '')}%`, ''),
          ...(keyed.length === 0 ? [] : [eb('id', 'in', keyed)]),
          ...(/^\d+$/.test(keyword ?? '') ? [eb('id', '=', Number(keyword))] : []),
        ]),
      ),
    )
    .$if(Boolean(group), (q) => q.where(inList(dialect, 'group_name', group ?? '')))
    .$if(Boolean(model), (q) => q.where(dialect.like('models', `%${escapeLike(model ?? '')}%`, '')))
    .$if(status !== undefined, (q) => q.where('status', '=', status as number))
    .$if(type !== undefined, (q) => q.where('type', '=', type as number));

/** Columns by which a channel is another upstream, or is asked other things. */
const decisive = [
  ...['type', 'key_sealed', 'organization', 'base_url', 'other', 'models', 'model_mapping'],
  ...['status_code_mapping', 'param_override', 'setting'],
];

const isEdit = (change: Updateable<ChannelsTable>): boolean =>
  Object.keys(change).some((column) => decisive.includes(column));

export function createChannelsRepository({ query, dialect }: Database) {
  /** Facts learnt of an upstream say nothing about another one. */
  const forgetLearnt = async (ids: readonly number[]): Promise<void> => {
    if (ids.length === 0) return;
    await query
      .deleteFrom('channel_unsupported')
      .where('source', '=', 'learnt')
      .where('channel_id', 'in', ids)
      .execute();
  };
  const forget = async (ids: readonly number[]): Promise<void> => {
    await query.deleteFrom('channel_unsupported').where('channel_id', 'in', ids).execute();
  };
  const { channelUse } = dialect;
  const matching = (filter: ChannelFilter) => filtered(dialect, query.selectFrom('channels'), filter);
  /** Whole rows. */
  const whole = <O>(q: SelectQueryBuilder<Schema, 'channels', O>) =>
    q
      .selectAll('channels')
      // Selected after the column of the same name, which it replaces.
      .$if(channelUse !== null, (one) => one.select((channelUse as NonNullable<typeof channelUse>).as('used_quota')));
  const rows = () => whole(query.selectFrom('channels'));
  return {
    all: (): Promise<ChannelRow[]> => rows().orderBy('id').execute(),
    /** What it says of itself that its state follows from. */
    states: () =>
      query
        .selectFrom('channels')
        .select([
          ...(['id', 'name', 'status', 'priority', 'group_name', 'models'] as const),
          ...(['balance', 'balance_updated_at', 'other_info'] as const),
        ])
        .orderBy('id')
        .execute(),
    byIds: (ids: readonly number[]): Promise<ChannelRow[]> => rows().where('id', 'in', ids).orderBy('id').execute(),
    list: (filter: ChannelFilter, offset: number, limit: number): Promise<ChannelRow[]> =>
      whole(matching(filter))
        .$if(filter.idSort !== true, (q) => q.orderBy('priority', 'desc'))
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async (filter: ChannelFilter = {}): Promise<number> =>
      (
        await matching(filter)
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .executeTakeFirstOrThrow()
      ).n,
    /** Distinct tags of the channels that match. */
    tags: async (filter: ChannelFilter): Promise<string[]> =>
      (await matching(filter).select('tag').where('tag', '<>', '').distinct().orderBy('tag', 'desc').execute()).map(
        ({ tag }) => tag,
      ),
    /** Channels of several tags, those of a tag together. */
    ofTags: (tags: readonly string[], filter: ChannelFilter): Promise<ChannelRow[]> =>
      whole(matching(filter))
        .where('tag', 'in', tags)
        .orderBy('tag', 'desc')
        .$if(filter.idSort !== true, (q) => q.orderBy('priority', 'desc'))
        .orderBy('id', 'desc')
        .execute(),
    find: (id: number): Promise<ChannelRow | undefined> => rows().where('id', '=', id).executeTakeFirst(),
    create: (rows: readonly Insertable<ChannelsTable>[]): Promise<ChannelRow[]> =>
      query.insertInto('channels').values(rows).returningAll().execute(),
    update: async (id: number, change: Updateable<ChannelsTable>): Promise<boolean> => {
      const result = await query.updateTable('channels').set(change).where('id', '=', id).executeTakeFirst();
      if (isEdit(change)) await forgetLearnt([id]);
      return result.numUpdatedRows > 0n;
    },
    /** @returns false where the list is another by now. */
    replaceKeysOff: async (id: number, before: string, after: string): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('channels')
        .set({ keys_off: after })
        .where('id', '=', id)
        .where('keys_off', '=', before)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    updateMany: async (ids: readonly number[], change: Updateable<ChannelsTable>): Promise<number> => {
      if (ids.length === 0) return 0;
      const { numUpdatedRows } = await query
        .updateTable('channels')
        .set(change)
        .where('id', 'in', ids)
        .executeTakeFirst();
      if (isEdit(change)) await forgetLearnt(ids);
      return Number(numUpdatedRows);
    },
    updateTag: async (tag: string, change: Updateable<ChannelsTable>): Promise<number> => {
      const { numUpdatedRows } = await query
        .updateTable('channels')
        .set(change)
        .where('tag', '=', tag)
        .executeTakeFirst();
      if (isEdit(change)) {
        const edited = await query
          .selectFrom('channels')
          .select('id')
          .where('tag', '=', change.tag ?? tag)
          .execute();
        await forgetLearnt(edited.map(({ id }) => id));
      }
      return Number(numUpdatedRows);
    },
    byTag: (tag: string): Promise<ChannelRow[]> => rows().where('tag', '=', tag).orderBy('id').execute(),
    removeMany: async (ids: readonly number[]): Promise<number> => {
      if (ids.length === 0) return 0;
      const { numDeletedRows } = await query.deleteFrom('channels').where('id', 'in', ids).executeTakeFirst();
      await forget(ids);
      return Number(numDeletedRows);
    },
    removeByStatus: async (statuses: readonly number[]): Promise<number> => {
      const { numDeletedRows } = await query.deleteFrom('channels').where('status', 'in', statuses).executeTakeFirst();
      await query
        .deleteFrom('channel_unsupported')
        .where('channel_id', 'not in', query.selectFrom('channels').select('id'))
        .execute();
      return Number(numDeletedRows);
    },
    remove: async (id: number): Promise<boolean> => {
      const result = await query.deleteFrom('channels').where('id', '=', id).executeTakeFirst();
      await forget([id]);
      return result.numDeletedRows > 0n;
    },
  };
}
