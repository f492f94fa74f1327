/** Login sessions, found by the hash of their id. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { SessionsTable } from '../schema.ts';

export type SessionRow = Selectable<SessionsTable>;

export function createSessionsRepository({ query }: Database) {
  return {
    find: (idHash: string, now: number): Promise<SessionRow | undefined> =>
      query
        .selectFrom('sessions')
        .selectAll()
        .where('id_hash', '=', idHash)
        .where('expires_at', '>', now)
        .executeTakeFirst(),
    create: async (row: SessionRow): Promise<void> => {
      await query.insertInto('sessions').values(row).execute();
    },
    remove: async (idHash: string): Promise<void> => {
      await query.deleteFrom('sessions').where('id_hash', '=', idHash).execute();
    },
    /** @param exceptHash the session to keep, '' = none. */
    removeOfUser: async (userId: number, exceptHash: string): Promise<void> => {
      await query.deleteFrom('sessions').where('user_id', '=', userId).where('id_hash', '<>', exceptHash).execute();
    },
    removeExpired: async (now: number): Promise<void> => {
      await query.deleteFrom('sessions').where('expires_at', '<=', now).execute();
    },
  };
}
