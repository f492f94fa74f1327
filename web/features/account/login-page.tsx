import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useSearchParams } from 'wouter';
import { Field } from '../../components/form.tsx';
import { call } from '../../lib/api.ts';
import { writeUser } from '../../lib/session.ts';

export function LoginPage() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [query] = useSearchParams();
  const [error, setError] = useState(query.get('expired') === 'true' ? t('login.expired') : '');
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const username = String(form.get('username') ?? '').trim();
    const password = String(form.get('password') ?? '');
    if (username === '' || password === '') return setError(t('login.empty'));
    setBusy(true);
    try {
      const entered = await call('session.login', { username, password });
      if ('ticket' in entered) throw new Error(t('login.expired'));
      writeUser(entered);
      navigate('/token');
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="mx-auto mt-[10vh] w-[340px] max-w-full px-4">
      <h1 className="mb-5 text-[20px] leading-7 font-semibold">{t('login.title')}</h1>
      <form onSubmit={submit} noValidate>
        <Field label={t('login.username')}>
          {(ids) => <input {...ids} name="username" className="field" autoComplete="username" />}
        </Field>
        <Field label={t('login.password')}>
          {(ids) => (
            <input {...ids} name="password" type="password" className="field" autoComplete="current-password" />
          )}
        </Field>
        <p role="alert" className="mb-3 min-h-5 text-danger">
          {error}
        </p>
        <button type="submit" className="button button-primary w-full" disabled={busy}>
          {t('login.submit')}
        </button>
      </form>
    </div>
  );
}
