/** Fields that most channels leave as they are. */

import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { maxChannelFactor, minChannelFactor } from '../../../server/contract/pricing/channel-factor.ts';
import { NumberField } from '../../components/amount-fields.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { SelectField } from '../../components/select.tsx';
import {
  type ChannelForm,
  type ChannelType,
  isJsonOrBlank,
  priorityBounds,
  ruleMembers,
  settingIn,
  weightBounds,
  withSetting,
} from './channel-form.ts';
import { ChannelOptions } from './channel-options.tsx';
import { namesIn } from './model-list.ts';

export interface AdvancedFieldsProps {
  readonly form: ChannelForm;
  readonly provider: ChannelType | undefined;
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

interface PartProps extends Omit<AdvancedFieldsProps, 'provider'> {
  readonly label: string;
  readonly help: string;
}

function JsonField({
  name,
  label,
  help,
  form,
  onChange,
}: PartProps & {
  readonly name: 'model_mapping' | 'status_code_mapping' | 'param_override' | 'setting';
}) {
  const { t } = useTranslation();
  return (
    <Field
      label={label}
      help={help}
      unreadable={!isJsonOrBlank(form[name])}
      error={
        isJsonOrBlank(form[name]) ? undefined : t(name === 'model_mapping' ? 'channels.badMapping' : 'channels.badJson')
      }
    >
      {(ids) => (
        <textarea
          {...ids}
          className="field font-mono"
          rows={3}
          value={form[name]}
          onChange={(event) => onChange({ [name]: event.target.value })}
          spellCheck={false}
        />
      )}
    </Field>
  );
}

/** How much of its list price an upstream charges. */
export const costBounds = { max: 100 } as const;

export const factorBounds = { min: minChannelFactor, max: maxChannelFactor } as const;
/** What is no number yet stays as it is typed. */
const withFactor = (setting: string, typed: string): string =>
  withSetting(setting, 'channel_factor', typed.trim() === '' || Number.isNaN(Number(typed)) ? typed : Number(typed));

function DialectField({ form, provider, onChange }: AdvancedFieldsProps) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const dialect = typeof setting?.dialect === 'string' ? setting.dialect : '';
  const dialects = new Set([...(provider?.dialects ?? []), ...(dialect === '' ? [] : [dialect])]);
  return (
    <SelectField
      label={t('channels.dialect')}
      help={t('channels.dialectHelp')}
      value={dialect}
      disabled={setting === null}
      options={[
        ['', t('channels.dialectAuto')],
        ...[...dialects].map((one) => [one, provider?.dialect_labels[one] ?? one] as const),
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'dialect', value) })}
    />
  );
}

function UnknownIdsField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const selected = setting?.unknown_ids;
  return (
    <SelectField
      label={t('channels.unknownIds')}
      help={t('channels.unknownIdsHelp')}
      value={selected === 'allow' || selected === 'refuse' ? selected : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.unknownIdsUsual')],
        ['allow', t('channels.unknownIdsAllow')],
        ['refuse', t('channels.unknownIdsRefuse')],
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'unknown_ids', value) })}
    />
  );
}

function TrustedUsageField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const selected = setting?.trusted_usage;
  return (
    <SelectField
      label={t('channels.trustedUsage')}
      help={t('channels.trustedUsageHelp')}
      value={typeof selected === 'boolean' ? String(selected) : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.trustedUsageUsual')],
        ['true', t('channels.trustedUsageYes')],
        ['false', t('channels.trustedUsageNo')],
      ]}
      onChange={(value) =>
        onChange({ setting: withSetting(form.setting, 'trusted_usage', value === '' ? '' : value === 'true', true) })
      }
    />
  );
}

function BillAnsweredField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  return (
    <SelectField
      label={t('channels.billAnswered')}
      help={t('channels.billAnsweredHelp')}
      value={setting?.bill_answered === true ? 'true' : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.billAnsweredNo')],
        ['true', t('channels.billAnsweredYes')],
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'bill_answered', value === 'true') })}
    />
  );
}

