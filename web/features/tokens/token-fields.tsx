/** The fields of a token. */

import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { parseNumber } from '../../../server/contract/amount.ts';
import type { Token } from '../../../server/contract/entities.ts';
import { autoGroups, cheapestGroups } from '../../../server/contract/key-groups.ts';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { budgetNames, rateLimitNames, wrongNetwork } from '../../../server/contract/token-fields.ts';
import { moneyIn, moneyOf } from '../../components/amount.ts';
import { MoneyField, NumberField } from '../../components/amount-fields.tsx';
import { useSubmitted } from '../../components/checked-form.tsx';
import { ExpiryField } from '../../components/expiry-field.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { Segment } from '../../components/segment.tsx';
import { SelectField } from '../../components/select.tsx';
import type { FieldOf } from '../../components/use-form.ts';
import { call } from '../../lib/api.ts';
import { expiryOf } from '../../lib/expiry.ts';
import { day, grouped } from '../../lib/format.ts';
import { sentences } from '../../lib/i18n.ts';
import { type SpendWindow, spendWindows } from '../../lib/key-usage.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { ChannelsField } from './channels-field.tsx';
import { namesIn, Sentence } from './key-summary.tsx';
import { type ModelDetails, requestsFor, useModelDetails } from './model-details.ts';
import { ModelsField } from './models-field.tsx';
import { amountBounds, budgetBounds, expiryAt, limitBounds, type TokenForm } from './token-form.ts';

/** Units of currency. */
const presets = [1, 5, 10, 50, 100, 500, 1000];
const rateUnits = {
  rpm_limit: 'tokens.perMinute',
  tpm_limit: 'tokens.perMinute',
  concurrency_limit: undefined,
} as const;

const noModels: readonly ModelDetails[] = [];
/** Tokens made at once. */
const batches = [1, 10, 20, 30, 100];

interface PartProps {
  readonly form: TokenForm;
  /** null = a new one. */
  readonly token: Token | null;
  readonly details: MoneyDetails;
  /** Stable. */
  readonly onChange: (change: Partial<TokenForm>) => void;
  readonly field: FieldOf<TokenForm>;
}

/** How much, and in which time. */
function SpendField({ form, token, details, onChange }: PartProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const { spend } = form;
  const amount = moneyOf(form.amount, details, amountBounds(token, spend));
  /** The amount moves with the choice; a further limit of the same time would contradict it. */
  const select = (next: SpendWindow) =>
    onChange({
      spend: next,
      limits: next === 'day' || next === 'month' ? { ...form.limits, [`${next}_budget`]: '' } : form.limits,
    });
  return (
    <>
      <div className="flex flex-wrap items-end gap-x-2">
        <div className="w-52 max-sm:w-full">
          <MoneyField
            label={t('tokens.quota')}
            bounds={amountBounds(token, spend)}
            disabled={spend === 'none'}
            value={spend === 'none' ? '' : form.amount}
            empty={spend === 'none' ? t('tokens.noLimit') : undefined}
            onChange={(value) => onChange({ amount: value })}
          />
        </div>
        <div className="mb-4 min-h-8 content-center">
          <Segment
            label={t('tokens.spendIn')}
            value={spend}
            options={spendWindows.map((window) => [window, t(`tokens.spend.${window}`)])}
            onChange={select}
          />
        </div>
      </div>
      <p className="-mt-3 mb-2 text-[12px] leading-4 text-ink-3">
        {spend === 'none'
          ? t('tokens.spendHelp.none')
          : sentences(
              amount.kind === 'value' ? t('tokens.asQuota', { quota: grouped(amount.value) }) : '',
              t(`tokens.spendHelp.${spend}`),
            )}
      </p>
      <div className="mb-4 flex flex-wrap items-center gap-1.5 max-sm:grid max-sm:grid-cols-4">
        {presets.map((preset) => {
          const quota = preset * details.quotaPerUnit;
          const taken = spend !== 'none' && amount.kind === 'value' && amount.value === quota;
          return (
            <button
              key={preset}
              type="button"
              aria-pressed={taken}
              className={`button ${taken ? 'border-accent bg-accent-soft text-accent-text' : ''}`}
              disabled={spend === 'none'}
              onClick={() => onChange({ amount: moneyIn(quota, details) })}
            >
              {money(quota, 'whole')}
            </button>
          );
        })}
      </div>
    </>
  );
}

/** Stands for several groups, whose names are in a field of their own. */
const several = ',';

