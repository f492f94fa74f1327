/** Invoices as a spreadsheet, for whoever keeps the books. Not for the console: what writes CSV needs more than a browser has. */
import type { Language } from './enum.ts';
import type { Invoice } from './invoice.ts';
import { amountText } from './invoice-text.ts';
import { textIn } from './language.ts';
import { csvLine } from './safe-text.ts';

interface CsvColumn {
  readonly zh: string;
  readonly en: string;
  readonly value: (invoice: Invoice) => string;
}

const money = (amount: number, { minor }: Invoice): string => amountText(amount, minor);

const columns: readonly CsvColumn[] = [
  { zh: '号码', en: 'Number', value: (one) => one.number },
  { zh: '更正', en: 'Corrects', value: (one) => one.corrects },
  { zh: '日期', en: 'Date', value: (one) => one.date },
  { zh: '订单', en: 'Order', value: (one) => one.trade_no },
  { zh: '支付方式', en: 'Method', value: (one) => one.method },
  { zh: '用户', en: 'User', value: (one) => one.buyer.username },
  { zh: '购买方', en: 'Buyer', value: (one) => one.buyer.name || one.buyer.username },
  { zh: '购买方地址', en: "Buyer's address", value: (one) => one.buyer.address.replaceAll('\n', ', ') },
  { zh: '购买方税号', en: "Buyer's tax number", value: (one) => one.buyer.tax_id },
  { zh: '币种', en: 'Currency', value: (one) => one.currency.toUpperCase() },
  { zh: '不含税', en: 'Net', value: (one) => money(one.net, one) },
  { zh: '税种', en: 'Tax', value: (one) => one.tax_name },
  { zh: '税率（%）', en: 'Tax rate (percent)', value: (one) => one.tax_rate },
  { zh: '税额', en: 'Tax amount', value: (one) => money(one.tax, one) },
  { zh: '总额', en: 'Total', value: (one) => money(one.gross, one) },
];

/** Begins with the mark by which spreadsheets take the text for what it is. */
export async function* invoicesCsv(invoices: AsyncIterable<Invoice>, language: Language): AsyncGenerator<string> {
  yield `\uFEFF${csvLine(columns.map((column) => textIn(column, language)))}\r\n`;
  for await (const invoice of invoices) yield `${csvLine(columns.map(({ value }) => value(invoice)))}\r\n`;
}
