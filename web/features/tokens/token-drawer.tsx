import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { Field } from '../../components/form.tsx';
import { Drawer } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { dateTime, money, parseDateTime } from '../../lib/format.ts';

const presets = [500_000, 5_000_000, 25_000_000, 50_000_000, 250_000_000, 500_000_000];
const spans = [
  ['never', null],
  ['oneHour', 3600],
  ['oneDay', 86_400],
  ['oneMonth', 30 * 86_400],
] as const;

export interface TokenDrawerProps {
  /** null = a new one. */
  readonly token: Token | null;
  readonly onClose: () => void;
  readonly onSaved: (token: Token, fresh: boolean) => void;
}

export function TokenDrawer({ token, onClose, onSaved }: TokenDrawerProps) {
  const { t } = useTranslation();
  const [name, setName] = useState(token?.name ?? '');
  const [quota, setQuota] = useState(String(token?.remain_quota ?? 500_000));
  const [unlimited, setUnlimited] = useState(token?.unlimited_quota ?? false);
  const [expires, setExpires] = useState(
    token === null || token.expired_time === -1 ? '-1' : dateTime(token.expired_time),
  );
  const [models, setModels] = useState(token?.model_limits ?? '');
  const [ips, setIps] = useState(token?.allow_ips ?? '');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const at = parseDateTime(expires);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (at === null) return setError(t('tokens.badExpiry'));
    setBusy(true);
    const fields = {
      name,
      remain_quota: Number.parseInt(quota, 10) || 0,
      unlimited_quota: unlimited,
      expired_time: at,
      model_limits_enabled: models.trim() !== '',
      model_limits: models,
      allow_ips: ips,
    };
    try {
      onSaved(
        token === null ? await call('token.create', fields) : await call('token.update', { id: token.id, ...fields }),
        token === null,
      );
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
    }
  };

  return (
    <Drawer
      title={token === null ? t('tokens.add') : t('tokens.edit')}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {t('app.cancel')}
          </button>
          <button type="submit" form="token-form" className="button button-primary" disabled={busy}>
            {t('app.save')}
          </button>
        </>
      }
    >
      <form id="token-form" onSubmit={submit} noValidate>
        <Field label={t('tokens.name')}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              value={name}
              onChange={(event) => setName(event.target.value)}
              autoComplete="off"
            />
          )}
        </Field>
        <Field
          label={t('tokens.quota')}
          help={unlimited ? undefined : t('tokens.quotaHelp', { usd: money(Number.parseInt(quota, 10) || 0) })}
        >
          {(ids) => (
            <input
              {...ids}
              className="field"
              inputMode="numeric"
              disabled={unlimited}
              value={quota}
              onChange={(event) => setQuota(event.target.value)}
            />
          )}
        </Field>
        <div className="-mt-2 mb-4 flex flex-wrap items-center gap-1.5">
          {presets.map((preset) => (
            <button
              key={preset}
              type="button"
              className="button"
              disabled={unlimited}
              onClick={() => setQuota(String(preset))}
            >
              {`$${preset / 500_000}`}
            </button>
          ))}
          <label className="ml-2 flex items-center gap-2">
            <input
              type="checkbox"
              className="accent-(--accent)"
              checked={unlimited}
              onChange={(event) => setUnlimited(event.target.checked)}
            />
            {t('tokens.unlimited')}
          </label>
        </div>
        <Field
          label={t('tokens.expires')}
          help={t('tokens.expiryFormat')}
          error={at === null ? t('tokens.badExpiry') : undefined}
        >
          {(ids) => (
            <input {...ids} className="field" value={expires} onChange={(event) => setExpires(event.target.value)} />
          )}
        </Field>
        <div className="-mt-2 mb-4 flex flex-wrap gap-1.5">
          {spans.map(([label, seconds]) => (
            <button
              key={label}
              type="button"
              className="button"
              onClick={() => setExpires(seconds === null ? '-1' : dateTime(Math.floor(Date.now() / 1000) + seconds))}
            >
              {t(`tokens.${label}`)}
            </button>
          ))}
        </div>
        <Field label={t('tokens.models')} help={t('tokens.modelsHelp')}>
          {(ids) => (
            <input {...ids} className="field" value={models} onChange={(event) => setModels(event.target.value)} />
          )}
        </Field>
        <Field label={t('tokens.ips')} help={t('tokens.ipsHelp')}>
          {(ids) => (
            <textarea
              {...ids}
              className="field"
              rows={3}
              value={ips}
              onChange={(event) => setIps(event.target.value)}
            />
          )}
        </Field>
        <p role="alert" className="text-danger">
          {error}
        </p>
      </form>
    </Drawer>
  );
}
