/** The reader's balance, redeeming a code, topping up online, invitations and own orders. */

import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Empty } from '../../components/empty.tsx';
import { Boundary } from '../../components/failure.tsx';
import { InvoiceTable } from '../../components/invoices/invoice-table.tsx';
import { creditedColumn, invoiceColumn, OrderState } from '../../components/order-state.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, usePageState } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { call } from '../../lib/api.ts';
import { minuteTime } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { methodName } from '../../lib/payment-method.ts';
import { useList } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';
import { Balance } from './balance.tsx';
import { Invite } from './invite.tsx';
import { Redemption } from './redemption.tsx';
import { TopUp, usePaymentMethods } from './top-up.tsx';

type Order = Awaited<ReturnType<typeof call<'wallet.orders_self'>>>['items'][number];

/** One way to top up, beside the balance. */
const TopUpSection = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section aria-label={title} className="border-line max-lg:border-t lg:border-l">
    <h2 className="mb-2 font-semibold">{title}</h2>
    {children}
  </section>
);

function OwnOrders() {
  const { t } = useTranslation();
  const money = useMoney();
  const pageState = usePageState();
  const { page, size } = pageState;
  const orders = useList({
    queryKey: ['orders', page, size],
    queryFn: () => call('wallet.orders_self', { p: page, page_size: size }),
  });
  const columns: readonly Column<Order>[] = [
    { id: 'time', header: t('wallet.time'), key: true, cell: (row) => minuteTime(row.create_time) },
    {
      id: 'no',
      header: t('wallet.tradeNo'),
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'method', header: t('wallet.method'), cell: (row) => methodName(t, row.payment_method) },
    ...(orders.data?.items.some(({ invoice }) => invoice !== '') ? [invoiceColumn(t)] : []),
    { id: 'status', header: t('users.status'), key: true, cell: (row) => <OrderState state={row.status} /> },
    {
      id: 'money',
      header: t('wallet.paid'),
      number: true,
      key: true,
      cell: (row) => `${row.money} ${row.currency.toUpperCase()}`,
    },
    creditedColumn(t, money),
  ];

  return (
    <>
      <DataTable
        caption={t('wallet.orders')}
        rows={orders.data?.items ?? []}
        columns={columns}
        list={orders}
        empty={<Empty text={t('wallet.noOrders')} />}
      />
      <Pager {...pageState} total={orders.data?.total} />
    </>
  );
}

export function WalletPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const payable = usePaymentMethods().length > 0;
  const view = url.get('view') === 'invoices' ? 'invoices' : 'orders';
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ['self'] });
    await client.invalidateQueries({ queryKey: ['orders'] });
  };
  return (
    <>
      <PageHead title={t('wallet.title')} />
      {/* The balance, and the ways to top it up. */}
      <div
        className={`mx-5 mb-3 grid grid-cols-[minmax(0,1fr)] rounded-3 border border-line bg-surface [&>*]:min-w-0 [&>*]:px-4 [&>*]:py-3 ${payable ? 'lg:grid-cols-3' : 'lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]'}`}
      >
        <div>
          <Boundary>
            <Balance />
          </Boundary>
        </div>
        {payable ? (
          <TopUpSection title={t('wallet.online')}>
            <TopUp onPaid={refresh} />
          </TopUpSection>
        ) : null}
        <TopUpSection title={t('wallet.redeem')}>
          <Redemption onRedeemed={refresh} alone={!payable} />
        </TopUpSection>
      </div>
      <Boundary>
        <Invite onTransferred={refresh} />
      </Boundary>
      <Tabs
        label={t('wallet.orders')}
        value={view}
        tabs={[
          ['orders', t('wallet.orders')],
          ['invoices', t('invoices.title')],
        ]}
        onChange={(next) => url.set('view', next === 'orders' ? '' : next)}
      >
        {view === 'orders' ? (
          <OwnOrders />
        ) : (
          <div className="pt-3">
            <InvoiceTable of="self" />
          </div>
        )}
      </Tabs>
    </>
  );
}
