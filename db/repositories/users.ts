/** Users and their accounts. */
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { fieldOf, isDescending, type Sort, type userSorts } from '../../server/contract/sort.ts';
import type { Database } from '../open.ts';
import type { UsersTable } from '../schema/tables.ts';
import { type FirstBudget, insertFirstBudgets } from './budgets.ts';

export type UserRow = Selectable<UsersTable> & {
  balance: number;
  used_quota: number;
  request_count: number;
  version: number;
  overrun: number;
  paid_in: number;
};

export type UserSort = Sort<(typeof userSorts)[number]>;

/** What the rows are sorted by; the balance and what was used are columns of the account. */
const sortColumns: Readonly<Record<(typeof userSorts)[number], RawBuilder<unknown>>> = {
  id: sql`users.id`,
  username: sql`lower(users.username)`,
  quota: sql`coalesce(accounts.balance, 0)`,
  used_quota: sql`coalesce(accounts.used_quota, 0)`,
  request_count: sql`coalesce(accounts.request_count, 0)`,
  aff_count: sql`users.aff_count`,
  aff_history_quota: sql`users.aff_history_quota`,
  inviter_id: sql`users.inviter_id`,
};

export interface UserFilter {
  /** Part of username, e-mail or display name, or the id itself. */
  readonly keyword?: string | undefined;
  readonly group?: string | undefined;
  readonly role?: number | undefined;
  readonly status?: number | undefined;
  /** Whose e-mail may be found by: this user's and those of lower roles; absent = everybody's. */
  readonly searchableEmails?: { readonly id: number; readonly below: number } | undefined;
}

/** Changes an administrator or the user may make; money is the ledger's. */
export type UserPatch = Pick<Updateable<UsersTable>, 'username' | 'display_name' | 'role' | 'status' | 'group_name'>;

export type IdentityColumn = 'github_id' | 'oidc_id' | 'wechat_id' | 'telegram_id' | 'linux_do_id';

/** An identity at another service. */
export interface Identity {
  readonly column: IdentityColumn;
  /** The service's own, unchangeable id. */
  readonly id: string;
  /** Issuer of an `oidc_id`: the same id of another issuer is another person. */
  readonly issuer: string;
}

export const identityColumns = ({ column, id, issuer }: Identity): Updateable<UsersTable> => ({
  [column]: id,
  ...(column === 'oidc_id' ? { oidc_issuer: issuer } : {}),
});

