/** How one is told that the balance is about to end, and what may be used without a price. */

import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { CheckBox } from '../../components/filters.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney, useMoneyFacts } from '../../shell/money.ts';

/** Units of currency. */
/** Quota, as the server has it where nothing was chosen. */
const firstThreshold = 100_000;
const presets = [0.2, 1, 2, 10];
const kinds = ['email', 'webhook'] as const;

function settingOf(self: User): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(self.setting || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

interface ThresholdFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function ThresholdField({ value, onChange }: ThresholdFieldProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const unit = useMoneyFacts()?.quotaPerUnit ?? 0;
  return (
    <Field label={t('personal.threshold')} help={money(Number(value) || 0)}>
      {(ids) => (
        <>
          <input
            {...ids}
            className="field"
            inputMode="numeric"
            list="thresholds"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          <datalist id="thresholds">
            {presets.map((preset) => (
              <option key={preset} value={preset * unit}>
                {money(preset * unit)}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

export function Notifications({ self }: { readonly self: User }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const saved = settingOf(self);
  const text = (key: string): string => (typeof saved[key] === 'string' ? saved[key] : '');
  const [kind, setKind] = useState<(typeof kinds)[number]>(text('notify_type') === 'webhook' ? 'webhook' : 'email');
  const [threshold, setThreshold] = useState(String(saved.quota_warning_threshold ?? firstThreshold));
  const [url, setUrl] = useState(text('webhook_url'));
  const [secret, setSecret] = useState('');
  const [email, setEmail] = useState(text('notification_email'));
  const [accept, setAccept] = useState(saved.accept_unset_model_ratio_model === true);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const done = await attempt(
      () =>
        call('account.setting', {
          notify_type: kind,
          quota_warning_threshold: Number(threshold),
          webhook_url: url,
          webhook_secret: secret,
          notification_email: email,
          accept_unset_model_ratio_model: accept,
        }),
      t('settings.saved'),
    );
    if (done) await client.invalidateQueries({ queryKey: ['self'] });
  };

  return (
    <Card title={t('personal.notifications')}>
      <form onSubmit={submit} noValidate>
        <div className="mb-4">
          <Segment
            label={t('personal.notifyBy')}
            value={kind}
            options={kinds.map((one) => [one, t(`personal.${one}`)])}
            onChange={setKind}
          />
        </div>
        <ThresholdField value={threshold} onChange={setThreshold} />
        {kind === 'webhook' ? (
          <>
            <TextField
              label={t('personal.webhookUrl')}
              help={t('personal.webhookHelp')}
              type="url"
              value={url}
              onChange={setUrl}
            />
            <TextField
              label={t('personal.webhookSecret')}
              help={saved.webhook_secret_set === true ? t('settings.secretSet') : t('settings.secretEmpty')}
              type="password"
              autoComplete="new-password"
              value={secret}
              onChange={setSecret}
            />
          </>
        ) : (
          <TextField
            label={t('personal.noticeEmail')}
            help={t('personal.noticeEmailHelp')}
            type="email"
            value={email}
            onChange={setEmail}
          />
        )}
        <CheckBox
          className="mb-4 flex items-center gap-2"
          label={t('personal.acceptUnset')}
          checked={accept}
          onChange={setAccept}
        />
        <button type="submit" className="button button-primary">
          {t('app.save')}
        </button>
      </form>
    </Card>
  );
}
