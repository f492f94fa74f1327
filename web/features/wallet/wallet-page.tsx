/** The reader's balance, redeeming a code, topping up online, invitations and own orders. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Card } from '../../components/card.tsx';
import { Empty } from '../../components/empty.tsx';
import { Field } from '../../components/form.tsx';
import { PageHead } from '../../components/page.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { ApiError, call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime, money } from '../../lib/format.ts';
import { useStatus } from '../../shell/status.ts';
import { TopUp } from './top-up.tsx';

type Order = Awaited<ReturnType<typeof call<'wallet.orders_self'>>>['items'][number];

export function WalletPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const status = useStatus().data;
  const [code, setCode] = useState('');
  const [error, setError] = useState('');
  const self = useQuery({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const invitation = useQuery({ queryKey: ['invitation'], queryFn: () => call('affiliate.code') }).data;
  const orders = useQuery({
    queryKey: ['orders'],
    queryFn: () => call('wallet.orders_self', { p: 1, page_size: 20 }),
  });
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ['self'] });
    await client.invalidateQueries({ queryKey: ['orders'] });
  };
  const redeem = async (event: FormEvent) => {
    event.preventDefault();
    if (code.trim() === '') return setError(t('wallet.needCode'));
    try {
      const quota = await call('redemption.redeem', { key: code.trim() });
      toast.success(t('wallet.redeemed'), { description: t('wallet.added', { usd: money(quota) }) });
      setCode('');
      setError('');
      await refresh();
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : t('wallet.failed'));
    }
  };
  const link = status?.top_up_link ?? '';
  const invite = `${location.origin}/register?aff=${invitation ?? ''}`;
  const columns: readonly Column<Order>[] = [
    { id: 'time', header: t('wallet.time'), key: true, cell: (row) => dateTime(row.create_time) },
    {
      id: 'no',
      header: t('wallet.tradeNo'),
      cell: (row) => <code className="font-mono text-[12px]">{row.trade_no}</code>,
    },
    { id: 'method', header: t('wallet.method'), cell: (row) => row.payment_method },
    { id: 'money', header: t('wallet.paid'), number: true, key: true, cell: (row) => row.money },
    { id: 'quota', header: t('wallet.credited'), number: true, key: true, cell: (row) => money(row.quota) },
    { id: 'status', header: t('users.status'), cell: (row) => row.status },
  ];

  return (
    <>
      <PageHead title={t('wallet.title')} />
      <div className="grid gap-3 px-5 pb-5 lg:grid-cols-2">
        <Card title={t('wallet.balance')}>
          <p className="text-[28px] leading-9 font-semibold">{money(self?.quota ?? 0)}</p>
          <p className="mt-1 text-ink-2">
            {t('wallet.used', { usd: money(self?.used_quota ?? 0), count: self?.request_count ?? 0 })}
          </p>
        </Card>
        <Card title={t('wallet.redeem')}>
          <form onSubmit={redeem} noValidate>
            <Field label={t('wallet.code')} error={error === '' ? undefined : error}>
              {(ids) => (
                <input
                  {...ids}
                  className="field font-mono"
                  value={code}
                  onChange={(event) => setCode(event.target.value)}
                  autoComplete="off"
                />
              )}
            </Field>
            <div className="flex gap-2">
              <button type="submit" className="button button-primary">
                {t('wallet.redeemAction')}
              </button>
              <button
                type="button"
                className="button"
                onClick={() =>
                  link === '' ? toast.error(t('wallet.noLink')) : window.open(link, '_blank', 'noopener')
                }
              >
                {t('wallet.getCode')}
              </button>
            </div>
          </form>
        </Card>
        <Card title={t('wallet.online')}>
          <TopUp onPaid={refresh} />
        </Card>
        <Card title={t('wallet.invite')}>
          <p className="mb-2 text-ink-2">
            {t('wallet.invited', {
              count: self?.aff_count ?? 0,
              waiting: money(self?.aff_quota ?? 0),
              total: money(self?.aff_history_quota ?? 0),
            })}
          </p>
          <code className="mb-3 block rounded-2 bg-sunken p-2 font-mono text-[12px] break-all">{invite}</code>
          <div className="flex gap-2">
            <button type="button" className="button" onClick={() => copyOrShow(invite)}>
              {t('app.copy')}
            </button>
            <button
              type="button"
              className="button"
              disabled={(self?.aff_quota ?? 0) === 0}
              onClick={async () => {
                await attempt(
                  () => call('affiliate.transfer', { quota: self?.aff_quota ?? 0 }),
                  t('wallet.transferred'),
                );
                await refresh();
              }}
            >
              {t('wallet.transfer')}
            </button>
          </div>
        </Card>
      </div>
      <h2 className="px-5 pb-2 font-semibold">{t('wallet.orders')}</h2>
      <DataTable
        caption={t('wallet.orders')}
        rows={orders.data?.items ?? []}
        columns={columns}
        loading={orders.isPending}
        empty={<Empty text={t('wallet.noOrders')} />}
      />
    </>
  );
}
