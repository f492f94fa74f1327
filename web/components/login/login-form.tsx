/** Name and password, a code where the account asks for one, or a passkey. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useHistoryState } from 'wouter/use-browser-location';
import type { User } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { useStatus } from '../../lib/status.ts';
import { Field, FormError } from '../form.tsx';
import { Icon } from '../icon.tsx';
import { BotCheck, useBotCheck } from './bot-check.tsx';
import { ExternalLogin, Or } from './external-login.tsx';
import { canPasskey, enterWithPasskey, wasCancelled } from './passkey.ts';
import { PasswordField } from './password-field.tsx';
import { type Entered, SecondStep } from './second-step.tsx';

export interface LoginFormProps {
  readonly notice: string;
  /** @param isDefault the shipped password was used. */
  readonly onIn: (user: User, isDefault: boolean) => void;
}

const defaults = { username: 'root', password: '123456' };

export function LoginForm({ notice, onIn }: LoginFormProps) {
  const { t } = useTranslation();
  const bot = useBotCheck();
  const closed = useStatus().data?.password_login_enabled === false;
  const registered = useHistoryState<{ readonly username?: string } | null>()?.username ?? '';
  const [error, setError] = useState(notice);
  const [busy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const [ticket, setTicket] = useState<string | null>(null);

  const entered = (answer: Entered, isDefault = false) =>
    'ticket' in answer ? setTicket(answer.ticket) : onIn(answer, isDefault);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError('');
    try {
      await work();
    } catch (failure) {
      if (!wasCancelled(failure)) setError(messageOf(failure));
    } finally {
      setBusy(false);
      setRound((last) => last + 1);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string): string => String(form.get(name) ?? '');
    const [username, password] = [text('username').trim(), text('password')];
    if (username === '' || password === '') return setError(t('login.empty'));
    if (!bot.isReady()) return setError(t('account.botWait'));
    return run(async () =>
      entered(
        await call('session.login', { username, password, turnstile: bot.token.current }),
        username === defaults.username && password === defaults.password,
      ),
    );
  };

  if (ticket !== null) return <SecondStep ticket={ticket} onIn={(user) => onIn(user, false)} />;
  return (
    <>
      {closed ? (
        <>
          <p className="mb-3 text-ink-2">{t('account.passwordLoginClosed')}</p>
          <FormError text={error} />
        </>
      ) : (
        <form onSubmit={submit} noValidate>
          <Field label={t('login.username')}>
            {(ids) => (
              <input
                {...ids}
                name="username"
                className="field"
                defaultValue={registered}
                autoComplete="username webauthn"
                // biome-ignore lint/a11y/noAutofocus: the page is this form
                autoFocus
              />
            )}
          </Field>
          <PasswordField label={t('login.password')} name="password" autoComplete="current-password" />
          <BotCheck token={bot.token} round={round} />
          <FormError text={error} />
          <button type="submit" className="button button-primary h-8 w-full" disabled={busy}>
            {t('login.submit')}
          </button>
        </form>
      )}
      {canPasskey() && !closed ? <Or /> : null}
      {canPasskey() ? (
        <button
          type="button"
          className="button h-8 w-full"
          disabled={busy}
          onClick={() => run(async () => onIn(await enterWithPasskey(), false))}
        >
          <Icon name="key" />
          {t('account.usePasskey')}
        </button>
      ) : null}
      <ExternalLogin or={!closed && !canPasskey()} onEntered={entered} />
    </>
  );
}