function CacheDiagnosisField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  return (
    <SelectField
      label={t('channels.cacheDiagnosis')}
      help={t('channels.cacheDiagnosisHelp')}
      value={setting?.cache_diagnosis === true ? 'true' : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.cacheDiagnosisNo')],
        ['true', t('channels.cacheDiagnosisYes')],
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'cache_diagnosis', value === 'true') })}
    />
  );
}

function SystemMessagesField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const selected = setting?.system_messages;
  return (
    <SelectField
      label={t('channels.systemMessages')}
      help={t('channels.systemMessagesHelp')}
      value={selected === 'first' || selected === 'anywhere' ? selected : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.systemMessagesUsual')],
        ['first', t('channels.systemMessagesFirst')],
        ['anywhere', t('channels.systemMessagesAnywhere')],
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'system_messages', value) })}
    />
  );
}

function StreamsField({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const selected = setting?.upstream_streams;
  return (
    <SelectField
      label={t('channels.upstreamStreams')}
      help={t('channels.upstreamStreamsHelp')}
      value={selected === 'always' || selected === 'never' ? selected : ''}
      disabled={setting === null}
      options={[
        ['', t('channels.upstreamStreamsUsual')],
        ['always', t('channels.upstreamStreamsAlways')],
        ['never', t('channels.upstreamStreamsNever')],
      ]}
      onChange={(value) => onChange({ setting: withSetting(form.setting, 'upstream_streams', value) })}
    />
  );
}

const wholeBounds = { integer: true, min: 1 } as const;
const secondsBounds = { integer: true, min: 1, max: 86_400 } as const;
/** What is no number yet stays as it is typed, and its field says so. */
const numberOr = (text: string): string | number => (/^\d+$/.test(text) ? Number(text) : text);

function LimitField({ name, label, form, onChange }: Omit<PartProps, 'help'> & { readonly name: LimitName }) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  return (
    <NumberField
      label={label}
      help={t('channels.limitHelp')}
      bounds={secondsBounds}
      empty=""
      value={String(setting?.[name] ?? '')}
      disabled={setting === null}
      onChange={(text) => onChange({ setting: withSetting(form.setting, name, numberOr(text)) })}
    />
  );
}
type LimitName = 'first_byte_seconds' | 'upstream_idle_seconds';

/** When a model or a key is left out, where the channel has a rule of its own. */
function OffRuleFields({ form, onChange }: Omit<AdvancedFieldsProps, 'provider'>) {
  const { t } = useTranslation();
  const setting = settingIn(form.setting);
  const rule = Object(setting?.off_after) as Readonly<Record<string, unknown>>;
  const texts = ruleMembers.map((name) => String(rule[name] ?? ''));
  const isPartial = texts.some((text) => text !== '') && texts.some((text) => text === '');
  const put = (name: string, text: string) => {
    const { [name]: _, ...rest } = rule;
    const next = text === '' ? rest : { ...rest, [name]: numberOr(text) };
    onChange({
      setting: withSetting(form.setting, 'off_after', Object.keys(next).length === 0 ? undefined : next),
    });
  };
  return (
    <fieldset className="mb-4">
      <legend className="mb-1 text-[12px] leading-4 font-medium text-ink-2">{t('channels.offRule')}</legend>
      <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
        {ruleMembers.map((name, at) => (
          <NumberField
            key={name}
            label={t(`channels.offRule_${name}`)}
            bounds={wholeBounds}
            empty=""
            value={texts[at] ?? ''}
            disabled={setting === null}
            error={isPartial && texts[at] === '' ? t('channels.offRuleAll') : undefined}
            onChange={(text) => put(name, text)}
          />
        ))}
      </div>
      <p className="-mt-2 text-[12px] leading-4 text-ink-3">{t('channels.offRuleHelp')}</p>
    </fieldset>
  );
}

