/** Numbers and hashes of invoices: given in the transaction that writes the payment, so that no number is left out or given twice. */
import { createHash } from 'node:crypto';
import { type Invoice, type InvoiceDraft, type InvoiceKind, invoiceNumber, yearOf } from '../../contract/invoice.ts';

/** The last one of its kind and year. */
export interface LastInvoice {
  /** 0 = there is none. */
  readonly number: number;
  readonly hash: string;
}

export const noInvoice: LastInvoice = { number: 0, hash: '' };

/** A row of `invoices`. */
export interface InvoiceEntry {
  readonly kind: InvoiceKind;
  readonly year: number;
  readonly number: number;
  readonly name: string;
  readonly userId: number;
  readonly tradeNo: string;
  readonly issuedAt: number;
  /** JSON of an `Invoice`. */
  readonly document: string;
  readonly hash: string;
}

/** SHA-256 in hex over the hash of the one before and the text of this one: none of a year can be changed alone. */
const invoiceHash = (before: string, document: string): string =>
  createHash('sha256').update(`${before}\n${document}`).digest('hex');

export function issued(draft: InvoiceDraft, last: LastInvoice): InvoiceEntry {
  const { kind, trade_no: tradeNo, issued_at: issuedAt, buyer } = draft;
  const year = yearOf(draft);
  const number = last.number + 1;
  const name = invoiceNumber(kind, year, number);
  const document = JSON.stringify({ ...draft, number: name } satisfies Invoice);
  return {
    ...{ kind, year, number, name, userId: buyer.user_id, tradeNo, issuedAt },
    document,
    hash: invoiceHash(last.hash, document),
  };
}

export interface StoredInvoice {
  readonly kind: string;
  readonly year: number;
  readonly number: number;
  readonly name: string;
  readonly document: string;
  readonly hash: string;
}

/** @param rows by kind, year and number. @returns what is wrong, in words: a gap, or a text that is not what was frozen. */
export function wrongInvoices(rows: Iterable<StoredInvoice>): string[] {
  const wrong: string[] = [];
  let series = '';
  let last = noInvoice;
  for (const { kind, year, number, name, document, hash } of rows) {
    if (series !== `${kind} ${year}`) last = noInvoice;
    series = `${kind} ${year}`;
    if (number !== last.number + 1) wrong.push(`${name}: ${number} after ${last.number}`);
    if (invoiceHash(last.hash, document) !== hash) wrong.push(`${name}: not as it was made`);
    last = { number, hash };
  }
  return wrong;
}
