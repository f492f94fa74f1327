import { useQuery } from '@tanstack/react-query';
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

/** Source: specification 002 section 9. */
const batches = [1, 10, 20, 30, 100];
const suffixAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const suffix = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join(
    '',
  );
const limitNames = ['day_budget', 'month_budget', 'rpm_limit', 'tpm_limit', 'concurrency_limit'] as const;

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
  const [group, setGroup] = useState(token?.group ?? '');
  const [count, setCount] = useState(1);
  const [limits, setLimits] = useState(
    Object.fromEntries(limitNames.map((limit) => [limit, String(token?.[limit] ?? 0)])) as Record<
      (typeof limitNames)[number],
      string
    >,
  );
  const groups = useQuery({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
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
      group,
      ...Object.fromEntries(limitNames.map((limit) => [limit, Math.max(0, Number.parseInt(limits[limit], 10) || 0)])),
    };
    try {
      if (token !== null) return onSaved(await call('token.update', { id: token.id, ...fields }), false);
      const first = await call('token.create', fields);
      for (let made = 1; made < count; made++) await call('token.create', { ...fields, name: `${name}-${suffix()}` });
      onSaved(first, true);
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
        <Field label={t('tokens.group')}>
          {(ids) => (
            <select {...ids} className="field" value={group} onChange={(event) => setGroup(event.target.value)}>
              <option value="">{t('tokens.ownGroup')}</option>
              {Object.entries(groups as Record<string, { desc?: string; ratio?: number }>).map(
                ([key, { desc, ratio }]) => (
                  <option key={key} value={key}>
                    {`${desc || key} (${ratio ?? 1}×)`}
                  </option>
                ),
              )}
            </select>
          )}
        </Field>
        {token === null ? (
          <Field label={t('tokens.count')} help={t('tokens.countHelp')}>
            {(ids) => (
              <select
                {...ids}
                className="field"
                value={count}
                onChange={(event) => setCount(Number(event.target.value))}
              >
                {batches.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
        ) : null}
        <details className="mb-4">
          <summary className="cursor-pointer text-ink-2">{t('tokens.limits')}</summary>
          <div className="mt-3 grid gap-x-3 sm:grid-cols-2">
            {limitNames.map((limit) => (
              <Field key={limit} label={t(`tokens.${limit}`)} help={t('tokens.zeroNone')}>
                {(ids) => (
                  <input
                    {...ids}
                    className="field"
                    inputMode="numeric"
                    value={limits[limit]}
                    onChange={(event) => setLimits({ ...limits, [limit]: event.target.value })}
                  />
                )}
              </Field>
            ))}
          </div>
        </details>
        <p role="alert" className="text-danger">
          {error}
        </p>
      </form>
    </Drawer>
  );
}
