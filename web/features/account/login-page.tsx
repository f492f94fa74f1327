import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation, useSearchParams } from 'wouter';
import { storeInviteCode } from '../../components/login/invite.ts';
import { LoginForm } from '../../components/login/login-form.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { takeReturnPath } from '../../lib/return-to.ts';
import { writeUser } from '../../lib/session.ts';
import { useStatus } from '../../lib/status.ts';
import { AccountCard } from './card.tsx';

export function LoginPage() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [query] = useSearchParams();
  const status = useStatus().data;
  const [warn, setWarn] = useState(false);
  storeInviteCode(query.get('aff'));
  return (
    <AccountCard title={t('login.title')}>
      <LoginForm
        notice={query.get('expired') === 'true' ? t('login.expired') : ''}
        onIn={(user, isDefault) => {
          writeUser(user);
          if (isDefault) setWarn(true);
          else navigate(takeReturnPath('/token'));
        }}
      />
      <p className="mt-5 flex justify-between text-ink-2">
        {status?.register_enabled === false || status?.self_use_mode_enabled ? (
          <span />
        ) : (
          <Link href="/register">{t('account.toRegister')}</Link>
        )}
        <Link href="/reset">{t('account.forgot')}</Link>
      </p>
      {warn ? (
        <Confirm
          title={t('account.defaultTitle')}
          text={t('account.defaultText')}
          action={t('account.changeNow')}
          onConfirm={() => navigate('/personal')}
          onClose={() => navigate(takeReturnPath('/token'))}
        />
      ) : null}
    </AccountCard>
  );
}
