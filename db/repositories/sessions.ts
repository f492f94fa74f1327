/** Login sessions, found by the hash of their id. */
import { type Selectable, sql } from 'kysely';
import type { Database } from '../open.ts';
import type { SessionsTable } from '../schema/tables.ts';

export type SessionRow = Selectable<SessionsTable>;

/** Digits of the hash by which a session is named where people see it. */
const handleLength = 24;
export const handleOf = (idHash: string): string => idHash.slice(0, handleLength);

export function createSessionsRepository({ query }: Database) {
  return {
    /** @param now epoch seconds. @param idleSince sessions not seen after this have ended. */
    find: (idHash: string, now: number, idleSince: number): Promise<SessionRow | undefined> =>
      query
        .selectFrom('sessions')
        .selectAll()
        .where('id_hash', '=', idHash)
        .where('expires_at', '>', now)
        .where('last_seen_at', '>', idleSince)
        .executeTakeFirst(),
    /** Newest use first. */
    list: (userId: number, now: number, idleSince: number): Promise<SessionRow[]> =>
      query
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', userId)
        .where('expires_at', '>', now)
        .where('last_seen_at', '>', idleSince)
        .orderBy('last_seen_at', 'desc')
        .orderBy('created_at', 'desc')
        .execute(),
    /** @param passwordHash the one that was seen when the user was identified. @returns false when the account opens otherwise by now. */
    create: async (row: SessionRow, passwordHash: string): Promise<boolean> => {
      const { numInsertedOrUpdatedRows } = await query
        .insertInto('sessions')
        .columns(['id_hash', 'user_id', 'created_at', 'last_seen_at', 'expires_at', 'ip', 'user_agent'])
        .expression((eb) =>
          eb
            .selectFrom('users')
            .select([
              sql<string>`${row.id_hash}`.as('id_hash'),
              'users.id as user_id',
              sql<number>`CAST(${row.created_at} AS BIGINT)`.as('created_at'),
              sql<number>`CAST(${row.last_seen_at} AS BIGINT)`.as('last_seen_at'),
              sql<number>`CAST(${row.expires_at} AS BIGINT)`.as('expires_at'),
              sql<string>`${row.ip}`.as('ip'),
              sql<string>`${row.user_agent}`.as('user_agent'),
            ])
            .where('users.id', '=', row.user_id)
            .where('users.password_hash', '=', passwordHash)
            .where('users.deleted_at', 'is', null),
        )
        .executeTakeFirst();
      return (numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    /** @param ip '' = not known this time. */
    seen: async (idHash: string, now: number, ip: string): Promise<void> => {
      await query
        .updateTable('sessions')
        .set({ last_seen_at: now, ...(ip === '' ? {} : { ip }) })
        .where('id_hash', '=', idHash)
        .execute();
    },
    remove: async (idHash: string): Promise<void> => {
      await query.deleteFrom('sessions').where('id_hash', '=', idHash).execute();
    },
    /** @returns whether the user had it. */
    removeNamed: async (userId: number, handle: string): Promise<boolean> => {
      const { numDeletedRows } = await query
        .deleteFrom('sessions')
        .where('user_id', '=', userId)
        .where(sql<string>`substr(id_hash, 1, ${sql.lit(handleLength)})`, '=', handle)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    /** @param exceptHash the session to keep, '' = none. @returns how many. */
    removeOfUser: async (userId: number, exceptHash: string): Promise<number> => {
      const { numDeletedRows } = await query
        .deleteFrom('sessions')
        .where('user_id', '=', userId)
        .where('id_hash', '<>', exceptHash)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
    removeExpired: async (now: number, idleSince: number): Promise<void> => {
      await query
        .deleteFrom('sessions')
        .where((eb) => eb.or([eb('expires_at', '<=', now), eb('last_seen_at', '<=', idleSince)]))
        .execute();
    },
  };
}
