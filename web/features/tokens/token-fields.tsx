/** The fields of a token. */

import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import type { MoneyFacts } from '../../../server/contract/pricing/format.ts';
import { moneyIn, moneyOf } from '../../components/amount.ts';
import { MoneyField, NumberField } from '../../components/amount-fields.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { CheckBox } from '../../components/filters.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { SelectField } from '../../components/select.tsx';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';
import {
  budgetBounds,
  budgetNames,
  expiryAt,
  limitTerms,
  quotaBounds,
  rateNames,
  type TokenForm,
} from './token-form.ts';

/** Units of currency. */
const presets = [1, 10, 50, 100, 500, 1000];
const rateUnits = {
  rpm_limit: 'tokens.perMinute',
  tpm_limit: 'tokens.perMinute',
  concurrency_limit: undefined,
} as const;

/** Tokens made at once. */
const batches = [1, 10, 20, 30, 100];

interface PartProps {
  readonly form: TokenForm;
  /** null = a new one. */
  readonly token: Token | null;
  readonly facts: MoneyFacts;
  readonly onChange: (change: Partial<TokenForm>) => void;
}

function QuotaField({ form, token, facts, onChange }: PartProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const amount = moneyOf(form.quota, facts, quotaBounds(token));
  return (
    <>
      <MoneyField
        label={t('tokens.quota')}
        help={
          form.unlimited || amount.kind !== 'value' ? undefined : t('tokens.quotaHelp', { usd: money(amount.value) })
        }
        bounds={quotaBounds(token)}
        disabled={form.unlimited}
        value={form.quota}
        onChange={(quota) => onChange({ quota })}
      />
      <div className="-mt-2 mb-4 flex flex-wrap items-center gap-1.5">
        {presets.map((preset) => (
          <button
            key={preset}
            type="button"
            className="button"
            disabled={form.unlimited}
            onClick={() => onChange({ quota: moneyIn(preset * facts.quotaPerUnit, facts) })}
          >
            {money(preset * facts.quotaPerUnit, 'whole')}
          </button>
        ))}
        <CheckBox
          className="ml-2 flex items-center gap-2"
          label={t('tokens.unlimited')}
          checked={form.unlimited}
          onChange={(unlimited) => onChange({ unlimited })}
        />
      </div>
    </>
  );
}

function GroupField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  const groups = useAside({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
  return (
    <SelectField
      label={t('tokens.group')}
      value={form.group}
      options={[
        ['', t('tokens.ownGroup')],
        ...Object.entries(groups as Record<string, { desc?: string; ratio?: number }>).map(
          ([key, { desc, ratio }]) => [key, `${desc || key} (${ratio ?? 1}×)`] as const,
        ),
      ]}
      onChange={(group) => onChange({ group })}
    />
  );
}

/** How many of them. */
function CountField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <SelectField
      label={t('tokens.count')}
      help={t('tokens.countHelp')}
      value={String(form.count)}
      options={batches.map((one) => [String(one), String(one)] as const)}
      onChange={(count) => onChange({ count: Number(count) })}
    />
  );
}

function LimitFields({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <details className="mb-4">
      <summary className="cursor-pointer text-ink-2">{t('tokens.limits')}</summary>
      <div className="mt-3 grid gap-x-3 sm:grid-cols-2">
        {budgetNames.map((limit) => (
          <MoneyField
            key={limit}
            label={t(`tokens.${limit}`)}
            empty={t('tokens.noLimit')}
            bounds={budgetBounds}
            value={form.limits[limit]}
            onChange={(value) => onChange({ limits: { ...form.limits, [limit]: value } })}
          />
        ))}
        {rateNames.map((limit) => (
          <NumberField
            key={limit}
            label={t(`tokens.${limit}`)}
            unit={rateUnits[limit] === undefined ? undefined : t(rateUnits[limit])}
            empty={t('tokens.noLimit')}
            terms={limitTerms}
            value={form.limits[limit]}
            onChange={(value) => onChange({ limits: { ...form.limits, [limit]: value } })}
          />
        ))}
      </div>
    </details>
  );
}

export function TokenFields(part: PartProps) {
  const { t } = useTranslation();
  const { form, token, onChange } = part;
  return (
    <>
      <TextField
        label={t('tokens.name')}
        value={form.name}
        onChange={(name) => onChange({ name })}
        autoComplete="off"
      />
      <QuotaField {...part} />
      <ExpiryField value={form.expires} stored={expiryAt(token)} onChange={(expires) => onChange({ expires })} />
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
      {token === null ? <CountField {...part} /> : null}
      <LimitFields {...part} />
    </>
  );
}
