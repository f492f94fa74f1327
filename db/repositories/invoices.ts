/** Invoices and credit notes, which the ledger alone writes, and what they say of their buyers. */
import type { Selectable } from 'kysely';
import type { Database } from '../open.ts';
import type { Schema } from '../schema/tables.ts';

export type InvoiceRow = Selectable<Schema['invoices']> & {
  /** null = no such user. */
  readonly username: string | null;
};
type BuyerRow = Selectable<Schema['buyers']>;

export interface InvoiceFilter {
  readonly userId?: number | undefined;
  /** Number of the document or of its order, or a username. */
  readonly keyword?: string | undefined;
  readonly kind?: string | undefined;
  /** By the site's calendar, as in the number. */
  readonly year?: number | undefined;
}

export function createInvoicesRepository({ query }: Database) {
  const withUser = () => query.selectFrom('invoices').leftJoin('users', 'users.id', 'invoices.user_id');
  const found = ({ userId, keyword = '', kind = '', year }: InvoiceFilter) =>
    withUser()
      .$if(userId !== undefined, (q) => q.where('invoices.user_id', '=', userId as number))
      .$if(kind !== '', (q) => q.where('invoices.kind', '=', kind))
      .$if(year !== undefined, (q) => q.where('invoices.year', '=', year as number))
      .$if(keyword !== '', (q) =>
        q.where((eb) =>
          eb.or([
            eb('invoices.name', '=', keyword.toUpperCase()),
            eb('invoices.trade_no', '=', keyword),
            eb('users.username', '=', keyword),
          ]),
        ),
      );
  return {
    /** @param name `INV-2026-000001`. */
    find: (name: string): Promise<InvoiceRow | undefined> =>
      withUser().selectAll('invoices').select('users.username').where('invoices.name', '=', name).executeTakeFirst(),
    ofOrder: (tradeNo: string): Promise<InvoiceRow | undefined> =>
      withUser()
        .selectAll('invoices')
        .select('users.username')
        .where('invoices.trade_no', '=', tradeNo)
        .where('invoices.kind', '=', 'invoice')
        .executeTakeFirst(),
    /** Newest first. */
    page: async (
      filter: InvoiceFilter,
      offset: number,
      limit: number,
    ): Promise<{ rows: InvoiceRow[]; total: number }> => {
      const rows = await found(filter)
        .selectAll('invoices')
        .select('users.username')
        .orderBy('invoices.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute();
      const { total } = await found(filter)
        .select((eb) => eb.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { rows, total };
    },
    /** Newest first, below an id. */
    older: (filter: InvoiceFilter, before: number | undefined, limit: number): Promise<InvoiceRow[]> =>
      found(filter)
        .selectAll('invoices')
        .select('users.username')
        .$if(before !== undefined, (q) => q.where('invoices.id', '<', before as number))
        .orderBy('invoices.id', 'desc')
        .limit(limit)
        .execute(),
    buyer: (userId: number): Promise<BuyerRow | undefined> =>
      query.selectFrom('buyers').selectAll().where('user_id', '=', userId).executeTakeFirst(),
    saveBuyer: async (row: BuyerRow): Promise<void> => {
      const { user_id: _, ...fields } = row;
      await query
        .insertInto('buyers')
        .values(row)
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(fields))
        .execute();
    },
  };
}
