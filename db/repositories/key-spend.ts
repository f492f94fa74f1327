/** Recent spend of keys, and which were stopped for it. Sums are read where they hold nobody up. */
import { sql } from 'kysely';
import { type Database, forReading } from '../open.ts';

export interface KeySpend {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  /** Quota. */
  readonly spent: number;
}

const hourSeconds = 3600;
const consume = 2;

export interface FrozenKey {
  readonly id: number;
  readonly name: string;
  readonly username: string;
  /** Epoch seconds. */
  readonly frozen_at: number;
}

export function createKeySpendRepository(database: Database) {
  const { query } = database;
  const { query: reading } = forReading(database);

  return {
    /** Enabled keys that spent so much since: of one that was enabled again, from then on. @param from epoch seconds. */
    async spenders(from: number, least: number): Promise<KeySpend[]> {
      const sums = await reading
        .selectFrom('logs')
        .select((one) => ['token_id', one.fn.sum<number>('quota').as('spent')])
        .where('created_at', '>=', from)
        .where('type', '=', consume)
        .where('token_id', '>', 0)
        .groupBy('token_id')
        .having((one) => one.fn.sum<number>('quota'), '>=', least)
        .execute();
      const keys: KeySpend[] = [];
      for (const { token_id: id } of sums) {
        const key = await query
          .selectFrom('tokens')
          .select(['id', 'user_id', 'name', 'frozen_at'])
          .where('id', '=', id)
          .where('status', '=', 1)
          .where('deleted_at', 'is', null)
          .executeTakeFirst();
        if (key === undefined) continue;
        const since = Math.max(from, Math.abs(key.frozen_at));
        const { spent } = await reading
          .selectFrom('logs')
          .select((one) => one.fn.coalesce(one.fn.sum<number>('quota'), sql<number>`0`).as('spent'))
          .where('user_id', '=', key.user_id)
          .where('token_id', '=', id)
          .where('type', '=', consume)
          .where('created_at', '>=', since)
          .executeTakeFirstOrThrow();
        if (Number(spent) >= least) keys.push({ id, userId: key.user_id, name: key.name, spent: Number(spent) });
      }
      return keys;
    },
    /** Spend of each hour in which the key was used. @param from epoch seconds. @param to not included. */
    async hours({ id, userId }: Pick<KeySpend, 'id' | 'userId'>, from: number, to: number): Promise<number[]> {
      const rows = await reading
        .selectFrom('logs')
        .select((one) => one.fn.sum<number>('quota').as('spent'))
        .where('user_id', '=', userId)
        .where('token_id', '=', id)
        .where('type', '=', consume)
        .where('created_at', '>=', from)
        .where('created_at', '<', to)
        .groupBy(sql`created_at / ${sql.lit(hourSeconds)}`)
        .execute();
      return rows.map(({ spent }) => Number(spent));
    },
    /** @param at epoch seconds. @returns false where it was not enabled. */
    async freeze(id: number, at: number): Promise<boolean> {
      const { numUpdatedRows } = await query
        .updateTable('tokens')
        .set({ status: 2, frozen_at: at })
        .where('id', '=', id)
        .where('status', '=', 1)
        .where('deleted_at', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    /** Those that are stopped. @param from epoch seconds. */
    frozenSince: (from: number): Promise<FrozenKey[]> =>
      query
        .selectFrom('tokens')
        .innerJoin('users', 'users.id', 'tokens.user_id')
        .select(['tokens.id', 'name', 'username', 'frozen_at'])
        .where('frozen_at', '>=', from)
        .where('tokens.status', '=', 2)
        .where('tokens.deleted_at', 'is', null)
        .orderBy('tokens.id')
        .execute(),
  };
}
