/** Invoices and credit notes in a list: one's own, one user's, or everybody's. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Link, useLocation } from 'wouter';
import { type InvoiceRow, invoiceKinds } from '../../../server/contract/invoice.ts';
import { call } from '../../lib/api.ts';
import { download } from '../../lib/download.ts';
import { withThousands } from '../../lib/format.ts';
import { useList } from '../../lib/read.ts';
import { isRoot, useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { Empty } from '../empty.tsx';
import { FilterBar } from '../filter-bar.tsx';
import { SearchField } from '../filters.tsx';
import { Pager, usePageState } from '../pager.tsx';
import type { Column } from '../table/column.ts';
import { DataTable } from '../table/data-table.tsx';
import { RowActions } from '../table/row-actions.tsx';
import { RefundSheet } from './refund-sheet.tsx';

/** How many years back are offered. */
const maxYears = 10;

export const invoiceLink = (number: string): string => `/invoice?number=${encodeURIComponent(number)}`;

export function InvoiceTable({ of }: { readonly of: 'self' | 'all' }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const url = useUrl();
  const user = useUser();
  const [refunding, setRefunding] = useState<string | null>(null);
  const pageState = usePageState();
  const { page, size } = pageState;
  const all = of === 'all';
  const kind = invoiceKinds.find((one) => one === url.get('kind'));
  const year = Number(url.get('year')) || undefined;
  const keyword = all ? url.get('q') : '';
  const filter = { kind, year, ...(all ? { keyword } : {}) };
  const list = useList({
    queryKey: ['invoices', of, page, size, filter],
    queryFn: () => call(all ? 'invoice.list' : 'invoice.list_self', { p: page, page_size: size, ...filter }),
  });
  const thisYear = new Date().getFullYear();
  const exportCsv = () => {
    const given = Object.entries({ ...filter, ...(all ? { all: true } : {}) }).filter(
      ([, value]) => value !== undefined && value !== '',
    );
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    void download(`/api/invoice/export?${query}`, 'invoices.csv').catch((error: Error) => toast.error(error.message));
  };
  const columns: readonly Column<InvoiceRow>[] = [
    {
      id: 'number',
      header: t('invoices.number'),
      key: true,
      lead: true,
      cell: (row) => <Link href={invoiceLink(row.number)}>{row.number}</Link>,
    },
    { id: 'date', header: t('invoices.date'), key: true, cell: (row) => row.date },
    ...(all
      ? [
          {
            id: 'user',
            header: t('invoices.user'),
            key: true,
            cell: (row: InvoiceRow) => <Link href={`/user/${row.user_id}`}>{row.username || row.user_id}</Link>,
          },
        ]
      : []),
    {
      id: 'kind',
      from: 720,
      header: t('invoices.kind'),
      cell: (row) => t(`invoices.kinds.${row.kind}`),
    },
    {
      id: 'order',
      from: 1024,
      header: t('invoices.order'),
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    {
      id: 'corrects',
      from: 1280,
      header: t('invoices.corrects'),
      cell: (row) =>
        row.corrects === '' ? (
          <span className="text-ink-3">–</span>
        ) : (
          <Link href={invoiceLink(row.corrects)}>{row.corrects}</Link>
        ),
    },
    {
      id: 'money',
      header: t('invoices.amount'),
      number: true,
      key: true,
      end: true,
      cell: (row) => `${withThousands(row.money)} ${row.currency.toUpperCase()}`,
    },
    ...(all && isRoot(user)
      ? [
          {
            id: 'actions',
            header: t('app.actions'),
            key: true,
            cell: (row: InvoiceRow) => (
              <RowActions
                name={row.number}
                quick={[]}
                more={[
                  { id: 'open', content: t('invoices.open'), onPick: () => go(invoiceLink(row.number)) },
                  ...(row.kind === 'invoice'
                    ? [{ id: 'refund', content: t('invoices.creditNote'), onPick: () => setRefunding(row.trade_no) }]
                    : []),
                ]}
              />
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <DataTable
        caption={t('invoices.title')}
        rows={list.data?.items ?? []}
        columns={columns}
        list={list}
        storeKey={`invoices-${of}-table-columns`}
        blank={kind === undefined && year === undefined && keyword === '' && list.data?.total === 0}
        bar={
          <FilterBar
            filters={[
              {
                name: 'kind',
                label: t('invoices.kind'),
                options: invoiceKinds.map((one) => [one, t(`invoices.kinds.${one}`)]),
              },
              {
                name: 'year',
                label: t('invoices.year'),
                options: Array.from({ length: maxYears }, (_, back) => {
                  const one = String(thisYear - back);
                  return [one, one];
                }),
              },
            ]}
          >
            {all ? (
              <SearchField
                slash
                className="h-7 w-56 max-sm:basis-full"
                label={t('invoices.search')}
                value={keyword}
                onChange={(value) => url.set('q', value)}
              />
            ) : null}
            <button type="button" className="button" disabled={list.data?.total === 0} onClick={exportCsv}>
              {t('invoices.export')}
            </button>
          </FilterBar>
        }
        empty={
          <Empty text={t(all ? 'invoices.none' : 'invoices.noneOwn')}>
            {all && isRoot(user) ? (
              <Link href="/setting?tab=system&q=invoice.seller" className="button">
                {t('invoices.nameSeller')}
              </Link>
            ) : null}
          </Empty>
        }
      />
      <Pager {...pageState} total={list.data?.total} />
      {refunding === null ? null : <RefundSheet tradeNo={refunding} onClose={() => setRefunding(null)} />}
    </>
  );
}
