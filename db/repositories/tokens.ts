/** API tokens. Every read and write by id carries the owner in its condition. */
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { fieldOf, isDescending, type Sort, type tokenSorts } from '../../server/contract/sort.ts';
import type { Database } from '../open.ts';
import type { TokensTable } from '../schema/tables.ts';
import { type FirstBudget, insertFirstBudgets } from './budgets.ts';
import { escapeLike } from './like.ts';

export type TokenRow = Selectable<TokensTable>;

/** What the relay knows of a key. */
const relayColumns = [
  ...(['id', 'user_id', 'name', 'key_hmac', 'old_key_hmac', 'old_key_until', 'status', 'expires_at'] as const),
  ...(['unlimited', 'quota_limit', 'used_quota', 'model_limits_enabled', 'model_limits', 'allow_ips'] as const),
  ...(['group_name', 'day_budget', 'month_budget', 'rpm_limit', 'tpm_limit', 'concurrency_limit'] as const),
  ...(['day_at', 'day_used', 'month_at', 'month_used', 'labels', 'channels'] as const),
] as const;

export type RelayTokenRow = Pick<TokenRow, (typeof relayColumns)[number]>;

export type TokenSort = Sort<(typeof tokenSorts)[number]>;

const sortColumns: Readonly<Record<(typeof tokenSorts)[number], RawBuilder<unknown>>> = {
  name: sql`lower(name)`,
  used_quota: sql`used_quota`,
  created_time: sql`created_at`,
};

/** Absent members do not filter. */
export interface TokenFilter {
  /** The user's id, or null for the operator who may reach every row. */
  readonly owner: number | null;
  /** Part of the name. */
  readonly keyword?: string | undefined;
  /** The key of a token, also the one before its last rotation. */
  readonly keyHmac?: string | undefined;
  /** The state that the owner sees at a moment in epoch seconds: a key that has expired or is used up is not enabled. */
  readonly state?: { readonly status: number; readonly at: number } | undefined;
}

/** The status a token has for its users: 3 = expired, 4 = exhausted, whatever it was set to. */
const statusAt = (at: number) =>
  sql<number>`CASE WHEN status <> 1 THEN status WHEN expires_at <> -1 AND expires_at < ${at} THEN 3 WHEN unlimited = 0 AND quota_limit <= used_quota THEN 4 ELSE 1 END`;

/** @param owner the user's id, or null for the operator who may reach every row. */
export function createTokensRepository({ query, dialect }: Database) {
  const live = () => query.selectFrom('tokens').selectAll().where('deleted_at', 'is', null);
  const matching = ({ owner, keyword = '', keyHmac, state }: TokenFilter) =>
    query
      .selectFrom('tokens')
      .where('deleted_at', 'is', null)
      .$if(owner !== null, (q) => q.where('user_id', '=', owner as number))
      .$if(keyword !== '', (q) => q.where(dialect.like('name', `%${escapeLike(keyword)}%`, '')))
      .$if(keyHmac !== undefined, (q) =>
        q.where((eb) =>
          eb.or([
            eb('key_hmac', '=', keyHmac ?? ''),
            eb.and([eb('old_key_hmac', '=', keyHmac ?? ''), eb('old_key_hmac', '<>', '')]),
          ]),
        ),
      )
      .$if(state !== undefined, (q) => q.where(statusAt(state?.at ?? 0), '=', state?.status as number));
  return {
    all: (): Promise<TokenRow[]> => live().orderBy('id').execute(),
    /** The next `limit` of all. */
    after: (id: number, limit: number): Promise<RelayTokenRow[]> =>
      query
        .selectFrom('tokens')
        .select(relayColumns)
        .where('deleted_at', 'is', null)
        .where('id', '>', id)
        .orderBy('id')
        .limit(limit)
        .execute(),
    /** Those that are bound to channels. */
    bound: (): Promise<TokenRow[]> => live().where('channels', '<>', '').orderBy('id').execute(),
    byIds: (ids: readonly number[]): Promise<TokenRow[]> => live().where('id', 'in', ids).orderBy('id').execute(),
    list: (
      filter: TokenFilter,
      {
        offset,
        limit,
        sort,
      }: { readonly offset: number; readonly limit: number; readonly sort?: TokenSort | undefined },
    ): Promise<TokenRow[]> =>
      matching(filter)
        .selectAll()
        // Newest first without a sort, and among equals.
        .$if(sort !== undefined, (q) =>
          q.orderBy(sortColumns[fieldOf(sort ?? 'name')], isDescending(sort ?? 'name') ? 'desc' : 'asc'),
        )
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute(),
    count: async (filter: TokenFilter): Promise<number> =>
      (
        await matching(filter)
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .executeTakeFirstOrThrow()
      ).n,
    /** Number of a user's keys, and of those made since, deleted ones included. @param since epoch seconds. */
    counts: async (owner: number, since: number): Promise<{ readonly live: number; readonly made: number }> => {
      const { live: there, made } = await query
        .selectFrom('tokens')
        .where('user_id', '=', owner)
        .select([
          sql<number>`sum(CASE WHEN deleted_at IS NULL THEN 1 ELSE 0 END)`.as('live'),
          sql<number>`sum(CASE WHEN created_at >= ${since} THEN 1 ELSE 0 END)`.as('made'),
        ])
        .executeTakeFirstOrThrow();
      return { live: Number(there ?? 0), made: Number(made ?? 0) };
    },
    /** The oldest of that name. */
    findByName: (name: string, owner: number): Promise<TokenRow | undefined> =>
      live().where('name', '=', name).where('user_id', '=', owner).orderBy('id').executeTakeFirst(),
    find: (id: number, owner: number | null): Promise<TokenRow | undefined> =>
      live()
        .where('id', '=', id)
        .$if(owner !== null, (q) => q.where('user_id', '=', owner as number))
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
    /** Creates the token together with its first budgets. */
    create: (row: Insertable<TokensTable>, budgets: readonly FirstBudget[] = []): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const { id } = await transaction.insertInto('tokens').values(row).returning('id').executeTakeFirstOrThrow();
        await insertFirstBudgets(transaction, 'token', id, budgets);
        return id;
      }),
    /** @param remain when set, the limit becomes what has been used plus this much. */
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
        .$if(owner !== null, (q) => q.where('user_id', '=', owner as number))
        .executeTakeFirst();
      if (result.numUpdatedRows === 0n) return false;
      if (change.deleted_at !== undefined) await query.deleteFrom('sign_ins').where('token_id', '=', id).execute();
      return true;
    },
  };
}
