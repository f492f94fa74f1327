import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PaymentCallback } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { Pager, usePageState } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { dateTime } from '../../lib/format.ts';
import { useList } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';

const outcomes = ['new', 'credited', 'duplicate', 'unmatched', 'mismatch', 'ignored'] as const;
type Outcome = (typeof outcomes)[number];
const classes: Readonly<Record<Outcome, string>> = {
  new: 'status status-wait',
  credited: 'status',
  duplicate: 'status status-bad',
  unmatched: 'status status-bad',
  mismatch: 'status status-bad',
  ignored: 'status status-off',
};

export function CallbackTable() {
  const { t } = useTranslation();
  const url = useUrl();
  const [open, setOpen] = useState<PaymentCallback | null>(null);
  const pageState = usePageState();
  const { page, size } = pageState;
  const outcome = url.get('outcome');
  const list = useList({
    queryKey: ['callbacks', page, size, outcome],
    queryFn: () => call('wallet.callbacks', { p: page, page_size: size, outcome }),
  });
  const statusOf = (value: string) => (
    <span className={classes[value as Outcome] ?? 'status'}>{t(`orders.o.${value as Outcome}`)}</span>
  );
  const columns: readonly Column<PaymentCallback>[] = [
    { id: 'received', header: t('orders.received'), cell: (row) => dateTime(row.received_time) },
    { id: 'source', header: t('orders.source'), cell: (row) => row.source },
    {
      id: 'no',
      header: t('wallet.tradeNo'),
      key: true,
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'outcome', header: t('orders.outcome'), key: true, cell: (row) => statusOf(row.outcome) },
  ];
  return (
    <>
      <DataTable
        caption={t('orders.callbacks')}
        rows={list.data?.items ?? []}
        columns={columns}
        list={list}
        onOpen={setOpen}
        bar={
          <FilterBar
            filters={[
              {
                name: 'outcome',
                label: t('orders.outcome'),
                options: outcomes.map((name) => [name, t(`orders.o.${name}`)]),
              },
            ]}
          />
        }
        empty={<Empty text={t('orders.noCallbacks')} />}
      />
      <Pager {...pageState} total={list.data?.total} />
      {open === null ? null : (
        <Sheet title={open.trade_no} onClose={() => setOpen(null)}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
            <dt className="text-ink-3">{t('orders.outcome')}</dt>
            <dd>{statusOf(open.outcome)}</dd>
            <dt className="text-ink-3">{t('orders.event')}</dt>
            <dd className="font-mono text-[12px] break-all">{open.event_id}</dd>
            <dt className="text-ink-3">{t('orders.received')}</dt>
            <dd>{dateTime(open.received_time)}</dd>
          </dl>
          <h3 className="mt-4 mb-1 text-ink-3">{t('orders.content')}</h3>
          <pre className="rounded-2 bg-sunken p-3 font-mono text-[12px] break-all whitespace-pre-wrap">{open.body}</pre>
        </Sheet>
      )}
    </>
  );
}
