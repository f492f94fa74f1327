import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TopUpOrder } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enum.ts';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SearchField } from '../../components/filters.tsx';
import { RefundSheet } from '../../components/invoices/refund-sheet.tsx';
import { states } from '../../components/order-state.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { Pager, usePageState } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney } from '../../lib/money.ts';
import { useList } from '../../lib/read.ts';
import { useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { orderColumns } from './order-columns.tsx';
import { OrderSums } from './order-sums.tsx';

export function OrderTable() {
  const { t } = useTranslation();
  const money = useMoney();
  const client = useQueryClient();
  const user = useUser();
  const url = useUrl();
  const [crediting, setCrediting] = useState<TopUpOrder | null>(null);
  const [refunding, setRefunding] = useState<TopUpOrder | null>(null);
  const pageState = usePageState();
  const { page, size } = pageState;
  const [keyword, status] = [url.get('q'), url.get('status')];
  const list = useList({
    queryKey: ['orders', 'all', page, size, keyword, status],
    queryFn: () => call('wallet.orders', { p: page, page_size: size, keyword, status }),
  });
  const columns = orderColumns({
    t,
    money,
    invoiced: list.data?.items.some(({ invoice }) => invoice !== '') ?? false,
    mayCredit: user?.role === Role.root,
    onCredit: setCrediting,
    onRefund: setRefunding,
  });
  return (
    <>
      <DataTable
        caption={t('orders.orders')}
        rows={list.data?.items ?? []}
        columns={columns}
        list={list}
        storeKey="orders-table-columns"
        blank={keyword === '' && status === '' && list.data?.total === 0}
        bar={
          <FilterBar
            filters={[
              {
                name: 'status',
                label: t('orders.status'),
                options: states.map((state) => [state, t(`orders.s.${state}`)]),
              },
            ]}
          >
            <SearchField
              slash
              className="h-7 w-56"
              label={t('orders.search')}
              value={keyword}
              onChange={(value) => url.set('q', value)}
            />
          </FilterBar>
        }
        header={list.data === undefined || list.data.total === 0 ? null : <OrderSums sums={list.data.sums} />}
        empty={<Empty text={t('orders.none')} />}
      />
      <Pager {...pageState} total={list.data?.total} />
      {refunding === null ? null : <RefundSheet tradeNo={refunding.trade_no} onClose={() => setRefunding(null)} />}
      {crediting === null ? null : (
        <Confirm
          title={t('orders.completeTitle', { no: crediting.trade_no })}
          text={t('orders.completeText', {
            quota: money(crediting.quota),
            user: crediting.username || crediting.user_id,
          })}
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
