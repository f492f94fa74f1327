/** Online top-up: the amount, what it costs, and the way to the payment page. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { call, isAnswered } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { useStatus } from '../../shell/status.ts';

type Method = 'zfb' | 'wx' | 'stripe';

/** The payment gateway wants its fields as a form that the browser sends. */
function submitForm(address: string, fields: Readonly<Record<string, unknown>>): void {
  const form = document.createElement('form');
  form.method = 'POST';
  form.action = address;
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input');
    input.type = 'hidden';
    input.name = name;
    input.value = String(value);
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}

export function TopUp({ onPaid }: { readonly onPaid: () => void }) {
  const { t } = useTranslation();
  const status = useStatus().data;
  const least = Math.max(1, status?.min_topup ?? 1);
  const [amount, setAmount] = useState(String(least));
  const [method, setMethod] = useState<Method | null>(null);
  const [error, setError] = useState('');
  const wanted = Number.parseInt(amount, 10) || 0;
  const epay = status?.enable_online_topup === true;
  const stripe = status?.enable_stripe_topup === true;
  const cost = useAside({
    queryKey: ['amount', wanted],
    queryFn: () => call('wallet.amount', { amount: wanted }),
    enabled: epay && wanted >= least,
  }).data;

  const choose = (chosen: Method) => {
    if (chosen === 'stripe' ? !stripe : !epay) return setError(t('wallet.offline'));
    if (wanted < least) return setError(t('wallet.tooLittle', { least }));
    setError('');
    setMethod(chosen);
  };
  const pay = async (chosen: Method) => {
    setMethod(null);
    const answer = (await (chosen === 'stripe'
      ? call('wallet.stripe_pay', { amount: wanted })
      : call('wallet.pay', { amount: wanted, payment_method: chosen })
    ).catch((failure: unknown) => ({
      message: isAnswered(failure) ? failure.message : t('wallet.failed'),
    }))) as {
      message?: string;
      data?: unknown;
      url?: string;
    };
    if (answer.message !== 'success') return setError(String(answer.data ?? answer.message ?? t('wallet.failed')));
    if (typeof answer.url === 'string' && typeof answer.data === 'object' && answer.data !== null)
      submitForm(answer.url, answer.data as Record<string, unknown>);
    else if (typeof answer.data === 'string') location.assign(answer.data);
    onPaid();
  };

  return (
    <>
      <Field
        label={t('wallet.amount')}
        help={
          cost?.message === 'success' ? t('wallet.costs', { money: String(cost.data) }) : t('wallet.least', { least })
        }
        error={error === '' ? undefined : error}
      >
        {(ids) => (
          <input
            {...ids}
            className="field"
            inputMode="numeric"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button" onClick={() => choose('zfb')}>
          {t('wallet.alipay')}
        </button>
        <button type="button" className="button" onClick={() => choose('wx')}>
          {t('wallet.wechat')}
        </button>
        {stripe ? (
          <button type="button" className="button" onClick={() => choose('stripe')}>
            {t('wallet.stripe')}
          </button>
        ) : null}
      </div>
      {method === null ? null : (
        <Confirm
          title={t('wallet.confirmTitle')}
          text={t('wallet.confirmText', { amount: wanted, money: String(cost?.data ?? '–') })}
          action={t('wallet.payNow')}
          onClose={() => setMethod(null)}
          onConfirm={() => void pay(method)}
        />
      )}
    </>
  );
}
