/** Invoices of paid orders and the credit notes that correct them: documents that are frozen when they are made. Pure. */
import * as z from 'zod/mini';
import { roundDivide, scale, toScaled } from './pricing/decimal.ts';

const int = z.int();
export const invoiceKinds = ['invoice', 'credit_note'] as const;
export type InvoiceKind = (typeof invoiceKinds)[number];

/** What an invoice says of whoever pays; an empty text says nothing. */
export const buyerShape = z.object({
  /** Name of the person or the company. */
  name: z.string(),
  /** Lines of it are apart by line breaks. */
  address: z.string(),
  tax_id: z.string(),
});
export type Buyer = z.infer<typeof buyerShape>;
export const noBuyer: Buyer = { name: '', address: '', tax_id: '' };

/** The document as it was made; its text is what the hash covers. */
export const invoiceShape = z.object({
  kind: z.enum(invoiceKinds),
  /** `INV-2026-000001`, of a credit note `CN-2026-000001`: without a gap in each year. */
  number: z.string(),
  /** Epoch seconds, and the day by the site's calendar: `2026-11-29`. */
  issued_at: int,
  date: z.string(),
  /** Number of the invoice that a credit note corrects; '' = an invoice. */
  corrects: z.string(),
  trade_no: z.string(),
  /** `epay:alipay`, `stripe`. */
  method: z.string(),
  seller: z.object({ name: z.string(), address: z.string(), tax_id: z.string() }),
  buyer: z.object({ ...buyerShape.shape, user_id: int, username: z.string() }),
  /** Lower case: `usd`. */
  currency: z.string(),
  /** Smallest units of the currency in one. */
  minor: int,
  /** What was paid, tax included, and its parts, in smallest units; negative on a credit note. */
  gross: int,
  net: int,
  tax: int,
  /** '' = no tax is named. */
  tax_name: z.string(),
  /** Percent as it was set: `19`; '' = no tax is named. */
  tax_rate: z.string(),
  /** Credited, or taken back, with it. */
  quota: int,
  quota_per_unit: z.number(),
  in_currency: z.boolean(),
  /** At the foot. */
  note: z.string(),
});
export type Invoice = z.infer<typeof invoiceShape>;

/** Before it has its number: the ledger gives it one while it writes the payment. */
export type InvoiceDraft = Omit<Invoice, 'number'>;

const prefixes: Readonly<Record<InvoiceKind, string>> = { invoice: 'INV', credit_note: 'CN' };

export const invoiceNumber = (kind: InvoiceKind, year: number, number: number): string =>
  `${prefixes[kind]}-${year}-${String(number).padStart(6, '0')}`;

/** Year by the site's calendar. */
export const yearOf = ({ date }: Pick<InvoiceDraft, 'date'>): number => Number(date.slice(0, 4));

/**
 * Parts of a price that includes its tax: net is gross · 100 / (100 + rate), rounded half up, and the tax is the rest, so that
 * both always add up to what was paid.
 * @param gross smallest units, not negative. @param rate percent.
 */
export function taxParts(gross: number, rate: number): { readonly net: number; readonly tax: number } {
  const hundred = 100n * scale;
  const net = Number(roundDivide(BigInt(gross) * hundred, hundred + toScaled(rate)));
  return { net, tax: gross - net };
}

/**
 * What is taken back of the credited quota when so much of the price has been given back in all: in proportion, rounded up, so that parts add up to
 * the whole.
 * @param refunded of `money`, both in smallest units.
 */
export const quotaRefunded = (quota: number, money: number, refunded: number): number =>
  money === 0 ? quota : Number((BigInt(quota) * BigInt(refunded) + BigInt(money) - 1n) / BigInt(money));

/** One of a list. */
export const invoiceRowShape = z.object({
  id: int,
  number: z.string(),
  kind: z.enum(invoiceKinds),
  user_id: int,
  /** '' = the user no longer exists. */
  username: z.string(),
  trade_no: z.string(),
  corrects: z.string(),
  date: z.string(),
  /** `7.30`, of a credit note `-7.30`. */
  money: z.string(),
  currency: z.string(),
  issued_time: int,
});
export type InvoiceRow = z.infer<typeof invoiceRowShape>;
