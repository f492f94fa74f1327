/** Redemption codes. A used code is written by the ledger alone. */
import {
  type Insertable,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  sql,
  type Updateable,
} from 'kysely';
import type { redemptionStates } from '../../server/contract/entities.ts';
import { fieldOf, isDescending, type redemptionSorts, type Sort } from '../../server/contract/sort.ts';
import type { Database } from '../open.ts';
import type { RedemptionsTable, Schema } from '../schema/tables.ts';
import { startsWith } from './like.ts';

export type RedemptionRow = Selectable<RedemptionsTable> & {
  /** null = not used, or its user no longer exists. */
  readonly used_username: string | null;
};

export interface RedemptionFilter {
  /** Id, or beginning of the name. */
  readonly keyword?: string | undefined;
  readonly status?: (typeof redemptionStates)[number] | undefined;
  /** Epoch seconds. */
  readonly now: number;
}

export type RedemptionSort = Sort<(typeof redemptionSorts)[number]>;

const sortColumns: Readonly<Record<(typeof redemptionSorts)[number], RawBuilder<unknown>>> = {
  id: sql`id`,
  name: sql`lower(name)`,
  status: sql`status`,
  quota: sql`quota`,
  created_time: sql`created_at`,
  // Codes that never expire come after all others.
  expired_time: sql`CASE WHEN expires_at > 0 THEN expires_at ELSE 9007199254740991 END`,
};

const used = 3;
const unused = 1;
const statuses = { unused, disabled: 2, used, expired: unused } as const;

export function createRedemptionsRepository({ query, dialect }: Database) {
  const narrow = <O>(
    rows: SelectQueryBuilder<Schema, 'redemptions', O>,
    { keyword = '', status, now }: RedemptionFilter,
  ) =>
    rows
      .where('deleted_at', 'is', null)
      .$if(status !== undefined, (q) => q.where('status', '=', statuses[status ?? 'unused']))
      .$if(status === 'unused', (q) => q.where((eb) => eb.or([eb('expires_at', '=', 0), eb('expires_at', '>', now)])))
      .$if(status === 'expired', (q) => q.where('expires_at', '>', 0).where('expires_at', '<=', now))
      .$if(keyword !== '', (q) =>
        q.where((eb) =>
          eb.or([
            startsWith(dialect, 'name', keyword),
            ...(/^\d{1,15}$/.test(keyword) ? [eb('id', '=', Number(keyword))] : []),
          ]),
        ),
      );
  const withUser = () =>
    query
      .selectFrom('redemptions')
      .selectAll('redemptions')
      .select((eb) =>
        eb
          .selectFrom('users')
          .select('users.username')
          .whereRef('users.id', '=', 'redemptions.used_user_id')
          .as('used_username'),
      );
  const live = () => withUser().where('deleted_at', 'is', null);
  const open = (id: number) =>
    query.updateTable('redemptions').where('id', '=', id).where('deleted_at', 'is', null).where('status', '<>', used);

  return {
    /** @param sort newest first without it, and among equals. */
    page: async (
      filter: RedemptionFilter,
      offset: number,
      limit: number,
      sort: RedemptionSort = '-id',
    ): Promise<{ rows: RedemptionRow[]; total: number }> => {
      const rows = await narrow(withUser(), filter)
        .orderBy(sortColumns[fieldOf(sort)], isDescending(sort) ? 'desc' : 'asc')
        .orderBy('id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await narrow(
        query.selectFrom('redemptions').select((eb) => eb.fn.countAll<number>().as('total')),
        filter,
      ).executeTakeFirstOrThrow();
      return { rows, total };
    },
    find: (id: number): Promise<RedemptionRow | undefined> => live().where('id', '=', id).executeTakeFirst(),
    findByKey: (hmac: string): Promise<RedemptionRow | undefined> =>
      live().where('key_hmac', '=', hmac).executeTakeFirst(),
    /** Number of codes with that name, used and deleted ones too: a batch is made once. */
    countNamed: async (name: string): Promise<number> =>
      (
        await query
          .selectFrom('redemptions')
          .select((eb) => eb.fn.countAll<number>().as('total'))
          .where('name', '=', name)
          .executeTakeFirstOrThrow()
      ).total,
    createAll: async (rows: readonly Insertable<RedemptionsTable>[]): Promise<number[]> =>
      (await query.insertInto('redemptions').values(rows).returning('id').execute()).map(({ id }) => id),
    /** @returns false when it is gone or used. */
    update: async (id: number, change: Updateable<RedemptionsTable>): Promise<boolean> =>
      (await open(id).set(change).executeTakeFirst()).numUpdatedRows > 0n,
    remove: async (id: number, now: number): Promise<boolean> =>
      (
        await query
          .updateTable('redemptions')
          .set({ deleted_at: now })
          .where('id', '=', id)
          .where('deleted_at', 'is', null)
          .executeTakeFirst()
      ).numUpdatedRows > 0n,
    /** Removes every code that can no longer be redeemed. @returns how many. */
    removeInvalid: async (now: number): Promise<number> =>
      Number(
        (
          await query
            .updateTable('redemptions')
            .set({ deleted_at: now })
            .where('deleted_at', 'is', null)
            .where((eb) =>
              eb.or([eb('status', '<>', unused), eb.and([eb('expires_at', '>', 0), eb('expires_at', '<=', now)])]),
            )
            .executeTakeFirst()
        ).numUpdatedRows,
      ),
  };
}
