/** A code becomes balance. */

import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { TextField } from '../../components/form.tsx';
import { call, isAnswered } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { useMoney } from '../../lib/money.ts';
import { useStatus } from '../../lib/status.ts';

export interface RedemptionProps {
  readonly onRedeemed: () => Promise<unknown>;
  /** It is the one way to pay. */
  readonly alone: boolean;
}

export function Redemption({ onRedeemed, alone }: RedemptionProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const [code, setCode] = useState('');
  const [error, setError] = useState('');
  const link = useStatus().data?.top_up_link ?? '';
  const redeem = async (event: FormEvent) => {
    event.preventDefault();
    if (code.trim() === '') return setError(t('wallet.needCode'));
    try {
      const quota = await call('redemption.redeem', { key: code.trim() });
      toast.success(t('wallet.redeemed'), { description: t('wallet.added', { usd: money(quota) }) });
      setCode('');
      setError('');
      await onRedeemed();
    } catch (failure) {
      setError(isAnswered(failure) ? failure.message : `${t('wallet.failed')} (${messageOf(failure)})`);
    }
  };
  return (
    <form onSubmit={redeem} noValidate>
      <div className="flex items-start gap-2 [&>div]:mb-0 [&>div]:min-w-0 [&>div]:flex-1 [&>:is(button,a)]:mt-5 [&>:is(button,a)]:h-8 max-sm:[&>:is(button,a)]:min-h-11">
        <TextField
          label={t('wallet.code')}
          error={error === '' ? undefined : error}
          className="field font-mono"
          value={code}
          onChange={setCode}
          autoComplete="off"
        />
        <button type="submit" className="button button-primary">
          {t('wallet.redeemAction')}
        </button>
        {link === '' ? null : (
          <a className="button" href={link} target="_blank" rel="noopener noreferrer">
            {t('wallet.getCode')}
          </a>
        )}
      </div>
      {link !== '' && !alone ? null : (
        <p className="mt-1 text-[12px] leading-4 text-ink-3">
          {link === '' ? <span>{t('wallet.noLink')}</span> : null} {alone ? <span>{t('wallet.offline')}</span> : null}
        </p>
      )}
    </form>
  );
}
