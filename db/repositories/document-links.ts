/** Links that open an invoice or a statement without an account. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { Schema } from '../schema/tables.ts';

export type DocumentLinkRow = Selectable<Schema['document_links']> & {
  /** null = no such user. */
  readonly creator: string | null;
};

export interface DocumentLinkFilter {
  /** Whose documents, or whose links; absent = of everybody. */
  readonly userId?: number | undefined;
  readonly keyword?: string | undefined;
}

export function createDocumentLinksRepository({ query }: Database) {
  const found = ({ userId, keyword = '' }: DocumentLinkFilter) =>
    query
      .selectFrom('document_links')
      .leftJoin('users', 'users.id', 'document_links.created_by')
      .$if(userId !== undefined, (q) =>
        q.where((eb) =>
          eb.or([
            eb('document_links.user_id', '=', userId as number),
            eb('document_links.created_by', '=', userId as number),
          ]),
        ),
      )
      .$if(keyword !== '', (q) => q.where('document_links.title', 'like', `%${keyword.replaceAll(/[%_]/g, '')}%`));
  return {
    create: async (
      row: Omit<Insertable<Schema['document_links']>, 'id' | 'revoked_at' | 'opened' | 'opened_at'>,
    ): Promise<number> => {
      const { id } = await query
        .insertInto('document_links')
        .values({ ...row, revoked_at: 0, opened: 0, opened_at: 0 })
        .returning('id')
        .executeTakeFirstOrThrow();
      return id;
    },
    find: (id: number) => query.selectFrom('document_links').selectAll().where('id', '=', id).executeTakeFirst(),
    /** Newest first. */
    page: async (
      filter: DocumentLinkFilter,
      offset: number,
      limit: number,
    ): Promise<{ rows: DocumentLinkRow[]; total: number }> => {
      const rows = await found(filter)
        .selectAll('document_links')
        .select('users.username as creator')
        .orderBy('document_links.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await found(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** @returns undefined where it is revoked or has ended. */
    withSecret: (hash: string, now: number) =>
      query
        .selectFrom('document_links')
        .selectAll()
        .where('secret_hash', '=', hash)
        .where('revoked_at', '=', 0)
        .where('expires_at', '>', now)
        .executeTakeFirst(),
    /** @returns whether it was open still. */
    countOpened: async (id: number, now: number): Promise<boolean> => {
      const counted = await query
        .updateTable('document_links')
        .set((eb) => ({ opened: eb('opened', '+', 1), opened_at: now }))
        .where('id', '=', id)
        .where('revoked_at', '=', 0)
        .returning('id')
        .executeTakeFirst();
      return counted !== undefined;
    },
    revoke: async (id: number, now: number): Promise<void> => {
      await query
        .updateTable('document_links')
        .set({ revoked_at: now })
        .where('id', '=', id)
        .where('revoked_at', '=', 0)
        .execute();
    },
    /** Those that have opened nothing since then. */
    deleteOlder: async (before: number): Promise<void> => {
      await query.deleteFrom('document_links').where('expires_at', '<', before).execute();
    },
  };
}
