/** The audit trail: rows are added, never changed; each one's hash covers the one before. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { AuditTable } from '../schema/tables.ts';
import { startsWith } from './like.ts';

export type AuditRow = Selectable<AuditTable>;
/** Content of a row; number and hashes are added when it is written. */
export type AuditEntry = Omit<AuditRow, 'id' | 'hash' | 'previous_hash'>;

/** Absent = any. */
export interface AuditFilter {
  /** Prefix of the endpoint's id: `channel.` */
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  /** Epoch seconds, both included. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

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
    page: async (
      offset: number,
      limit: number,
      { action, actor, target, from, to }: AuditFilter = {},
    ): Promise<{ rows: AuditRow[]; total: number }> => {
      let wanted = query.selectFrom('audit');
      if (action !== undefined) wanted = wanted.where(startsWith(dialect, 'action', action));
      if (actor !== undefined) wanted = wanted.where('actor', '=', actor);
      if (target !== undefined) wanted = wanted.where('target', '=', target);
      if (from !== undefined) wanted = wanted.where('at', '>=', from);
      if (to !== undefined) wanted = wanted.where('at', '<=', to);
      const rows = await wanted.selectAll().orderBy('id', 'desc').offset(offset).limit(limit).execute();
      const { total } = await wanted.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
      return { rows, total };
    },
    find: (id: number): Promise<AuditRow | undefined> =>
      query.selectFrom('audit').selectAll().where('id', '=', id).executeTakeFirst(),
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
