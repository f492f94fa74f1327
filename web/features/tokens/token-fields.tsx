/** The fields of a token. */

import { useTranslation } from 'react-i18next';
import { Field, TextField } from '../../components/form.tsx';
import { call } from '../../lib/api.ts';
import { dateTime, parseDateTime } from '../../lib/format.ts';
import { useAside } from '../../lib/read.ts';
import { useMoney, useMoneyFacts } from '../../shell/money.ts';
import { limitNames, type TokenForm } from './token-form.ts';

/** Units of currency. */
const presets = [1, 10, 50, 100, 500, 1000];
const spans = [
  ['never', null],
  ['oneHour', 3600],
  ['oneDay', 86_400],
  ['oneMonth', 30 * 86_400],
] as const;

/** Tokens made at once. */
const batches = [1, 10, 20, 30, 100];

interface PartProps {
  readonly form: TokenForm;
  readonly onChange: (change: Partial<TokenForm>) => void;
}

function QuotaField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const unit = useMoneyFacts()?.quotaPerUnit ?? 0;
  return (
    <>
      <Field
        label={t('tokens.quota')}
        help={form.unlimited ? undefined : t('tokens.quotaHelp', { usd: money(Number.parseInt(form.quota, 10) || 0) })}
      >
        {(ids) => (
          <input
            {...ids}
            className="field"
            inputMode="numeric"
            disabled={form.unlimited}
            value={form.quota}
            onChange={(event) => onChange({ quota: event.target.value })}
          />
        )}
      </Field>
      <div className="-mt-2 mb-4 flex flex-wrap items-center gap-1.5">
        {presets.map((preset) => (
          <button
            key={preset}
            type="button"
            className="button"
            disabled={form.unlimited}
            onClick={() => onChange({ quota: String(preset * unit) })}
          >
            {money(preset * unit, 'whole')}
          </button>
        ))}
        <label className="ml-2 flex items-center gap-2">
          <input
            type="checkbox"
            className="accent-(--accent)"
            checked={form.unlimited}
            onChange={(event) => onChange({ unlimited: event.target.checked })}
          />
          {t('tokens.unlimited')}
        </label>
      </div>
    </>
  );
}

function ExpiryField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <>
      <Field
        label={t('tokens.expires')}
        help={t('tokens.expiryFormat')}
        error={parseDateTime(form.expires) === null ? t('tokens.badExpiry') : undefined}
      >
        {(ids) => (
          <input
            {...ids}
            className="field"
            value={form.expires}
            onChange={(event) => onChange({ expires: event.target.value })}
          />
        )}
      </Field>
      <div className="-mt-2 mb-4 flex flex-wrap gap-1.5">
        {spans.map(([label, seconds]) => (
          <button
            key={label}
            type="button"
            className="button"
            onClick={() =>
              onChange({ expires: seconds === null ? '-1' : dateTime(Math.floor(Date.now() / 1000) + seconds) })
            }
          >
            {t(`tokens.${label}`)}
          </button>
        ))}
      </div>
    </>
  );
}

function GroupField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  const groups = useAside({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
  return (
    <Field label={t('tokens.group')}>
      {(ids) => (
        <select
          {...ids}
          className="field"
          value={form.group}
          onChange={(event) => onChange({ group: event.target.value })}
        >
          <option value="">{t('tokens.ownGroup')}</option>
          {Object.entries(groups as Record<string, { desc?: string; ratio?: number }>).map(([key, { desc, ratio }]) => (
            <option key={key} value={key}>
              {`${desc || key} (${ratio ?? 1}×)`}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** How many of them. */
function CountField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <Field label={t('tokens.count')} help={t('tokens.countHelp')}>
      {(ids) => (
        <select
          {...ids}
          className="field"
          value={form.count}
          onChange={(event) => onChange({ count: Number(event.target.value) })}
        >
          {batches.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function LimitFields({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
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
                value={form.limits[limit]}
                onChange={(event) => onChange({ limits: { ...form.limits, [limit]: event.target.value } })}
              />
            )}
          </Field>
        ))}
      </div>
    </details>
  );
}

export interface TokenFieldsProps extends PartProps {
  /** There is no such token yet. */
  readonly fresh: boolean;
}

export function TokenFields({ fresh, form, onChange }: TokenFieldsProps) {
  const { t } = useTranslation();
  const part = { form, onChange };
  return (
    <>
      <TextField
        label={t('tokens.name')}
        value={form.name}
        onChange={(name) => onChange({ name })}
        autoComplete="off"
      />
      <QuotaField {...part} />
      <ExpiryField {...part} />
      <Field label={t('tokens.models')} help={t('tokens.modelsHelp')}>
        {(ids) => (
          <input
            {...ids}
            className="field"
            value={form.models}
            onChange={(event) => onChange({ models: event.target.value })}
          />
        )}
      </Field>
      <Field label={t('tokens.ips')} help={t('tokens.ipsHelp')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field"
            rows={3}
            value={form.ips}
            onChange={(event) => onChange({ ips: event.target.value })}
          />
        )}
      </Field>
      <GroupField {...part} />
      {fresh ? <CountField {...part} /> : null}
      <LimitFields {...part} />
    </>
  );
}
