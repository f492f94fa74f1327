import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TopUpOrder } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime, money } from '../../lib/format.ts';
import { useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';

const states = ['pending', 'success', 'expired'] as const;
const looks: Readonly<Record<string, string>> = {
  pending: 'status status-wait',
  success: 'status',
  expired: 'status status-off',
};
const root = 100;

export function OrderTable() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const user = useUser();
  const url = useUrl();
  const [crediting, setCrediting] = useState<TopUpOrder | null>(null);
  const { page } = url;
  const pageSize = Number(url.get('size')) || rememberedSize();
  const [keyword, status] = [url.get('q'), url.get('status')];
  const list = useQuery({
    queryKey: ['orders', 'all', page, pageSize, keyword, status],
    queryFn: () => call('wallet.orders', { p: page, page_size: pageSize, keyword, status }),
    placeholderData: keepPreviousData,
  });
  const columns: readonly Column<TopUpOrder>[] = [
    { id: 'created', header: t('orders.created'), cell: (row) => dateTime(row.create_time) },
    {
      id: 'no',
      header: t('wallet.tradeNo'),
      key: true,
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'user', header: t('orders.user'), number: true, cell: (row) => row.user_id },
    { id: 'method', header: t('wallet.method'), cell: (row) => row.payment_method },
    {
      id: 'money',
      header: t('wallet.paid'),
      number: true,
      key: true,
      cell: (row) => `${row.money} ${row.currency.toUpperCase()}`,
    },
    { id: 'quota', header: t('wallet.credited'), number: true, cell: (row) => money(row.quota) },
    {
      id: 'status',
      header: t('orders.status'),
      key: true,
      cell: (row) => (
        <span className={looks[row.status] ?? 'status'}>{t(`orders.s.${row.status as (typeof states)[number]}`)}</span>
      ),
    },
    {
      id: 'finished',
      header: t('orders.finished'),
      cell: (row) => (row.complete_time === 0 ? '–' : dateTime(row.complete_time)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      cell: (row) =>
        row.status === 'success' || user?.role !== root ? null : (
          <button type="button" className="button" onClick={() => setCrediting(row)}>
            {t('orders.complete')}
          </button>
        ),
    },
  ];
  return (
    <>
      <DataTable
        caption={t('orders.orders')}
        rows={list.data?.items ?? []}
        columns={columns}
        loading={list.isPending}
        storeKey="orders-table-columns"
        bar={
          <>
            <input
              type="search"
              data-key="/"
              className="field h-7 w-56"
              placeholder={t('orders.search')}
              aria-label={t('orders.search')}
              value={keyword}
              onChange={(event) => url.set('q', event.target.value)}
            />
            <select
              className="field h-7 w-auto"
              aria-label={t('orders.status')}
              value={status}
              onChange={(event) => url.set('status', event.target.value)}
            >
              <option value="">{t('orders.all')}</option>
              {states.map((state) => (
                <option key={state} value={state}>
                  {t(`orders.s.${state}`)}
                </option>
              ))}
            </select>
          </>
        }
        empty={<Empty text={t('orders.none')} command="gateway payment list" />}
      />
      <Pager
        page={page}
        size={pageSize}
        total={list.data?.total ?? 0}
        onPage={(next) => url.set('p', String(next))}
        onSize={(size) => url.set('size', String(size))}
      />
      {crediting === null ? null : (
        <Confirm
          title={t('orders.completeTitle', { no: crediting.trade_no })}
          text={t('orders.completeText', { quota: money(crediting.quota), user: crediting.user_id })}
          action={t('orders.complete')}
          onClose={() => setCrediting(null)}
          onConfirm={async () => {
            const { trade_no } = crediting;
            setCrediting(null);
            await attempt(() => call('wallet.complete', { trade_no }), t('orders.completed'));
            await client.invalidateQueries({ queryKey: ['orders'] });
          }}
        />
      )}
    </>
  );
}
