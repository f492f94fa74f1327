/** Where other services send the browser back to: binds or logs in, then goes on. */

import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation, useSearchParams } from 'wouter';
import { type CodeService, serviceNames } from '../../components/login/external-login.tsx';
import { type Entered, SecondStep } from '../../components/login/second-step.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { takeReturnPath } from '../../lib/return-to.ts';
import { useUser, writeUser } from '../../lib/session.ts';
import { AccountCard } from './card.tsx';

const isCodeService = (type: string): type is CodeService => Object.hasOwn(serviceNames, type);

/** What Telegram put behind the #: base64 of JSON with the signed fields. */
function telegramFields(): Record<string, string> {
  const packed = /tgAuthResult=([\w-]+)/.exec(location.hash)?.[1] ?? '';
  try {
    const fields = JSON.parse(atob(packed.replaceAll('-', '+').replaceAll('_', '/'))) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)]));
  } catch {
    return {};
  }
}

export function CallbackPage({ type }: { readonly type: string }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [query] = useSearchParams();
  const user = useUser();
  const [ticket, setTicket] = useState<string | null>(null);
  const begun = useRef(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the code in the address is good for one try
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    const finish = (entered: Entered | undefined | null) => {
      if (entered === undefined || entered === null) {
        toast.success(t('account.bound'));
        navigate('/personal');
      } else if ('ticket' in entered) setTicket(entered.ticket);
      else {
        writeUser(entered);
        toast.success(t('account.welcome'));
        navigate(takeReturnPath('/token'));
      }
    };
    const back = async () => {
      if (type === 'telegram') {
        const state = query.get('state') ?? '';
        // Without a state, a link made by another person would log the reader in to that person's account.
        if (state === '') throw new Error(t('account.telegramBroken'));
        if (user === null) return finish(await call('oauth.telegram_login', { ...telegramFields(), state }));
        await call('oauth.telegram_bind', { ...telegramFields(), state });
        return finish(null);
      }
      if (!isCodeService(type)) throw new Error(t('site.notFound'));
      return finish(await call('oauth.callback', { ...Object.fromEntries(query), type }));
    };
    back().catch((error: unknown) => {
      toast.error(`${t('account.failed')} ${messageOf(error)}`);
      navigate('/setting');
    });
  }, []);

  if (ticket !== null) {
    return (
      <AccountCard title={t('login.title')}>
        <SecondStep
          ticket={ticket}
          onIn={(entered) => {
            writeUser(entered);
            navigate(takeReturnPath('/token'));
          }}
        />
      </AccountCard>
    );
  }
  return (
    <p role="status" className="p-5 text-ink-2">
      {t('account.processing')}
    </p>
  );
}
