/** How far an order has come, a shape and a word; and what it credited. */
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { TopUpOrder } from '../../server/contract/entities.ts';
import type { Money } from '../lib/money.ts';
import { invoiceLink } from './invoices/invoice-table.tsx';
import type { Column } from './table/column.ts';

export const states = ['pending', 'success', 'expired'] as const;
const classes: Readonly<Record<string, string>> = {
  pending: 'status status-wait',
  success: 'status',
  expired: 'status status-off',
};

export function OrderState({ state }: { readonly state: string }) {
  const { t } = useTranslation();
  return <span className={classes[state] ?? 'status'}>{t(`orders.s.${state as (typeof states)[number]}`)}</span>;
}

/** Shown where an order has one: a site that makes none has no empty column. */
export const invoiceColumn = (t: TFunction): Column<TopUpOrder> => ({
  id: 'invoice',
  header: t('paper.invoice'),
  cell: ({ invoice }) =>
    invoice === '' ? <span className="text-ink-3">–</span> : <Link href={invoiceLink(invoice)}>{invoice}</Link>,
});

/** Nothing is credited before an order is paid: what is still awaited is grey, what is no longer awaited a dash. */
export const creditedColumn = (t: TFunction, money: Money): Column<TopUpOrder> => ({
  id: 'quota',
  header: t('wallet.credited'),
  number: true,
  key: true,
  amount: ({ status, quota }) => (status === 'success' ? quota : null),
  cell: ({ status, quota }) => <span className="text-ink-3">{status === 'pending' ? money(quota, 'cents') : '–'}</span>,
});
