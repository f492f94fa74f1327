/** Ways in through other services, and the way there and back. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { type Status, useStatus } from '../../lib/status.ts';
import { Field } from '../form.tsx';
import { Sheet } from '../overlay.tsx';
import { inviteCode } from './invite.ts';
import type { Entered } from './second-step.tsx';

export type CodeService = 'github' | 'oidc' | 'linuxdo';
export const serviceNames = { github: 'GitHub', oidc: 'OIDC', linuxdo: 'Linux DO' } as const;

const isOn = (service: CodeService, status: Status | undefined): boolean =>
  ({ github: status?.github_oauth, oidc: status?.oidc_enabled, linuxdo: status?.linuxdo_oauth })[service] === true;

/** Leaves for the other service; it sends the browser back to /oauth/{service}. @param bind the account here is to be opened by it. */
export async function leaveFor(service: CodeService | 'telegram', bind = false): Promise<void> {
  const { url } = await call('oauth.begin', { type: service, aff: inviteCode(), bind });
  location.assign(url);
}

export function WeChatCode({
  onCode,
  onClose,
}: {
  readonly onCode: (code: string) => void;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation();
  const status = useStatus().data;
  const [code, setCode] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code.trim() !== '') onCode(code.trim());
  };
  return (
    <Sheet title={t('account.wechat')} onClose={onClose}>
      <form onSubmit={submit}>
        {status?.wechat_qrcode ? (
          <img src={status.wechat_qrcode} alt={t('account.wechatCode')} className="mb-4 max-w-60" />
        ) : null}
        <p className="mb-4 text-ink-2">{t('account.wechatHelp')}</p>
        <Field label={t('account.code')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              autoComplete="one-time-code"
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" className="button button-primary">
          {t('login.submit')}
        </button>
      </form>
    </Sheet>
  );
}

/** Between a form and the other ways in. */
export function Or() {
  const { t } = useTranslation();
  return (
    <p className="my-3 flex items-center gap-3 text-[12px] text-ink-3 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      {t('account.or')}
    </p>
  );
}

export interface ExternalLoginProps {
  /** A form stands above. */
  readonly or: boolean;
  readonly onEntered: (entered: Entered) => void;
}

/** Buttons of every service that is switched on. */
export function ExternalLogin({ or, onEntered }: ExternalLoginProps) {
  const { t } = useTranslation();
  const status = useStatus().data;
  const [wechat, setWechat] = useState(false);
  const services = (Object.keys(serviceNames) as CodeService[]).filter((service) => isOn(service, status));
  if (services.length === 0 && !status?.wechat_login && !status?.telegram_oauth) return null;
  return (
    <>
      {or ? <Or /> : null}
      <div className="mt-2 grid gap-2">
        {services.map((service) => (
          <button key={service} type="button" className="button" onClick={() => attempt(() => leaveFor(service))}>
            {t('account.with', { name: serviceNames[service] })}
          </button>
        ))}
        {status?.wechat_login ? (
          <button type="button" className="button" onClick={() => setWechat(true)}>
            {t('account.with', { name: t('account.wechat') })}
          </button>
        ) : null}
        {status?.telegram_oauth ? (
          <button type="button" className="button" onClick={() => attempt(() => leaveFor('telegram'))}>
            {t('account.with', { name: 'Telegram' })}
          </button>
        ) : null}
        {wechat ? (
          <WeChatCode
            onClose={() => setWechat(false)}
            onCode={(code) =>
              attempt(async () => {
                onEntered(await call('oauth.wechat', { code, aff: inviteCode() }));
                setWechat(false);
              })
            }
          />
        ) : null}
      </div>
    </>
  );
}
