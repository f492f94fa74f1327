import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Link, useLocation, useSearchParams } from 'wouter';
import { Field, FormError } from '../../components/form.tsx';
import { BotCheck, useBotCheck } from '../../components/login/bot-check.tsx';
import { CodeButton } from '../../components/login/code-button.tsx';
import { ExternalLogin } from '../../components/login/external-login.tsx';
import { inviteCode, storeInviteCode, typeInviteCode } from '../../components/login/invite.ts';
import { PasswordField } from '../../components/login/password-field.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { writeUser } from '../../lib/session.ts';
import { useStatus } from '../../lib/status.ts';
import { AccountCard } from './card.tsx';

const minPassword = 8;

export function RegisterPage() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [query] = useSearchParams();
  const status = useStatus().data;
  const bot = useBotCheck();
  const [email, setEmail] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const [invitation, setInvitation] = useState(() => {
    storeInviteCode(query.get('aff'));
    return inviteCode();
  });
  const ready = (): boolean => {
    if (!bot.isReady()) setError(t('account.botWait'));
    return bot.isReady();
  };

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string): string => String(form.get(name) ?? '');
    const [username, password, password2] = [text('username').trim(), text('password'), text('password2')];
    if (username === '' || password === '') return setError(t('login.empty'));
    if (password.length < minPassword) return setError(t('account.passwordShort'));
    if (password !== password2) return setError(t('account.passwordsDiffer'));
    if (!ready()) return;
    setBusy(true);
    try {
      await call('account.register', {
        username,
        password,
        password2,
        email,
        verification_code: text('code'),
        aff_code: inviteCode(),
        ...(bot.token.current === '' ? {} : { turnstile: bot.token.current }),
      });
      toast.success(t('account.registered'));
      // Who has just typed the name need not type it again.
      navigate('/login', { state: { username } });
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
      setRound((last) => last + 1);
    }
  };

  const closed =
    status?.register_enabled === false
      ? ('account.registerClosed' as const)
      : status?.password_register_enabled === false
        ? ('account.registerElsewhere' as const)
        : null;

  return (
    <AccountCard title={t('account.register')}>
      {status?.invitation_required === true && status.register_enabled !== false ? (
        <Field label={t('account.invitation')} help={t('account.invitationHelp')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              autoComplete="off"
              value={invitation}
              onChange={(event) => {
                setInvitation(event.target.value);
                // The ways in by other services read it too.
                typeInviteCode(event.target.value);
              }}
            />
          )}
        </Field>
      ) : null}
      {closed === null ? (
        <form onSubmit={submit} noValidate>
          <Field label={t('account.username')} help={t('account.usernameHelp')}>
            {(ids) => (
              <input
                {...ids}
                name="username"
                className="field"
                autoComplete="username"
                maxLength={12}
                // biome-ignore lint/a11y/noAutofocus: the page is this form
                autoFocus
              />
            )}
          </Field>
          <PasswordField
            label={t('login.password')}
            help={t('account.passwordHelp')}
            name="password"
            autoComplete="new-password"
          />
          <PasswordField label={t('account.password2')} name="password2" autoComplete="new-password" />
          {status?.email_verification ? (
            <>
              <Field label={t('account.email')}>
                {(ids) => (
                  <div className="flex gap-2">
                    <input
                      {...ids}
                      type="email"
                      className="field"
                      autoComplete="email"
                      value={email}
                      onChange={(event) => setEmail(event.target.value)}
                    />
                    <CodeButton email={email} turnstile={bot.token.current} mayAsk={ready} />
                  </div>
                )}
              </Field>
              <Field label={t('account.code')}>
                {(ids) => <input {...ids} name="code" className="field" autoComplete="one-time-code" />}
              </Field>
            </>
          ) : null}
          <BotCheck token={bot.token} round={round} />
          <FormError text={error} />
          <button type="submit" className="button button-primary h-8 w-full" disabled={busy}>
            {t('account.register')}
          </button>
        </form>
      ) : (
        <p className="text-ink-2">{t(closed)}</p>
      )}
      {status?.register_enabled === false ? null : (
        <ExternalLogin
          or={closed === null}
          onEntered={(entered) => {
            if ('ticket' in entered) return navigate('/login');
            writeUser(entered);
            navigate('/token');
          }}
        />
      )}
      <p className="mt-5 text-ink-2">
        <Link href="/login">{t('account.haveAccount')}</Link>
      </p>
    </AccountCard>
  );
}
