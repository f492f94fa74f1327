/** Ways into the account: password, second factor, passkeys, management access token. */

import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Card } from '../../components/card.tsx';
import { Boundary } from '../../components/failure.tsx';
import { Field } from '../../components/form.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { copyText } from '../../lib/format.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { ActionLine } from './action-line.tsx';
import { Passkeys } from './passkeys.tsx';
import { SecondFactor } from './second-factor.tsx';

function PasswordForm({ onDone }: { readonly onDone: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const twoSteps = useOptionalRead({ queryKey: ['second-factor'], queryFn: () => call('second_factor.get') }).data
    ?.enabled;
  const [error, setError] = useState('');
  const [endAll, setEndAll] = useState(true);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string): string => String(form.get(name) ?? '');
    if (text('password') !== text('password2')) return setError(t('account.passwordsDiffer'));
    try {
      await call('user.update_self', {
        original_password: text('original'),
        code: text('code'),
        password: text('password'),
        end_all: endAll,
      });
      for (const key of ['sessions', 'passkeys', 'access-tokens']) void client.invalidateQueries({ queryKey: [key] });
      toast.success(t('personal.passwordChanged'));
      onDone();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  const field = (name: string, label: string, complete: string, help?: string) => (
    <Field label={label} help={help}>
      {(ids) => <input {...ids} name={name} type="password" className="field" autoComplete={complete} />}
    </Field>
  );
  return (
    <form onSubmit={submit} noValidate>
      {field('original', t('personal.oldPassword'), 'current-password', t('personal.oldPasswordHelp'))}
      {twoSteps === true ? (
        <Field label={t('personal.codeInstead')}>
          {(ids) => <input {...ids} name="code" className="field font-mono" autoComplete="one-time-code" />}
        </Field>
      ) : null}
      {field('password', t('account.newPassword'), 'new-password', t('account.passwordHelp'))}
      {field('password2', t('account.password2'), 'new-password')}
      <label className="mb-4 flex gap-2 text-ink-2">
        <input
          type="checkbox"
          className="mt-0.5 size-4 flex-none accent-(--accent)"
          checked={endAll}
          onChange={(event) => setEndAll(event.target.checked)}
        />
        {t('personal.endAll')}
      </label>
      <p role="alert" className="mb-3 text-danger">
        {error}
      </p>
      <button type="submit" className="button button-primary">
        {t('personal.changePassword')}
      </button>
    </form>
  );
}

export function Security() {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'password' | 'token' | null>(null);
  const [token, setToken] = useState('');
  const shut = () => setOpen(null);

  const makeToken = () =>
    attempt(async () => {
      const made = await call('user.access_token');
      setToken(made);
      if (await copyText(made)) toast.success(t('app.copied'));
      setOpen('token');
    });

  return (
    <Card title={t('personal.security')}>
      <ActionLine title={t('login.password')} text={t('personal.passwordText')}>
        <button type="button" className="button" onClick={() => setOpen('password')}>
          {t('personal.changePassword')}
        </button>
      </ActionLine>
      {[SecondFactor, Passkeys].map((Part) => (
        <Boundary key={Part.name}>
          <Part />
        </Boundary>
      ))}
      <ActionLine title={t('personal.fullToken')} text={t('personal.accessTokenHelp')}>
        <button type="button" className="button" onClick={makeToken}>
          {t('personal.accessToken')}
        </button>
      </ActionLine>
      {open === 'password' ? (
        <Sheet title={t('personal.changePassword')} onClose={shut}>
          <PasswordForm onDone={shut} />
        </Sheet>
      ) : null}
      {open === 'token' ? (
        <Sheet title={t('personal.accessToken')} onClose={shut}>
          <p className="mb-3 text-ink-2">{t('personal.accessTokenHelp')}</p>
          <textarea
            className="field font-mono"
            rows={2}
            readOnly
            aria-label={t('personal.accessToken')}
            value={token}
            onFocus={(event) => event.target.select()}
          />
        </Sheet>
      ) : null}
    </Card>
  );
}
