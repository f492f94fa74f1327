/** How the user is warned that the balance is running out. */

import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { User } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enum.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { moneyIn, moneyOf, valueIn } from '../../components/amount.ts';
import { MoneyField } from '../../components/amount-fields.tsx';
import { Card } from '../../components/card.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { TextField } from '../../components/form.tsx';
import { BotCheck, useBotCheck } from '../../components/login/bot-check.tsx';
import { CodeButton } from '../../components/login/code-button.tsx';
import { Segment } from '../../components/segment.tsx';
import { useForm } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { useDirty } from '../../lib/dirty-form.ts';
import { useMoneyDetails } from '../../lib/money.ts';

/** Quota, as the server has it where nothing was chosen. */
const firstThreshold = 100_000;
/** Units of currency. */
const presets = [0.2, 1, 2, 10];
export const thresholdBounds = { min: 1 } as const;
const kinds = ['email', 'webhook'] as const;

export function settingOf(self: User): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(self.setting || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

interface ThresholdFieldProps {
  readonly value: string;
  readonly details: MoneyDetails;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

function ThresholdField({ details, ...field }: ThresholdFieldProps) {
  const { t } = useTranslation();
  return (
    <>
      <MoneyField label={t('personal.threshold')} bounds={thresholdBounds} list="thresholds" {...field} />
      <datalist id="thresholds">
        {presets.map((preset) => (
          <option key={preset} value={moneyIn(preset * details.quotaPerUnit, details)} />
        ))}
      </datalist>
    </>
  );
}

/** @returns nothing while the site has not said what its amounts are in. */
export function Notifications({ self }: { readonly self: User }) {
  const details = useMoneyDetails();
  if (details === null) return null;
  // What is typed stays when another of the settings is changed.
  const { accept_unset_model_ratio_model: _accept, language: _language, ...own } = settingOf(self);
  return <NotificationForm key={JSON.stringify(own)} self={self} details={details} />;
}

function NotificationForm({ self, details }: { readonly self: User; readonly details: MoneyDetails }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const saved = settingOf(self);
  const text = (key: string): string => (typeof saved[key] === 'string' ? saved[key] : '');
  const first = () => ({
    kind: text('notify_type') === 'webhook' ? ('webhook' as const) : ('email' as const),
    threshold: moneyIn(Number(saved.quota_warning_threshold ?? firstThreshold), details),
    url: text('webhook_url'),
    secret: '',
    email: text('notification_email'),
    code: '',
  });
  const { typed, field, ...form } = useForm(first, async ({ kind, threshold, url, secret, email, code }) => {
    await call('account.setting', {
      notify_type: kind,
      quota_warning_threshold: valueIn(moneyOf(threshold, details, thresholdBounds)),
      webhook_url: url,
      webhook_secret: secret,
      notification_email: email,
      ...(code === '' ? {} : { verification_code: code }),
    });
    toast.success(t('settings.saved'));
    await client.invalidateQueries({ queryKey: ['self'] });
  });
  useDirty(form.dirty);
  const bot = useBotCheck();
  const known = ['', text('notification_email'), self.email].map((one) => one.toLowerCase());
  // The site's mail goes to no stranger; an administrator names any address.
  const needsCode = self.role < Role.admin && !known.includes(typed.email.trim().toLowerCase());

  return (
    <Card title={t('personal.notifications')}>
      <CheckedForm onSubmit={form.submit}>
        <div className="mb-4">
          <Segment
            label={t('personal.notifyBy')}
            options={kinds.map((one) => [one, t(`personal.${one}`)])}
            {...field('kind')}
          />
        </div>
        <ThresholdField details={details} {...field('threshold')} />
        {typed.kind === 'webhook' ? (
          <>
            <TextField label={t('personal.webhookUrl')} help={t('personal.webhookHelp')} type="url" {...field('url')} />
            <TextField
              label={t('personal.webhookSecret')}
              help={saved.webhook_secret_set === true ? t('settings.secretSet') : t('settings.secretEmpty')}
              type="password"
              autoComplete="new-password"
              {...field('secret')}
            />
          </>
        ) : (
          <TextField
            label={t('personal.noticeEmail')}
            help={t('personal.noticeEmailHelp')}
            type="email"
            {...field('email')}
          />
        )}
        {typed.kind === 'email' && needsCode ? (
          <>
            <TextField
              label={t('account.code')}
              help={t('personal.noticeEmailCode')}
              autoComplete="one-time-code"
              {...field('code')}
            />
            <div className="mb-4">
              <CodeButton email={typed.email.trim()} turnstile={bot.token.current} mayAsk={bot.isReady} />
            </div>
            <BotCheck token={bot.token} round={0} />
          </>
        ) : null}
        <p role="alert" className="mb-3 text-danger">
          {form.error}
        </p>
        <button type="submit" className="button button-primary">
          {t('app.save')}
        </button>
      </CheckedForm>
    </Card>
  );
}
