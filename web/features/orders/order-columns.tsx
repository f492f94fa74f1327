/** What the table of orders shows of each. */
import type { TFunction } from 'i18next';
import type { TopUpOrder } from '../../../server/contract/entities.ts';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { dateTime } from '../../lib/format.ts';
import { methodName } from '../wallet/top-up.tsx';
import { OrderState } from './order-state.tsx';

export interface OrderColumnsOptions {
  readonly t: TFunction;
  readonly mayCredit: boolean;
  readonly onCredit: (order: TopUpOrder) => void;
}

export function orderColumns({ t, mayCredit, onCredit }: OrderColumnsOptions): readonly Column<TopUpOrder>[] {
  return [
    { id: 'created', header: t('orders.created'), cell: (row) => dateTime(row.create_time) },
    {
      id: 'no',
      header: t('wallet.tradeNo'),
      key: true,
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'user', header: t('orders.user'), number: true, cell: (row) => row.user_id },
    { id: 'method', header: t('wallet.method'), from: 1024, cell: (row) => methodName(t, row.payment_method) },
    {
      id: 'money',
      header: t('wallet.paid'),
      number: true,
      key: true,
      cell: (row) => `${row.money} ${row.currency.toUpperCase()}`,
    },
    { id: 'quota', header: t('wallet.credited'), number: true, amount: (row) => row.quota },
    {
      id: 'status',
      header: t('orders.status'),
      key: true,
      cell: (row) => <OrderState state={row.status} />,
    },
    {
      id: 'finished',
      from: 1280,
      header: t('orders.finished'),
      cell: (row) => (row.complete_time === 0 ? '–' : dateTime(row.complete_time)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      cell: (row) =>
        row.status === 'success' || !mayCredit ? null : (
          <RowActions
            name={row.trade_no}
            quick={[{ id: 'complete', content: t('orders.complete'), onPick: () => onCredit(row) }]}
          />
        ),
    },
  ];
}
