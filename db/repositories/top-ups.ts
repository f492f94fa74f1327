/** Orders of the online top-up and the inbox of payment callbacks. An order is paid by the ledger alone. */
import type { ExpressionBuilder, Insertable, Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { CallbacksTable, Schema, TopUpsTable } from '../schema/tables.ts';

export type TopUpRow = Selectable<TopUpsTable> & {
  /** null = no such user. */
  readonly username: string | null;
  /** Number of its invoice; null = none. */
  readonly invoice: string | null;
};
export type CallbackRow = Selectable<CallbacksTable>;

export interface TopUpFilter {
  readonly userId?: number | undefined;
  /** Order number, username or user id. */
  readonly keyword?: string | undefined;
  readonly status?: string | undefined;
}

/** Orders of one status and currency. */
export interface TopUpSum {
  readonly status: string;
  readonly currency: string;
  readonly orders: number;
  readonly quota: number;
  readonly money: number;
}

export function createTopUpsRepository({ query }: Database) {
  const withUser = () => query.selectFrom('top_ups').leftJoin('users', 'users.id', 'top_ups.user_id');
  const invoiceOf = (eb: ExpressionBuilder<Schema, 'top_ups'>) =>
    eb
      .selectFrom('invoices')
      .select('invoices.name')
      .whereRef('invoices.trade_no', '=', 'top_ups.trade_no')
      .where('invoices.kind', '=', 'invoice')
      .as('invoice');
  const orders = ({ userId, keyword = '', status = '' }: TopUpFilter) =>
    withUser()
      .$if(userId !== undefined, (q) => q.where('top_ups.user_id', '=', userId as number))
      .$if(keyword !== '', (q) =>
        q.where((eb) =>
          eb.or([
            eb('top_ups.trade_no', '=', keyword),
            eb('users.username', '=', keyword),
            ...(/^\d{1,15}$/.test(keyword) ? [eb('top_ups.user_id', '=', Number(keyword))] : []),
          ]),
        ),
      )
      .$if(status !== '', (q) => q.where('top_ups.status', '=', status));
  const callbacks = (outcome: string) =>
    query.selectFrom('callbacks').$if(outcome !== '', (q) => q.where('outcome', '=', outcome));

  return {
    create: async (row: Insertable<TopUpsTable>): Promise<void> => {
      await query.insertInto('top_ups').values(row).execute();
    },
    find: (tradeNo: string): Promise<TopUpRow | undefined> =>
      withUser()
        .selectAll('top_ups')
        .select('users.username')
        .select(invoiceOf)
        .where('trade_no', '=', tradeNo)
        .executeTakeFirst(),
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
      const rows = await orders(filter)
        .selectAll('top_ups')
        .select('users.username')
        .select(invoiceOf)
        .orderBy('top_ups.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await orders(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** Sums of all orders that are found, whichever page is shown. */
    sums: async (filter: TopUpFilter): Promise<TopUpSum[]> => {
      const rows = await orders(filter)
        .select(({ fn }) => [
          'top_ups.status',
          'top_ups.currency',
          fn.countAll<number>().as('orders'),
          fn.sum<number>('top_ups.quota').as('quota'),
          fn.sum<number>('top_ups.money').as('money'),
        ])
        .groupBy(['top_ups.status', 'top_ups.currency'])
        .orderBy('top_ups.status')
        .orderBy('top_ups.currency')
        .execute();
      // PostgreSQL and MySQL answer sums as text.
      return rows.map((row) => ({ ...row, quota: Number(row.quota), money: Number(row.money) }));
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
