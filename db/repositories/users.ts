/** Users and their accounts. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { UsersTable } from '../schema.ts';

export type UserRow = Selectable<UsersTable> & {
  balance: number;
  used_quota: number;
  request_count: number;
  version: number;
};

export type UsersRepository = ReturnType<typeof createUsersRepository>;

export function createUsersRepository({ query }: Database) {
  const select = () =>
    query
      .selectFrom('users')
      .leftJoin('accounts', 'accounts.id', 'users.id')
      .selectAll('users')
      .select((eb) => [
        eb.fn.coalesce('accounts.balance', eb.lit(0)).as('balance'),
        eb.fn.coalesce('accounts.used_quota', eb.lit(0)).as('used_quota'),
        eb.fn.coalesce('accounts.request_count', eb.lit(0)).as('request_count'),
        eb.fn.coalesce('accounts.version', eb.lit(0)).as('version'),
      ]);

  return {
    all: (): Promise<UserRow[]> => select().where('deleted_at', 'is', null).execute(),
    byIds: (ids: readonly number[]): Promise<UserRow[]> =>
      select().where('users.id', 'in', ids).where('deleted_at', 'is', null).execute(),
    find: (id: number): Promise<UserRow | undefined> =>
      select().where('users.id', '=', id).where('deleted_at', 'is', null).executeTakeFirst(),
    findByLogin: (login: string): Promise<UserRow | undefined> =>
      select()
        .where('deleted_at', 'is', null)
        .where((eb) => eb.or([eb('username', '=', login), eb.and([eb('email', '=', login), eb('email', '<>', '')])]))
        .executeTakeFirst(),
    findByAccessToken: (hash: string): Promise<UserRow | undefined> =>
      select().where('access_token_hash', '=', hash).where('deleted_at', 'is', null).executeTakeFirst(),
    firstWithRole: (role: number): Promise<UserRow | undefined> =>
      select()
        .where('role', '>=', role)
        .where('deleted_at', 'is', null)
        .orderBy('users.id')
        .limit(1)
        .executeTakeFirst(),
    rootExists: async (): Promise<boolean> =>
      (await query.selectFrom('users').select('id').where('role', '>=', 100).limit(1).executeTakeFirst()) !== undefined,
    /** Creates the user together with an empty account. */
    create: (row: Insertable<UsersTable>): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const { id } = await transaction.insertInto('users').values(row).returning('id').executeTakeFirstOrThrow();
        await transaction
          .insertInto('accounts')
          .values({ id, balance: 0, used_quota: 0, request_count: 0, version: 0 })
          .execute();
        return id;
      }),
    setAccessToken: async (id: number, hash: string): Promise<void> => {
      await query.updateTable('users').set({ access_token_hash: hash }).where('id', '=', id).execute();
    },
    setPassword: async (id: number, hash: string): Promise<void> => {
      await query.updateTable('users').set({ password_hash: hash }).where('id', '=', id).execute();
    },
    count: async (): Promise<number> =>
      (
        await query
          .selectFrom('users')
          .select((eb) => eb.fn.countAll<number>().as('n'))
          .executeTakeFirstOrThrow()
      ).n,
  };
}
