/** The audit trail: rows are added, never changed; each one's hash covers the one before. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { AuditTable } from '../schema/tables.ts';

export type AuditRow = Selectable<AuditTable>;
/** Content of a row; number and hashes are added when it is written. */
export type AuditEntry = Omit<AuditRow, 'id' | 'hash' | 'previous_hash'>;

/** @param hashOf hash of an entry that follows `previousHash`. */
export function createAuditRepository(
  { query, dialect }: Database,
  hashOf: (entry: AuditEntry, previousHash: string) => string,
) {
  return {
    append: (entry: AuditEntry): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        await dialect.exclusive(transaction, 'audit');
        const last = await transaction
          .selectFrom('audit')
          .select('hash')
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst();
        const previousHash = last?.hash ?? '';
        await transaction
          .insertInto('audit')
          .values({ ...entry, previous_hash: previousHash, hash: hashOf(entry, previousHash) })
          .execute();
      }),
    /** Newest first. */
    page: async (offset: number, limit: number): Promise<{ rows: AuditRow[]; total: number }> => {
      const rows = await query
        .selectFrom('audit')
        .selectAll()
        .orderBy('id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await query
        .selectFrom('audit')
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** Newest first. @param actions begin with it. */
    ofTarget: (actions: string, target: string, limit: number): Promise<AuditRow[]> =>
      query
        .selectFrom('audit')
        .selectAll()
        .where('target', '=', target)
        .where('action', 'like', `${actions}%`)
        .orderBy('id', 'desc')
        .limit(limit)
        .execute(),
    /** Oldest first, after an id. */
    after: (id: number, limit: number): Promise<AuditRow[]> =>
      query.selectFrom('audit').selectAll().where('id', '>', id).orderBy('id').limit(limit).execute(),
  };
}
