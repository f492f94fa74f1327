/** Online top-up: the amount, what it costs, and the way to the payment page. */

import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import { numberIn } from '../../components/amount.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { call, isAnswered } from '../../lib/api.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { methodName } from '../../lib/payment-method.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { useStatus } from '../../lib/status.ts';

type Method = 'zfb' | 'wx' | 'stripe';
/** A larger payment is a slip of the finger. */
const maxAmount = 1_000_000_000;

/** As the family answers an order. */
interface PaymentResponse {
  readonly message?: string;
  readonly data?: string | Readonly<Record<string, string>> | { readonly pay_link: string };
  readonly url?: string | undefined;
}

/** A page to go to, or one that wants fields posted to it. */
interface PaymentPage {
  readonly url: string;
  readonly fields: Readonly<Record<string, string>> | null;
}

/** @returns where an accepted order is paid; null = nowhere. */
export function paymentPage({ data, url }: PaymentResponse): PaymentPage | null {
  if (typeof data !== 'object') return null;
  if (data.pay_link !== undefined) return { url: data.pay_link, fields: null };
  return url === undefined ? null : { url, fields: data };
}

/** The payment gateway wants its fields as a form that the browser sends. */
function submitForm(address: string, fields: Readonly<Record<string, string>>): void {
  const form = document.createElement('form');
  form.method = 'POST';
  form.action = address;
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input');
    input.type = 'hidden';
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}

/** Whole units. @param least that the site accepts. */
export const topUpBounds = (least: number, inCurrency: boolean) => ({
  integer: true,
  min: least,
  max: maxAmount,
  ...(inCurrency ? { currency: 'usd' } : {}),
});

/** @returns why there is nothing to pay, in the words of who refused; null = the payment goes on. */
export const refusalIn = (answer: PaymentResponse, otherwise: string): string | null =>
  answer.message === 'success' ? null : String(answer.data ?? answer.message ?? otherwise);

/** What this site can be paid by. */
export function usePaymentMethods(): readonly Method[] {
  const status = useStatus().data;
  return [
    ...(status?.enable_online_topup === true ? (['zfb', 'wx'] as const) : []),
    ...(status?.enable_stripe_topup === true ? (['stripe'] as const) : []),
  ];
}

export function TopUp({ onPaid }: { readonly onPaid: () => void }) {
  const { t } = useTranslation();
  const status = useStatus().data;
  const methods = usePaymentMethods();
  const least = Math.max(1, status?.min_topup ?? 1);
  const inCurrency = useMoneyDetails()?.inCurrency !== false;
  const [amount, setAmount] = useState(numberIn(least));
  const [method, setMethod] = useState<Method | null>(null);
  const [error, setError] = useState('');
  const bounds = topUpBounds(least, inCurrency);
  const read = parseNumber(amount, bounds);
  const anyAmount = parseNumber(amount, { ...bounds, min: 0 });
  const belowLeast = anyAmount.kind === 'value' && anyAmount.value < least;
  const value = read.kind === 'value' ? read.value : 0;
  const epay = status?.enable_online_topup === true;
  const selected = useRef<Method>('zfb');
  const cost = useOptionalRead({
    queryKey: ['amount', value],
    queryFn: () => call('wallet.amount', { amount: value }),
    enabled: epay && value >= least,
  }).data;

  const pay = async (by: Method) => {
    setMethod(null);
    const answer: PaymentResponse = await (by === 'stripe'
      ? call('wallet.stripe_pay', { amount: value })
      : call('wallet.pay', { amount: value, payment_method: by })
    ).catch((failure: unknown) => ({ message: isAnswered(failure) ? failure.message : t('wallet.failed') }));
    const refusal = refusalIn(answer, t('wallet.failed'));
    if (refusal !== null) return setError(refusal);
    const page = paymentPage(answer);
    if (page?.fields === null) location.assign(page.url);
    else if (page !== null) submitForm(page.url, page.fields);
    onPaid();
  };

  return (
    <>
      <CheckedForm
        onSubmit={() => {
          setError('');
          setMethod(selected.current);
        }}
      >
        <NumberField
          label={t('wallet.amount')}
          help={
            cost?.message === 'success' ? t('wallet.costs', { money: String(cost.data) }) : t('wallet.least', { least })
          }
          unit={inCurrency ? undefined : t('app.tokens')}
          bounds={bounds}
          words={(reason) =>
            reason === 'negative' || (reason === 'bounds' && belowLeast) ? t('wallet.tooLittle', { least }) : undefined
          }
          error={error === '' ? undefined : error}
          value={amount}
          onChange={setAmount}
        />
        <div className="flex flex-wrap gap-2">
          {methods.map((option) => (
            <button
              key={option}
              type="submit"
              className="button"
              onClick={() => {
                selected.current = option;
              }}
            >
              {methodName(t, option)}
            </button>
          ))}
        </div>
      </CheckedForm>
      {method === null ? null : (
        <Confirm
          title={t('wallet.confirmTitle')}
          text={t('wallet.confirmText', { amount: value, money: String(cost?.data ?? '–') })}
          action={t('wallet.payNow')}
          onClose={() => setMethod(null)}
          onConfirm={() => void pay(method)}
        />
      )}
    </>
  );
}
