/** Where the mailed link leads: choose a new password, or have one made and copy it. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { Field, FormError } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { AccountCard } from './card.tsx';

export function NewPasswordPage() {
  const { t } = useTranslation();
  const [query] = useSearchParams();
  const [email, token] = [query.get('email') ?? '', query.get('token') ?? ''];
  const [error, setError] = useState(email === '' || token === '' ? t('account.linkBroken') : '');
  const [done, setDone] = useState<{ readonly made: string | null } | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password') ?? '');
    try {
      const stored = await call('account.reset', { email, token, password });
      setDone({ made: password === '' ? stored : null });
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <AccountCard title={t('account.newPassword')}>
      {done === null ? (
        <form onSubmit={submit} noValidate>
          <Field label={t('account.email')}>
            {(ids) => <input {...ids} className="field" value={email} readOnly autoComplete="username" />}
          </Field>
          <Field label={t('account.newPassword')} help={t('account.newPasswordHelp')}>
            {(ids) => <input {...ids} name="password" type="password" className="field" autoComplete="new-password" />}
          </Field>
          <FormError text={error} />
          <button type="submit" className="button button-primary h-8 w-full" disabled={token === ''}>
            {t('account.reset')}
          </button>
        </form>
      ) : (
        <div role="status">
          <p className="mb-3 text-ink-2">{t('account.resetDone')}</p>
          {done.made === null ? null : (
            <p className="mb-3 flex items-center gap-2">
              <code className="rounded-2 bg-sunken px-2 py-1 font-mono">{done.made}</code>
              <button type="button" className="button" onClick={() => copyOrShow(done.made ?? '')}>
                <Icon name="copy" />
                {t('app.copy')}
              </button>
            </p>
          )}
        </div>
      )}
      <p className="mt-5 text-ink-2">
        <Link href="/login">{t('account.toLogin')}</Link>
      </p>
    </AccountCard>
  );
}
