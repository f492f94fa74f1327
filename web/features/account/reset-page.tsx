/** Asks for a mail that resets the password. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Field, FormError } from '../../components/form.tsx';
import { BotCheck, useBotCheck } from '../../components/login/bot-check.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { AccountCard } from './card.tsx';

export function ResetPage() {
  const { t } = useTranslation();
  const bot = useBotCheck();
  const [error, setError] = useState('');
  const [sent, setSent] = useState(false);
  const [round, setRound] = useState(0);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const email = String(new FormData(event.currentTarget).get('email') ?? '').trim();
    if (!email.includes('@')) return setError(t('account.emailNeeded'));
    if (!bot.isReady()) return setError(t('account.botWait'));
    setError('');
    try {
      await call('account.ask_reset', {
        email,
        ...(bot.token.current === '' ? {} : { turnstile: bot.token.current }),
      });
      setSent(true);
    } catch (failure) {
      setError(messageOf(failure));
    }
    setRound((last) => last + 1);
  };
  return (
    <AccountCard title={t('account.reset')}>
      {sent ? (
        <p role="status" className="mb-4 text-ink-2">
          {t('account.resetSent')}
        </p>
      ) : (
        <form onSubmit={submit} noValidate>
          <Field label={t('account.email')}>
            {(ids) => <input {...ids} type="email" name="email" className="field" autoComplete="email" />}
          </Field>
          <BotCheck token={bot.token} round={round} />
          <FormError text={error} />
          <button type="submit" className="button button-primary h-8 w-full">
            {t('account.sendReset')}
          </button>
        </form>
      )}
      <p className="mt-5 text-ink-2">
        <Link href="/login">{t('account.toLogin')}</Link>
      </p>
    </AccountCard>
  );
}
