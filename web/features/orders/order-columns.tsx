/** What the table of orders shows of each. */
import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { TopUpOrder } from '../../../server/contract/entities.ts';
import { creditedColumn, invoiceColumn, OrderState } from '../../components/order-state.tsx';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { minuteTime } from '../../lib/format.ts';
import type { Money } from '../../lib/money.ts';
import { methodName } from '../../lib/payment-method.ts';

export interface OrderColumnsOptions {
  readonly t: TFunction;
  readonly money: Money;
  readonly mayCredit: boolean;
  /** An order that is shown has an invoice. */
  readonly invoiced: boolean;
  readonly onCredit: (order: TopUpOrder) => void;
  readonly onRefund: (order: TopUpOrder) => void;
}

export function orderColumns({
  t,
  money,
  mayCredit,
  invoiced,
  onCredit,
  onRefund,
}: OrderColumnsOptions): readonly Column<TopUpOrder>[] {
  return [
    { id: 'created', header: t('orders.created'), key: true, cell: (row) => minuteTime(row.create_time) },
    {
      id: 'user',
      header: t('orders.user'),
      key: true,
      lead: true,
      cell: (row) => <Link href={`/user/${row.user_id}`}>{row.username || row.user_id}</Link>,
    },
    {
      id: 'no',
      from: 1024,
      header: t('wallet.tradeNo'),
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'method', header: t('wallet.method'), from: 1024, cell: (row) => methodName(t, row.payment_method) },
    {
      id: 'money',
      header: t('wallet.paid'),
      number: true,
      key: true,
      cell: (row) => (
        <span className={row.status === 'success' ? '' : 'text-ink-3'}>
          {`${row.money} ${row.currency.toUpperCase()}`}
        </span>
      ),
    },
    creditedColumn(t, money),
    {
      id: 'finished',
      from: 1280,
      header: t('orders.finished'),
      cell: (row) => (row.complete_time === 0 ? <span className="text-ink-3">–</span> : minuteTime(row.complete_time)),
    },
    {
      id: 'status',
      header: t('orders.status'),
      key: true,
      end: true,
      cell: (row) => <OrderState state={row.status} />,
    },
    ...(invoiced ? [{ ...invoiceColumn(t), from: 1440 as const }] : []),
    ...(mayCredit
      ? [
          {
            id: 'actions',
            header: t('app.actions'),
            key: true,
            cell: (row: TopUpOrder) => (
              <RowActions
                name={row.trade_no}
                quick={
                  row.status === 'success'
                    ? []
                    : [{ id: 'complete', content: t('orders.complete'), onPick: () => onCredit(row) }]
                }
                more={
                  row.status === 'success'
                    ? [{ id: 'refund', content: t('invoices.creditNote'), onPick: () => onRefund(row) }]
                    : []
                }
              />
            ),
          },
        ]
      : []),
  ];
}
