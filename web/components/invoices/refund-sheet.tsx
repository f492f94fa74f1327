/** Notes that money was given back: takes the quota of it and makes the credit note. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { TopUpOrder } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { useRead } from '../../lib/read.ts';
import { CheckedForm } from '../checked-form.tsx';
import { FormFooter, TextField } from '../form.tsx';
import { Sheet } from '../overlay.tsx';
import { useForm } from '../use-form.ts';
import { Waiting } from '../waiting.tsx';

interface RefundSheetProps {
  readonly tradeNo: string;
  readonly onClose: () => void;
}

function RefundForm({ order, onClose }: { readonly order: TopUpOrder; readonly onClose: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { money, currency, refunded, trade_no } = order;
  const decimals = money.split('.')[1]?.length ?? 0;
  const left = (Number(money) - Number(refunded)).toFixed(decimals);
  const { field, ...form } = useForm(
    () => ({ money: left }),
    async (typed) => {
      await call('wallet.refund', { trade_no, money: typed.money.trim(), refunded });
      toast.success(t('invoices.refunded'));
      onClose();
      await client.invalidateQueries({ queryKey: ['invoices'] });
      await client.invalidateQueries({ queryKey: ['orders'] });
    },
    { topup_refund_amount: 'money', topup_refund_small: 'money', user_insufficient: 'money' },
  );
  const code = currency.toUpperCase();
  return (
    <Sheet
      title={t('invoices.refundTitle', { no: trade_no })}
      onClose={onClose}
      dirty={form.dirty}
      footer={
        <FormFooter
          form="refund-form"
          action={t('invoices.refundAction')}
          onClose={onClose}
          disabled={form.busy || Number(left) <= 0}
        />
      }
    >
      <CheckedForm id="refund-form" onSubmit={form.submit}>
        <p className="mb-4 text-ink-2">{t('invoices.refundText')}</p>
        {Number(left) <= 0 ? (
          <p>{t('invoices.nothingLeft')}</p>
        ) : (
          <TextField
            label={t('invoices.refundAmount', { currency: code })}
            help={t('invoices.refundHelp', { money: `${money} ${code}`, refunded: `${refunded} ${code}` })}
            inputMode="decimal"
            required
            {...field('money')}
          />
        )}
        <p role="alert" className="text-danger">
          {form.error}
        </p>
      </CheckedForm>
    </Sheet>
  );
}

export function RefundSheet({ tradeNo, onClose }: RefundSheetProps) {
  const { t } = useTranslation();
  const orders = useRead({
    queryKey: ['orders', 'one', tradeNo],
    queryFn: () => call('wallet.orders', { keyword: tradeNo, p: 1, page_size: 1 }),
  }).data;
  const order = orders?.items.find((one) => one.trade_no === tradeNo);
  if (order !== undefined) return <RefundForm order={order} onClose={onClose} />;
  return (
    <Sheet title={t('invoices.refundTitle', { no: tradeNo })} onClose={onClose}>
      <Waiting />
    </Sheet>
  );
}
