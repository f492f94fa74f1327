/** An invoice line by line, for terminals and mails. */
import type { Language } from './enum.ts';
import type { Invoice } from './invoice.ts';
import { textIn } from './language.ts';
import { formatQuota } from './pricing/format.ts';

/** `7.30` of 730, `-7.30` of -730. @param minor smallest units in one. */
export function amountText(money: number, minor: number): string {
  const digits = String(minor).length - 1;
  return `${money < 0 ? '-' : ''}${Math.floor(Math.abs(money) / minor)}${
    digits === 0 ? '' : `.${String(Math.abs(money) % minor).padStart(digits, '0')}`
  }`;
}

/** @returns label and value; the lines of an address are apart by line breaks. */
export function invoiceLines(
  invoice: Invoice,
  language: Language,
): readonly (readonly [label: string, value: string])[] {
  const { kind, seller, buyer, currency, minor, gross, net, tax, tax_name: taxName, tax_rate: rate } = invoice;
  const say = (zh: string, en: string): string => textIn({ zh, en }, language);
  const money = (amount: number): string => `${amountText(amount, minor)} ${currency.toUpperCase()}`;
  const party = (
    name: string,
    { address, tax_id: id }: { readonly address: string; readonly tax_id: string },
  ): string =>
    [name, address, ...(id === '' ? [] : [`${say('税号', 'Tax number')} ${id}`])]
      .filter((one) => one !== '')
      .join('\n');
  const { quota, quota_per_unit: quotaPerUnit, in_currency: inCurrency } = invoice;
  const credit = formatQuota(Math.abs(quota), { inCurrency, quotaPerUnit }, 'short');
  return [
    [kind === 'invoice' ? say('发票', 'Invoice') : say('红字发票', 'Credit note'), invoice.number],
    ...(invoice.corrects === '' ? [] : [[say('更正', 'Corrects'), invoice.corrects] as const]),
    [say('日期', 'Date'), invoice.date],
    [say('开票方', 'Seller'), party(seller.name, seller)],
    [say('购买方', 'Buyer'), party(buyer.name === '' ? buyer.username : buyer.name, buyer)],
    [say('订单', 'Order'), invoice.trade_no],
    [say('内容', 'For'), say(`账户充值 ${credit}`, `Account credit of ${credit}`)],
    ...(rate === ''
      ? []
      : ([
          [say('不含税', 'Net'), money(net)],
          [`${taxName} ${rate}%`, money(tax)],
        ] as const)),
    [kind === 'invoice' ? say('已付', 'Paid') : say('退还', 'Given back'), money(gross)],
    ...(invoice.note === '' ? [] : [[say('附注', 'Note'), invoice.note] as const]),
  ];
}
