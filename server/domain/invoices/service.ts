/** Invoices: what the ledger is to write with a payment or a refund, and what it has written. */
import type { Database } from '../../../db/open.ts';
import { createInvoicesRepository, type InvoiceFilter, type InvoiceRow } from '../../../db/repositories/invoices.ts';
import type { TopUpRow } from '../../../db/repositories/top-ups.ts';
import { localDay } from '../../contract/budgets.ts';
import { AppError } from '../../contract/errors.ts';
import {
  type Buyer,
  type Invoice,
  type InvoiceDraft,
  type InvoiceRow as InvoiceView,
  noBuyer,
  quotaRefunded,
  taxParts,
} from '../../contract/invoice.ts';
import type { OptionsService } from '../options/service.ts';
import { moneyText } from '../wallet/quote.ts';
import { minorUnits } from '../wallet/stripe.ts';

/** Characters of a name or a tax number, and of an address. */
const maxLine = 200;
const maxAddress = 600;

/** The day by the site's calendar, `2026-11-29`. @param at epoch seconds. */
const dateIn = (zone: string, at: number): string =>
  new Date(localDay(at, zone) * 86_400_000).toISOString().slice(0, 10);

/** What was paid, net and tax of it; without a rate no tax is named and all is net. */
const partsOf = (gross: number, rate: string) =>
  rate === '' ? { gross, net: gross, tax: 0 } : { gross, ...taxParts(gross, Number(rate)) };

export type InvoicesService = ReturnType<typeof createInvoices>;

export function createInvoices(deps: {
  readonly database: Database;
  readonly options: OptionsService;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { options } = deps;
  const repository = createInvoicesRepository(deps.database);

  const buyerOf = async (userId: number): Promise<Buyer> => {
    const row = await repository.buyer(userId);
    return row === undefined ? noBuyer : { name: row.name, address: row.address, tax_id: row.tax_id };
  };

  const seller = (): Invoice['seller'] => ({
    name: options.get('invoice.seller_name').trim(),
    address: options.get('invoice.seller_details').join('\n'),
    tax_id: options.get('invoice.seller_tax_id').trim(),
  });

  /** @throws AppError not_found */
  const stored = async (number: string): Promise<InvoiceRow> => {
    const row = await repository.find(number.trim().toUpperCase());
    if (row === undefined) throw new AppError('not_found', { what: `invoice ${number}` });
    return row;
  };

  return {
    /** Of an order that is about to be paid. @returns undefined where the site names no seller. */
    async draft(
      order: TopUpRow,
      user: { readonly id: number; readonly username: string },
      at: number,
    ): Promise<InvoiceDraft | undefined> {
      const from = seller();
      if (from.name === '') return undefined;
      const rate = options.get('invoice.tax_rate');
      const taxRate = rate === 0 ? '' : String(rate);
      return {
        kind: 'invoice',
        issued_at: at,
        date: dateIn(options.get('invoice.time_zone'), at),
        corrects: '',
        trade_no: order.trade_no,
        method: order.method,
        seller: from,
        buyer: { ...(await buyerOf(user.id)), user_id: user.id, username: user.username },
        currency: order.currency,
        minor: minorUnits(order.currency),
        ...partsOf(order.money, taxRate),
        tax_name: taxRate === '' ? '' : options.get('invoice.tax_name').trim(),
        tax_rate: taxRate,
        quota: order.quota,
        quota_per_unit: options.get('QuotaPerUnit'),
        in_currency: options.get('DisplayInCurrencyEnabled'),
        note: options.get('invoice.note').trim(),
      };
    },
    /**
     * Corrects an order's invoice by what is given back: with its seller, buyer and tax as they were, and a note of its own.
     * @param refunded of the order's price, in all. @returns null where the order has no invoice.
     */
    async creditDraft(order: TopUpRow, refunded: number, at: number): Promise<InvoiceDraft | null> {
      const row = await repository.ofOrder(order.trade_no);
      if (row === undefined) return null;
      const { number, ...invoice } = JSON.parse(row.document) as Invoice;
      const [before, after] = [partsOf(order.refunded, invoice.tax_rate), partsOf(refunded, invoice.tax_rate)];
      const taken = (sum: number): number => quotaRefunded(order.quota, order.money, sum);
      return {
        ...invoice,
        kind: 'credit_note',
        issued_at: at,
        date: dateIn(options.get('invoice.time_zone'), at),
        corrects: number,
        gross: before.gross - after.gross,
        net: before.net - after.net,
        tax: before.tax - after.tax,
        quota: taken(order.refunded) - taken(refunded),
        // What an invoice says of a payment is not true of money that is given back.
        note: options.get('invoice.credit_note').trim(),
      };
    },
    /** Whose it is. @throws AppError not_found */
    ownerOf: async (number: string): Promise<number> => (await stored(number)).user_id,
    /** The invoice as it was made. @throws AppError not_found */
    get: async (number: string): Promise<Invoice> => JSON.parse((await stored(number)).document) as Invoice,
    /** @param page 1-based. */
    async page(filter: InvoiceFilter, page: number, size: number) {
      const { rows, total } = await repository.page(filter, (page - 1) * size, size);
      return { items: rows.map(viewOf), page, page_size: size, total };
    },
    buyer: buyerOf,
    /** As invoices name it from now on; without a name there are none. */
    seller,
    /** Line by line, newest first: for a spreadsheet. */
    async *export(filter: InvoiceFilter): AsyncGenerator<Invoice> {
      const size = 500;
      for (let before: number | undefined; ; ) {
        const rows = await repository.older(filter, before, size);
        for (const row of rows) yield JSON.parse(row.document) as Invoice;
        before = rows.at(-1)?.id;
        if (rows.length < size || before === undefined) return;
      }
    },
    /** For invoices to come. @throws AppError params_invalid */
    async saveBuyer(userId: number, change: Partial<Buyer>): Promise<Buyer> {
      const before = await buyerOf(userId);
      const clean = (text: string): string =>
        text
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '')
          .join('\n');
      const buyer: Buyer = {
        name: clean(change.name ?? before.name),
        address: clean(change.address ?? before.address),
        tax_id: clean(change.tax_id ?? before.tax_id),
      };
      for (const [field, most] of [
        ['name', maxLine],
        ['tax_id', maxLine],
        ['address', maxAddress],
      ] as const)
        if (buyer[field].length > most) throw new AppError('params_invalid', { detail: `${field} > ${most}` });
      await repository.saveBuyer({ user_id: userId, ...buyer, updated_at: Math.floor(deps.now() / 1000) });
      return buyer;
    },
  };
}

function viewOf(row: InvoiceRow): InvoiceView {
  const { number, kind, date, corrects, trade_no, gross, minor, currency, issued_at } = JSON.parse(
    row.document,
  ) as Invoice;
  return {
    ...{ id: row.id, number, kind, date, corrects, trade_no, currency },
    user_id: row.user_id,
    username: row.username ?? '',
    money: `${gross < 0 ? '-' : ''}${moneyText(Math.abs(gross), minor)}`,
    issued_time: issued_at,
  };
}
