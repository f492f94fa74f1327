/** Members that upstreams of channels refused. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from '../open.ts';
import type { ChannelUnsupportedTable } from '../schema/tables.ts';

export type UnsupportedRow = Selectable<ChannelUnsupportedTable>;
export type UnsupportedKey = Pick<UnsupportedRow, 'channel_id' | 'model' | 'member'>;

/** Rows that hold for all users: two of them met the refusal, or a person wrote it. */
const forAll = sql<boolean>`(source <> 'learnt' OR users LIKE '%,%')`;

export function createUnsupportedMembersRepository({ query }: Database) {
  const at = ({ channel_id, model, member }: UnsupportedKey) => ({ channel_id, model, member });
  const oldest = async (of: Partial<UnsupportedKey>): Promise<UnsupportedKey | undefined> =>
    query
      .selectFrom('channel_unsupported')
      .select(['channel_id', 'model', 'member'])
      .where((eb) => eb.and(of))
      .where((eb) => eb.not(forAll))
      .orderBy('last_at')
      .orderBy('channel_id')
      .orderBy('model')
      .orderBy('member')
      .limit(1)
      .executeTakeFirst();
  const remove = async (key: UnsupportedKey): Promise<boolean> => {
    const { numDeletedRows } = await query
      .deleteFrom('channel_unsupported')
      .where((eb) => eb.and(at(key)))
      .executeTakeFirst();
    return numDeletedRows > 0n;
  };
  return {
    /** @param channelId absent = of all channels. */
    list: (channelId?: number): Promise<UnsupportedRow[]> =>
      query
        .selectFrom('channel_unsupported')
        .selectAll()
        .$if(channelId !== undefined, (q) => q.where('channel_id', '=', channelId as number))
        .orderBy('channel_id')
        .orderBy('model')
        .orderBy('member')
        .execute(),
    /** Those that hold for every request. @param channelIds absent = of all channels. */
    forAll: (channelIds?: readonly number[]): Promise<UnsupportedRow[]> =>
      query
        .selectFrom('channel_unsupported')
        .selectAll()
        .where(forAll)
        .$if(channelIds !== undefined, (q) => q.where('channel_id', 'in', channelIds ?? []))
        .orderBy('channel_id')
        .orderBy('model')
        .orderBy('member')
        .execute(),
    find: (key: UnsupportedKey): Promise<UnsupportedRow | undefined> =>
      query
        .selectFrom('channel_unsupported')
        .selectAll()
        .where((eb) => eb.and(at(key)))
        .executeTakeFirst(),
    count: async (of: Partial<UnsupportedKey> = {}): Promise<number> =>
      (
        await query
          .selectFrom('channel_unsupported')
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .where((eb) => eb.and(of))
          .executeTakeFirstOrThrow()
      ).n,
    /** @returns false where another process was first. */
    insert: async (row: Insertable<ChannelUnsupportedTable>): Promise<boolean> => {
      const { numInsertedOrUpdatedRows = 0n } = await query
        .insertInto('channel_unsupported')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows > 0n;
    },
    /** @returns false where the row is another by now. */
    update: async (
      { users, source, ...key }: UnsupportedKey & Pick<UnsupportedRow, 'users' | 'source'>,
      change: Partial<Pick<UnsupportedRow, 'users' | 'source' | 'last_at' | 'expires_at'>>,
      met: number,
    ): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('channel_unsupported')
        .set((eb) => ({ ...change, count: eb('count', '+', met) }))
        .where((eb) => eb.and({ ...at(key), users, source }))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    remove,
    /** Makes room: of what one user alone has met, the oldest. @returns false = there is none. */
    removeOldest: async (of: Partial<UnsupportedKey> = {}): Promise<boolean> => {
      const key = await oldest(of);
      return key !== undefined && remove(key);
    },
    /** @param now epoch seconds. */
    removeExpired: async (now: number): Promise<void> => {
      await query
        .deleteFrom('channel_unsupported')
        .where('expires_at', '>', 0)
        .where('expires_at', '<=', now)
        .execute();
    },
  };
}
