/** Orders of the online top-up and the inbox of payment callbacks. An order is paid by the ledger alone. */
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { CallbacksTable, TopUpsTable } from '../schema/tables.ts';

export type TopUpRow = Selectable<TopUpsTable>;
export type CallbackRow = Selectable<CallbacksTable>;

export interface TopUpFilter {
  readonly userId?: number | undefined;
  readonly keyword?: string | undefined;
  readonly status?: string | undefined;
}

export function createTopUpsRepository({ query }: Database) {
  const orders = ({ userId, keyword = '', status = '' }: TopUpFilter) =>
    query
      .selectFrom('top_ups')
      .$if(userId !== undefined, (q) => q.where('user_id', '=', userId ?? 0))
      .$if(keyword !== '', (q) => q.where('trade_no', '=', keyword))
      .$if(status !== '', (q) => q.where('status', '=', status));
  const callbacks = (outcome: string) =>
    query.selectFrom('callbacks').$if(outcome !== '', (q) => q.where('outcome', '=', outcome));

  return {
    create: async (row: Insertable<TopUpsTable>): Promise<void> => {
      await query.insertInto('top_ups').values(row).execute();
    },
    find: (tradeNo: string): Promise<TopUpRow | undefined> =>
      query.selectFrom('top_ups').selectAll().where('trade_no', '=', tradeNo).executeTakeFirst(),
    /** An order that has expired; a payment that arrives all the same still counts. */
    expire: async (tradeNo: string): Promise<void> => {
      await query
        .updateTable('top_ups')
        .set({ status: 'expired' })
        .where('trade_no', '=', tradeNo)
        .where('status', '=', 'pending')
        .execute();
    },
    expireOlder: async (createdBefore: number): Promise<void> => {
      await query
        .updateTable('top_ups')
        .set({ status: 'expired' })
        .where('status', '=', 'pending')
        .where('created_at', '<', createdBefore)
        .execute();
    },
    /** Newest first. */
    page: async (filter: TopUpFilter, offset: number, limit: number): Promise<{ rows: TopUpRow[]; total: number }> => {
      const rows = await orders(filter).selectAll().orderBy('id', 'desc').offset(offset).limit(limit).execute();
      const { total } = await orders(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** Keeps a callback; one that came before is found again. */
    receive: async (row: Omit<Insertable<CallbacksTable>, 'outcome'>): Promise<CallbackRow> => {
      await query
        .insertInto('callbacks')
        .values({ ...row, outcome: 'new' })
        .onConflict((conflict) => conflict.columns(['source', 'event_id']).doNothing())
        .execute();
      return query
        .selectFrom('callbacks')
        .selectAll()
        .where('source', '=', row.source)
        .where('event_id', '=', row.event_id)
        .executeTakeFirstOrThrow();
    },
    /** Callbacks kept but not worked on: the process ended in between. */
    pending: (): Promise<CallbackRow[]> => callbacks('new').selectAll().orderBy('id').execute(),
    finish: async (id: number, outcome: string): Promise<void> => {
      await query.updateTable('callbacks').set({ outcome }).where('id', '=', id).where('outcome', '=', 'new').execute();
    },
    callbackPage: async (
      outcome: string,
      offset: number,
      limit: number,
    ): Promise<{ rows: CallbackRow[]; total: number }> => {
      const rows = await callbacks(outcome).selectAll().orderBy('id', 'desc').offset(offset).limit(limit).execute();
      const { total } = await callbacks(outcome)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
  };
}