/** A word of the setting. */
function SettingField({
  name,
  ...field
}: PartProps & {
  readonly name: 'proxy' | 'region';
  readonly inputMode?: 'url';
  readonly placeholder?: string;
}) {
  const { form, onChange, ...props } = field;
  const setting = settingIn(form.setting);
  const value = setting?.[name];
  return (
    <TextField
      {...props}
      value={typeof value === 'string' ? value : ''}
      disabled={setting === null}
      onChange={(next) => onChange({ setting: withSetting(form.setting, name, next) })}
    />
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title} className="mb-2 border-t border-line pt-3">
      <h3 className="mb-3 font-semibold">{title}</h3>
      {children}
    </section>
  );
}

export function AdvancedFields({ form, provider, onChange }: AdvancedFieldsProps) {
  const { t } = useTranslation();
  const both = { form, onChange };
  const line = (name: 'tag' | 'openai_organization' | 'test_model', label: string, help?: string) => (
    <TextField
      label={label}
      help={help}
      list={name === 'test_model' ? 'channel-test-models' : undefined}
      value={form[name]}
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  return (
    <>
      <Part title={t('channels.partRouting')}>
        <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
          <NumberField
            label={t('channels.priority')}
            help={t('channels.priorityHelp')}
            bounds={priorityBounds}
            words={() => t('channels.priorityWhole')}
            value={form.priority}
            onChange={(priority) => onChange({ priority })}
          />
          <NumberField
            label={t('channels.weight')}
            help={t('channels.weightHelp')}
            bounds={weightBounds}
            words={() => t('channels.weightWhole')}
            value={form.weight}
            onChange={(weight) => onChange({ weight })}
          />
          {line('tag', t('channels.tag'))}
        </div>
        <NumberField
          label={t('channels.costRatio')}
          help={t('channels.costRatioHelp')}
          bounds={costBounds}
          empty=""
          value={String(settingIn(form.setting)?.cost_ratio ?? '')}
          disabled={settingIn(form.setting) === null}
          onChange={(ratio) => onChange({ setting: withSetting(form.setting, 'cost_ratio', ratio) })}
        />
        <NumberField
          label={t('channels.priceFactor')}
          help={t('channels.priceFactorHelp')}
          bounds={factorBounds}
          empty=""
          value={String(settingIn(form.setting)?.channel_factor ?? '')}
          disabled={settingIn(form.setting) === null}
          onChange={(factor) => onChange({ setting: withFactor(form.setting, factor) })}
        />
        {line('test_model', t('channels.testModel'), t('channels.testModelHelp'))}
        <datalist id="channel-test-models">
          {namesIn(form.models).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </Part>
      <Part title={t('channels.partRequests')}>
        <JsonField {...both} name="model_mapping" label={t('channels.mapping')} help={t('channels.mappingHelp')} />
        <JsonField
          {...both}
          name="status_code_mapping"
          label={t('channels.statusMapping')}
          help={t('channels.statusMappingHelp')}
        />
        <JsonField {...both} name="param_override" label={t('channels.override')} help={t('channels.overrideHelp')} />
        <ChannelOptions form={form} onChange={onChange} />
        <DialectField form={form} provider={provider} onChange={onChange} />
        <SystemMessagesField {...both} />
        <StreamsField {...both} />
        <UnknownIdsField {...both} />
        <TrustedUsageField {...both} />
        <BillAnsweredField {...both} />
        <CacheDiagnosisField {...both} />
      </Part>
      <Part title={t('channels.partUpstream')}>
        {provider?.organization || form.openai_organization !== ''
          ? line('openai_organization', t('channels.organization'), t('channels.organizationHelp'))
          : null}
        <SettingField
          {...both}
          name="proxy"
          label={t('channels.proxy')}
          help={t('channels.proxyHelp')}
          inputMode="url"
          placeholder="http://127.0.0.1:8118"
        />
        <div className="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
          <LimitField {...both} name="first_byte_seconds" label={t('channels.firstByteSeconds')} />
          <LimitField {...both} name="upstream_idle_seconds" label={t('channels.idleSeconds')} />
        </div>
        <OffRuleFields {...both} />
        <SettingField {...both} name="region" label={t('channels.region')} help={t('channels.regionHelp')} />
        <JsonField {...both} name="setting" label={t('channels.setting')} help={t('channels.settingHelp')} />
      </Part>
    </>
  );
}
