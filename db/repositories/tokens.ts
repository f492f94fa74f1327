/** API tokens. Every read and write by id carries the owner in its condition. */
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { fieldOf, isDescending, type Sort, type tokenSorts } from '../../server/contract/sort.ts';
import type { Database } from '../open.ts';
import type { TokensTable } from '../schema/tables.ts';
import { escapeLike } from './like.ts';

export type TokenRow = Selectable<TokensTable>;

export type TokenSort = Sort<(typeof tokenSorts)[number]>;

const sortColumns: Readonly<Record<(typeof tokenSorts)[number], RawBuilder<unknown>>> = {
  name: sql`lower(name)`,
  used_quota: sql`used_quota`,
  created_time: sql`created_at`,
};

/** @param owner the user's id, or null for the operator who may reach every row. */
export function createTokensRepository({ query, dialect }: Database) {
  const live = () => query.selectFrom('tokens').selectAll().where('deleted_at', 'is', null);
  /** Newest first without a sort, and among equals. */
  const ordered = (rows: ReturnType<typeof live>, sort: TokenSort | undefined) =>
    (sort === undefined ? rows : rows.orderBy(sortColumns[fieldOf(sort)], isDescending(sort) ? 'desc' : 'asc')).orderBy(
      'id',
      'desc',
    );
  return {
    all: (): Promise<TokenRow[]> => live().orderBy('id').execute(),
    byIds: (ids: readonly number[]): Promise<TokenRow[]> => live().where('id', 'in', ids).orderBy('id').execute(),
    list: (owner: number | null, offset: number, limit: number, sort?: TokenSort): Promise<TokenRow[]> =>
      ordered(
        live().$if(owner !== null, (q) => q.where('user_id', '=', owner ?? 0)),
        sort,
      )
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async (owner: number | null): Promise<number> =>
      (
        await query
          .selectFrom('tokens')
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .where('deleted_at', 'is', null)
          .$if(owner !== null, (q) => q.where('user_id', '=', owner ?? 0))
          .executeTakeFirstOrThrow()
      ).n,
    search: (
      owner: number | null,
      { keyword, keyHmac }: { readonly keyword: string; readonly keyHmac: string | null },
      offset: number,
      limit: number,
      sort?: TokenSort,
    ): Promise<TokenRow[]> =>
      ordered(
        live()
          .$if(owner !== null, (q) => q.where('user_id', '=', owner ?? 0))
          .$if(keyword !== '', (q) => q.where(dialect.like('name', `%${escapeLike(keyword)}%`, '')))
          .$if(keyHmac !== null, (q) =>
            q.where((eb) =>
              eb.or([
                eb('key_hmac', '=', keyHmac ?? ''),
                eb.and([eb('old_key_hmac', '=', keyHmac ?? ''), eb('old_key_hmac', '<>', '')]),
              ]),
            ),
          ),
        sort,
      )
        .limit(limit)
        .offset(offset)
        .execute(),
    /** The oldest of that name. */
    findByName: (name: string, owner: number): Promise<TokenRow | undefined> =>
      live().where('name', '=', name).where('user_id', '=', owner).orderBy('id').executeTakeFirst(),
    find: (id: number, owner: number | null): Promise<TokenRow | undefined> =>
      live()
        .where('id', '=', id)
        .$if(owner !== null, (q) => q.where('user_id', '=', owner ?? 0))
        .executeTakeFirst(),
    /** Also by the key before the last rotation while it works. @param now epoch seconds. */
    findByKey: (keyHmac: string, now: number): Promise<TokenRow | undefined> =>
      live()
        .where((eb) =>
          eb.or([
            eb('key_hmac', '=', keyHmac),
            eb.and([eb('old_key_hmac', '=', keyHmac), eb('old_key_hmac', '<>', ''), eb('old_key_until', '>', now)]),
          ]),
        )
        .executeTakeFirst(),
    /** Takes the link away from its token: of two who open it at once one gets the row. @param now epoch seconds. */
    takeLink: (hash: string, now: number): Promise<TokenRow | undefined> =>
      query
        .updateTable('tokens')
        .set({ link_hash: '', link_until: 0 })
        .where('link_hash', '=', hash)
        .where('link_hash', '<>', '')
        .where('link_until', '>', now)
        .where('deleted_at', 'is', null)
        .returningAll()
        .executeTakeFirst(),
    /** Also by a token that was deleted: its key must not come back to life as another's. */
    keyTaken: async (keyHmac: string): Promise<boolean> =>
      (await query
        .selectFrom('tokens')
        .select('id')
        .where((eb) =>
          eb.or([
            eb('key_hmac', '=', keyHmac),
            eb.and([eb('old_key_hmac', '=', keyHmac), eb('old_key_hmac', '<>', '')]),
          ]),
        )
        .executeTakeFirst()) !== undefined,
    create: async (row: Insertable<TokensTable>): Promise<number> =>
      (await query.insertInto('tokens').values(row).returning('id').executeTakeFirstOrThrow()).id,
    /** @param remain when given, the limit becomes what has been used plus this much. */
    update: async (
      id: number,
      owner: number | null,
      change: Updateable<TokensTable>,
      remain: number | undefined,
    ): Promise<boolean> => {
      // Nothing to change; an empty SET is no SQL.
      if (Object.keys(change).length === 0 && remain === undefined) return true;
      const result = await query
        .updateTable('tokens')
        .set((eb) => ({ ...change, ...(remain === undefined ? {} : { quota_limit: eb('used_quota', '+', remain) }) }))
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .$if(owner !== null, (q) => q.where('user_id', '=', owner ?? 0))
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
  };
}
