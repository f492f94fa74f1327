/** Mails a code to the address beside it; again after thirty seconds. */
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';

const waitSeconds = 30;

export interface CodeButtonProps {
  readonly email: string;
  readonly turnstile: string;
  /** Whether the form may be sent now; it shows the reason when not. */
  readonly mayAsk: () => boolean;
}

export function CodeButton({ email, turnstile, mayAsk }: CodeButtonProps) {
  const { t } = useTranslation();
  const [left, setLeft] = useState(0);
  const waiting = left > 0;
  useEffect(() => {
    if (!waiting) return;
    const timer = setInterval(() => setLeft((seconds) => seconds - 1), 1000);
    return () => clearInterval(timer);
  }, [waiting]);
  const ask = async () => {
    if (!mayAsk()) return;
    const fields = { email, ...(turnstile === '' ? {} : { turnstile }) };
    if (await attempt(() => call('account.send_code', fields), t('account.codeSent'))) setLeft(waitSeconds);
  };
  return (
    <button type="button" className="button h-8" disabled={waiting} onClick={ask}>
      {waiting ? t('account.again', { seconds: left }) : t('account.sendCode')}
    </button>
  );
}
