/** E-mail address and accounts elsewhere that are bound to this one. */
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { Field } from '../../components/form.tsx';
import { Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useStatus } from '../../shell/status.ts';
import { BotCheck, useBotCheck } from '../account/bot-check.tsx';
import { CodeButton } from '../account/code-button.tsx';
import { leaveFor, leaveForTelegram, WeChatCode } from '../account/elsewhere.tsx';

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
    <Drawer title={t('personal.bindEmail')} onClose={onClose}>
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
    </Drawer>
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
  const rows: readonly (readonly [string, string, boolean, () => unknown])[] = [
    [t('account.email'), self.email, true, () => setOpen('email')],
    [t('account.wechat'), self.wechat_id, status?.wechat_login === true, () => setOpen('wechat')],
    ['GitHub', self.github_id, status?.github_oauth === true, () => attempt(() => leaveFor('github', status))],
    ['OIDC', self.oidc_id, status?.oidc_enabled === true, () => attempt(() => leaveFor('oidc', status))],
    ['Telegram', self.telegram_id, status?.telegram_oauth === true, () => leaveForTelegram(status)],
    ['Linux DO', self.linux_do_id, status?.linuxdo_oauth === true, () => attempt(() => leaveFor('linuxdo', status))],
  ];
  return (
    <Card title={t('personal.bindings')}>
      <dl>
        {rows.map(([name, value, enabled, bind]) => {
          const action = value === '' ? (enabled ? t('personal.bind') : t('personal.off')) : t('personal.change');
          return (
            <div key={name} className="flex min-h-9 items-center gap-3">
              <dt className="w-24 flex-none text-ink-3">{name}</dt>
              <dd className="min-w-0 flex-1 truncate">
                {value === '' ? <span className="text-ink-3">{t('personal.unbound')}</span> : value}
              </dd>
              <dd>
                <button
                  type="button"
                  className="button"
                  disabled={!enabled || (value !== '' && name !== t('account.email'))}
                  aria-label={`${name}: ${action}`}
                  onClick={() => bind()}
                >
                  {action}
                </button>
              </dd>
            </div>
          );
        })}
      </dl>
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