function GroupField({ form, field, onChange }: PartProps) {
  const { t } = useTranslation();
  const groups = (useOptionalRead({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ??
    {}) as Record<string, { desc?: string; ratio?: number }>;
  const names = Object.keys(groups);
  const hasOrder = form.group.includes(several);
  const isWord = form.group === autoGroups || form.group === cheapestGroups;
  const orders: readonly (readonly [string, string])[] =
    names.length > 1 || hasOrder || isWord
      ? [
          [autoGroups, t('tokens.groupAuto')],
          [cheapestGroups, t('tokens.groupCheapest')],
          [several, t('tokens.groupSeveral')],
        ]
      : [];
  return (
    <>
      <SelectField
        label={t('tokens.group')}
        options={[
          ['', t('tokens.ownGroup')],
          ...Object.entries(groups).map(([key, { desc, ratio }]) => [key, `${desc || key} (${ratio ?? 1}×)`] as const),
          ...orders.filter(([key]) => !names.includes(key)),
        ]}
        value={hasOrder ? several : form.group}
        onChange={(group) => onChange({ group: group === several ? names.join(several) : group })}
      />
      {hasOrder ? (
        <TextField
          label={t('tokens.groupOrder')}
          help={t('tokens.groupOrderHelp')}
          autoComplete="off"
          {...field('group')}
        />
      ) : null}
    </>
  );
}

/** Administrators set them: what a label bounds is shared by all keys that have it. */
function LabelsField({ field }: PartProps) {
  const { t } = useTranslation();
  const user = useUser();
  if (!isAdmin(user)) return null;
  return <TextField label={t('tokens.labels')} help={t('tokens.labelsHelp')} autoComplete="off" {...field('labels')} />;
}

/** How many of them. */
function CountField({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <SelectField
      label={t('tokens.count')}
      help={form.count > 1 ? t('tokens.countHelp') : undefined}
      value={String(form.count)}
      options={batches.map((one) => [String(one), String(one)] as const)}
      onChange={(count) => onChange({ count: Number(count) })}
    />
  );
}

function LimitFields({ form, onChange }: PartProps) {
  const { t } = useTranslation();
  return (
    <details className="mb-4 open:col-span-full">
      <summary className="cursor-pointer text-ink-2">{t('tokens.limits')}</summary>
      <div className="mt-3 grid gap-x-3 sm:grid-cols-2">
        {budgetNames
          .filter((limit) => limit !== `${form.spend}_budget`)
          .map((limit) => (
            <MoneyField
              key={limit}
              label={t(`tokens.${limit}`)}
              empty={t('tokens.noLimit')}
              bounds={budgetBounds}
              value={form.limits[limit]}
              onChange={(value) => onChange({ limits: { ...form.limits, [limit]: value } })}
            />
          ))}
        {rateLimitNames.map((limit) => (
          <NumberField
            key={limit}
            label={t(`tokens.${limit}`)}
            unit={rateUnits[limit] === undefined ? undefined : t(rateUnits[limit])}
            empty={t('tokens.noLimit')}
            bounds={limitBounds}
            value={form.limits[limit]}
            onChange={(value) => onChange({ limits: { ...form.limits, [limit]: value } })}
          />
        ))}
      </div>
    </details>
  );
}

/** What the form says so far; amounts that cannot be read are left out. */
export function LiveSentence({ form, token, details }: Pick<PartProps, 'form' | 'token' | 'details'>) {
  const { i18n } = useTranslation();
  const models = useModelDetails(form.group) ?? noModels;
  const money = useMoney();
  const { spend } = form;
  const main = moneyOf(form.amount, details, amountBounds(token, spend));
  const quota = spend === 'none' || main.kind !== 'value' ? null : main.value;
  const amountOf = (limit: (typeof budgetNames)[number]): string | null => {
    if (limit === `${spend}_budget`) return quota === null ? null : money(quota);
    const amount = moneyOf(form.limits[limit], details, budgetBounds);
    return amount.kind === 'value' ? money(amount.value) : null;
  };
  const expiry = expiryOf(form.expires, expiryAt(token));
  const rpm = parseNumber(form.limits.rpm_limit, limitBounds);
  return (
    <Sentence
      summary={{
        name: form.name.trim(),
        total: spend === 'total' && quota !== null ? money(quota) : null,
        day: amountOf('day_budget'),
        month: amountOf('month_budget'),
        models: form.models,
        until: expiry.kind === 'at' && expiry.seconds > 0 ? day(expiry.seconds, i18n.language) : null,
        networks: namesIn(form.ips).length,
        rpm: rpm.kind === 'value' ? rpm.value : 0,
        requests: quota === null ? null : requestsFor(quota, models, form.models),
      }}
    />
  );
}

/** What was stored before addresses were looked at may stay. */
function AddressesField({ form, token, onChange, field }: PartProps) {
  const { t } = useTranslation();
  const [left, setLeft] = useState(false);
  const submitted = useSubmitted();
  const wrong = form.ips === token?.allow_ips ? undefined : wrongNetwork(form.ips);
  return (
    <Field
      label={t('tokens.ips')}
      help={t('tokens.ipsHelp')}
      unreadable={wrong !== undefined}
      error={
        wrong !== undefined && (left || submitted) ? t('tokens.wrongAddress', { address: wrong }) : field('ips').error
      }
    >
      {(ids) => (
        <textarea
          {...ids}
          className="field"
          rows={3}
          value={form.ips}
          onChange={(event) => onChange({ ips: event.target.value })}
          onBlur={() => setLeft(true)}
        />
      )}
    </Field>
  );
}

export function TokenFields(part: PartProps) {
  const { t } = useTranslation();
  const { form, token, onChange } = part;
  const models = useModelDetails(form.group) ?? noModels;
  const chooseModels = useCallback((selected: readonly string[]) => onChange({ models: selected }), [onChange]);
  return (
    <>
      <TextField label={t('tokens.name')} autoComplete="off" {...part.field('name')} />
      <SpendField {...part} />
      <ModelsField details={models} selected={form.models} onChange={chooseModels} />
      <ExpiryField stored={expiryAt(token)} {...part.field('expires')} />
      <div className="grid gap-x-3 sm:grid-cols-2">
        <GroupField {...part} />
        {token === null ? <CountField {...part} /> : null}
      </div>
      <LabelsField {...part} />
      <div className="grid gap-x-3 sm:grid-cols-3">
        <LimitFields {...part} />
        <details className="mb-4 open:col-span-full">
          <summary className="cursor-pointer text-ink-2">
            {t('app.named', {
              name: t('tokens.addresses'),
              value: namesIn(form.ips).length === 0 ? t('tokens.anyAddress') : namesIn(form.ips).length,
            })}
          </summary>
          <div className="mt-3">
            <AddressesField {...part} />
          </div>
        </details>
        <ChannelsField selected={form.channels} onChange={(channels) => onChange({ channels })} />
      </div>
    </>
  );
}