export function createUsersRepository({ query, dialect }: Database) {
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
        eb.fn.coalesce('accounts.overrun', eb.lit(0)).as('overrun'),
        eb.fn.coalesce('accounts.paid_in', eb.lit(0)).as('paid_in'),
      ]);

  const contains = (column: string, keyword: string) =>
    dialect.like(column, `%${keyword.replace(/[\\%_]/g, '\\$&')}%`, '\\');

  const narrow = (filter: UserFilter) => {
    const keyword = filter.keyword ?? '';
    return (
      select()
        .$if(keyword !== '', (q) =>
          q.where((eb) =>
            eb.or([
              contains('users.username', keyword),
              filter.searchableEmails === undefined
                ? contains('users.email', keyword)
                : eb.and([
                    contains('users.email', keyword),
                    eb.or([
                      eb('users.role', '<', filter.searchableEmails.below),
                      eb('users.id', '=', filter.searchableEmails.id),
                    ]),
                  ]),
              contains('users.display_name', keyword),
              ...(/^\d{1,15}$/.test(keyword) ? [eb('users.id', '=', Number(keyword))] : []),
            ]),
          ),
        )
        .$if((filter.group ?? '') !== '', (q) => q.where('users.group_name', '=', filter.group ?? ''))
        .$if(filter.role !== undefined, (q) => q.where('users.role', '=', filter.role as number))
        // A closed account has no other state.
        .$if(filter.status !== undefined, (q) =>
          q.where('users.status', '=', filter.status as number).where('users.deleted_at', 'is', null),
        )
    );
  };

  return {
    /** Closed accounts included. @param sort newest first without it, and among equals. */
    page: async (
      filter: UserFilter,
      offset: number,
      limit: number,
      sort: UserSort = '-id',
    ): Promise<{ rows: UserRow[]; total: number }> => {
      const rows = await narrow(filter)
        .orderBy(sortColumns[fieldOf(sort)], isDescending(sort) ? 'desc' : 'asc')
        .orderBy('users.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await narrow(filter)
        .clearSelect()
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** Also names of closed accounts, and names that are another user's e-mail and would catch that user's login. */
    nameTaken: async (name: string, exceptId: number): Promise<boolean> =>
      (await query
        .selectFrom('users')
        .select('id')
        .where('id', '<>', exceptId)
        .where((eb) =>
          eb.or([
            // SQLite folds the letters of ASCII alone.
            eb(eb.fn('lower', ['username']), '=', name.toLowerCase()),
            eb('username', 'in', [name, name.toLowerCase(), name.toUpperCase()]),
            eb(eb.fn('lower', ['email']), '=', name.toLowerCase()),
          ]),
        )
        .limit(1)
        .executeTakeFirst()) !== undefined,
    /** Also addresses of closed accounts, and addresses that are another user's name. */
    emailTaken: async (email: string, exceptId: number): Promise<boolean> =>
      (await query
        .selectFrom('users')
        .select('id')
        .where('id', '<>', exceptId)
        .where((eb) =>
          eb.or([
            eb(eb.fn('lower', ['email']), '=', email.toLowerCase()),
            eb(eb.fn('lower', ['username']), '=', email.toLowerCase()),
          ]),
        )
        .limit(1)
        .executeTakeFirst()) !== undefined,
    findByEmail: (email: string): Promise<UserRow | undefined> =>
      select()
        .where('deleted_at', 'is', null)
        .where((eb) => eb(eb.fn('lower', ['email']), '=', email.toLowerCase()))
        .where('email', '<>', '')
        .executeTakeFirst(),
    /** Closed accounts too: their identity stays theirs. */
    findByIdentity: ({ column, id, issuer }: Identity): Promise<UserRow | undefined> =>
      select()
        .where(column, '=', id)
        .$if(column === 'oidc_id', (q) => q.where('oidc_issuer', '=', issuer))
        .executeTakeFirst(),
    /** @param identity its id '' = none any more. */
    setIdentity: async (id: number, identity: Identity): Promise<void> => {
      await query.updateTable('users').set(identityColumns(identity)).where('id', '=', id).execute();
    },
    setEmail: async (id: number, email: string): Promise<void> => {
      await query.updateTable('users').set({ email }).where('id', '=', id).execute();
    },
    setSetting: async (id: number, setting: string): Promise<void> => {
      await query.updateTable('users').set({ setting }).where('id', '=', id).execute();
    },
    /** @param seenRole role on which the right to change was judged. @returns false when it is another by now. */
    update: async (id: number, seenRole: number, patch: UserPatch): Promise<boolean> => {
      const { numUpdatedRows } = await query
        .updateTable('users')
        .set(patch)
        .where('id', '=', id)
        .where('role', '=', seenRole)
        .where('deleted_at', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    /** Ends the account, its sessions, its tokens and its access token together. @returns false as `update` does. */
    close: (id: number, seenRole: number, now: number): Promise<boolean> =>
      query.transaction().execute(async (transaction) => {
        const { numUpdatedRows } = await transaction
          .updateTable('users')
          .set({ deleted_at: now, access_token_hash: null })
          .where('id', '=', id)
          .where('role', '=', seenRole)
          .where('deleted_at', 'is', null)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await transaction.deleteFrom('sessions').where('user_id', '=', id).execute();
        await transaction
          .updateTable('tokens')
          .set({ deleted_at: now })
          .where('user_id', '=', id)
          .where('deleted_at', 'is', null)
          .execute();
        await transaction
          .deleteFrom('sign_ins')
          .where('token_id', 'in', (eb) => eb.selectFrom('tokens').select('id').where('user_id', '=', id))
          .execute();
        return true;
      }),
    all: (): Promise<UserRow[]> => select().where('deleted_at', 'is', null).orderBy('users.id').execute(),
    /** The next `limit` of all. */
    after: (id: number, limit: number): Promise<UserRow[]> =>
      select().where('users.id', '>', id).where('deleted_at', 'is', null).orderBy('users.id').limit(limit).execute(),
    byIds: (ids: readonly number[]): Promise<UserRow[]> =>
      select().where('users.id', 'in', ids).where('deleted_at', 'is', null).orderBy('users.id').execute(),
    find: (id: number): Promise<UserRow | undefined> =>
      select().where('users.id', '=', id).where('deleted_at', 'is', null).executeTakeFirst(),
    findByLogin: (login: string): Promise<UserRow | undefined> =>
      select()
        .where('deleted_at', 'is', null)
        .where((eb) => eb.or([eb('username', '=', login), eb.and([eb('email', '=', login), eb('email', '<>', '')])]))
        // A name that looks like the address of another: older sites may have one.
        .orderBy((eb) => eb.case().when('username', '=', login).then(0).else(1).end())
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
    /** Creates the user together with an empty account and the first budgets. */
    create: (row: Insertable<UsersTable>, budgets: readonly FirstBudget[] = []): Promise<number> =>
      query.transaction().execute(async (transaction) => {
        const { id } = await transaction.insertInto('users').values(row).returning('id').executeTakeFirstOrThrow();
        await transaction
          .insertInto('accounts')
          .values({ id, balance: 0, used_quota: 0, request_count: 0, version: 0 })
          .execute();
        await insertFirstBudgets(transaction, 'user', id, budgets);
        return id;
      }),
    setAccessToken: async (id: number, hash: string): Promise<void> => {
      await query.updateTable('users').set({ access_token_hash: hash }).where('id', '=', id).execute();
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
