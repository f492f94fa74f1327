/** E-mail address and accounts elsewhere that are bound to this one. */

import { useQueryClient } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { InputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { Field } from '../../components/form.tsx';
import { BotCheck, useBotCheck } from '../../components/login/bot-check.tsx';
import { CodeButton } from '../../components/login/code-button.tsx';
import { leaveFor, WeChatCode } from '../../components/login/external-login.tsx';
import { Confirm, Sheet } from '../../components/overlay.tsx';
import { ApiError, call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { type Status, useStatus } from '../../lib/status.ts';

function EmailDrawer({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const { t } = useTranslation();
  const bot = useBotCheck();
  const [email, setEmail] = useState('');
  const [code, setCode] = useState('');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await attempt(() => call('account.bind_email_post', { email, code }), t('account.bound'))) onDone();
  };
  return (
    <Sheet title={t('personal.bindEmail')} onClose={onClose}>
      <form onSubmit={submit}>
        <Field label={t('account.email')}>
          {(ids) => (
            <div className="flex gap-2">
              <input
                {...ids}
                type="email"
                className="field"
                autoComplete="email"
                required
                value={email}
                onChange={(event) => setEmail(event.target.value)}
              />
              <CodeButton email={email} turnstile={bot.token.current} mayAsk={() => email !== '' && bot.isReady()} />
            </div>
          )}
        </Field>
        <Field label={t('account.code')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              autoComplete="one-time-code"
              required
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          )}
        </Field>
        <BotCheck token={bot.token} round={0} />
        <button type="submit" className="button button-primary">
          {t('personal.bind')}
        </button>
      </form>
    </Sheet>
  );
}

/** The last way into an account goes only with its password. */
function UnbindDrawer({
  name,
  onClose,
  onConfirm,
}: {
  readonly name: string;
  readonly onClose: () => void;
  readonly onConfirm: (password: string) => void;
}) {
  const { t } = useTranslation();
  const [password, setPassword] = useState('');
  return (
    <Sheet title={t('personal.unbindTitle', { name })} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm(password);
        }}
      >
        <p className="mb-3 text-ink-2">{t('personal.unbindLast')}</p>
        <Field label={t('login.password')}>
          {(ids) => (
            <input
              {...ids}
              type="password"
              className="field"
              autoComplete="current-password"
              required
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" className="button button-danger">
          {t('personal.unbind')}
        </button>
      </form>
    </Sheet>
  );
}

type Service = InputOf<EndpointOf<'oauth.unbind'>>['type'];

interface Unbinding {
  readonly type: Service;
  readonly name: string;
  readonly last: boolean;
}

interface Binding {
  /** null = the address, which is changed and never taken away. */
  readonly type: Service | null;
  readonly name: string;
  /** '' = none. */
  readonly value: string;
  readonly enabled: boolean;
  readonly bind: () => unknown;
}

interface BindingsOptions {
  readonly self: User;
  readonly status: Status | undefined;
  readonly t: TFunction;
  readonly onOpen: (drawer: 'email' | 'wechat') => void;
}

function bindingsOf({ self, status, t, onOpen }: BindingsOptions): readonly Binding[] {
  const away = (type: Service & ('github' | 'oidc' | 'telegram' | 'linuxdo')) => () =>
    attempt(() => leaveFor(type, true));
  return [
    { type: null, name: t('account.email'), value: self.email, enabled: true, bind: () => onOpen('email') },
    {
      type: 'wechat',
      name: t('account.wechat'),
      value: self.wechat_id,
      enabled: status?.wechat_login === true,
      bind: () => onOpen('wechat'),
    },
    {
      type: 'github',
      name: 'GitHub',
      value: self.github_id,
      enabled: status?.github_oauth === true,
      bind: away('github'),
    },
    { type: 'oidc', name: 'OIDC', value: self.oidc_id, enabled: status?.oidc_enabled === true, bind: away('oidc') },
    {
      type: 'telegram',
      name: 'Telegram',
      value: self.telegram_id,
      enabled: status?.telegram_oauth === true,
      bind: away('telegram'),
    },
    {
      type: 'linuxdo',
      name: 'Linux DO',
      value: self.linux_do_id,
      enabled: status?.linuxdo_oauth === true,
      bind: away('linuxdo'),
    },
  ];
}

function BindingLine(props: Binding & { readonly onUnbind: (unbinding: Unbinding) => void }) {
  const { t } = useTranslation();
  const { type, name, value, bind, onUnbind } = props;
  const isBound = value !== '';
  const action = t(isBound ? (type === null ? 'personal.change' : 'personal.unbind') : 'personal.bind');
  return (
    <div className="flex min-h-9 items-center gap-3">
      <dt className="w-24 flex-none text-ink-3">{name}</dt>
      <dd className="min-w-0 flex-1 truncate">
        {isBound ? value : <span className="text-ink-3">{t('personal.none')}</span>}
      </dd>
      <dd>
        <button
          type="button"
          className="button"
          aria-label={`${name}: ${action}`}
          onClick={() => (isBound && type !== null ? onUnbind({ type, name, last: false }) : bind())}
        >
          {action}
        </button>
      </dd>
    </div>
  );
}

export function Bindings({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const status = useStatus().data;
  const [open, setOpen] = useState<'email' | 'wechat' | null>(null);
  const refresh = async () => {
    setOpen(null);
    await client.invalidateQueries({ queryKey: ['self'] });
  };
  const [unbinding, setUnbinding] = useState<Unbinding | null>(null);
  const unbind = async (type: Service, name: string, password: string) => {
    try {
      await call('oauth.unbind', { type, password });
      setUnbinding(null);
      toast.success(t('personal.unbound'));
      await client.invalidateQueries({ queryKey: ['self'] });
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === 'oauth_last') setUnbinding({ type, name, last: true });
      else toast.error(messageOf(failure));
    }
  };
  const rows = bindingsOf({ self, status, t, onOpen: setOpen });
  const isOffered = ({ enabled, value }: Binding) => enabled || value !== '';
  const offered = rows.filter(isOffered);
  const closed = rows.filter((row) => !isOffered(row));
  return (
    <Card title={t('personal.bindings')}>
      <dl>
        {offered.map((row) => (
          <BindingLine key={row.name} {...row} onUnbind={setUnbinding} />
        ))}
        {/* What the site does not offer and is not connected is a line. */}
        {closed.length === 0 ? null : (
          <div className="mt-1 flex min-h-9 flex-wrap items-center gap-x-2 border-t border-line pt-1 text-[12px] text-ink-3">
            <dd className="order-first">{t('personal.off')}:</dd>
            {closed.map(({ name }) => (
              <dt key={name}>{name}</dt>
            ))}
          </div>
        )}
      </dl>
      {unbinding === null ? null : unbinding.last ? (
        <UnbindDrawer
          name={unbinding.name}
          onClose={() => setUnbinding(null)}
          onConfirm={(password) => void unbind(unbinding.type, unbinding.name, password)}
        />
      ) : (
        <Confirm
          title={t('personal.unbindTitle', { name: unbinding.name })}
          text={t('personal.unbindText')}
          action={t('personal.unbind')}
          onClose={() => setUnbinding(null)}
          onConfirm={() => void unbind(unbinding.type, unbinding.name, '')}
        />
      )}
      {open === 'email' ? <EmailDrawer onClose={() => setOpen(null)} onDone={refresh} /> : null}
      {open === 'wechat' ? (
        <WeChatCode
          onClose={() => setOpen(null)}
          onCode={async (code) => {
            if (await attempt(() => call('oauth.wechat_bind', { code }), t('account.bound'))) await refresh();
          }}
        />
      ) : null}
    </Card>
  );
}
