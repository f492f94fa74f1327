/** What most channels leave as it is. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../components/form.tsx';
import { type ChannelForm, type ChannelType, isJsonOrBlank, settingIn, withSetting } from './channel-form.ts';
import { namesIn } from './model-list.ts';

export interface ChannelAdvancedProps {
  readonly form: ChannelForm;
  readonly provider: ChannelType | undefined;
  readonly groups: readonly string[];
  readonly onChange: (change: Partial<ChannelForm>) => void;
}

/** Names of dialects, as their makers call them. */
const dialectNames: Readonly<Record<string, string>> = {
  'openai-chat': 'OpenAI Chat Completions',
  'openai-responses': 'OpenAI Responses',
  'anthropic-messages': 'Anthropic Messages',
  'gemini-generate': 'Gemini generateContent',
};

export function ChannelAdvanced({ form, provider, groups, onChange }: ChannelAdvancedProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const setting = settingIn(form.setting);
  const put = (name: string, value: string | boolean | undefined) =>
    onChange({ setting: withSetting(form.setting, name, value) });
  const word = (name: string): string => (typeof setting?.[name] === 'string' ? setting[name] : '');
  const ownGroups = namesIn(form.group);
  const json = (
    name: 'model_mapping' | 'status_code_mapping' | 'param_override' | 'setting',
    label: string,
    help: string,
  ) => (
    <Field
      label={label}
      help={help}
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
  const line = (
    name: 'priority' | 'weight' | 'tag' | 'openai_organization' | 'test_model',
    label: string,
    help?: string,
  ) => (
    <Field label={label} help={help}>
      {(ids) => (
        <input
          {...ids}
          className="field"
          inputMode={name === 'priority' || name === 'weight' ? 'numeric' : undefined}
          list={name === 'test_model' ? 'channel-test-models' : undefined}
          value={form[name]}
          onChange={(event) => onChange({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
  const flag = (label: string, help: string, on: boolean, change: (on: boolean) => void) => (
    <label className="flex gap-2 py-1.5">
      <input
        type="checkbox"
        className="mt-0.5 size-4 flex-none accent-(--accent)"
        checked={on}
        disabled={setting === null}
        onChange={(event) => change(event.target.checked)}
      />
      <span>
        {label}
        <span className="block text-[12px] leading-4 text-ink-3">{help}</span>
      </span>
    </label>
  );
  return (
    <>
      <Field label={t('channels.group')} help={t('channels.groupHelp')}>
        {(ids) => (
          <>
            <input
              {...ids}
              className="field"
              value={form.group}
              onChange={(event) => onChange({ group: event.target.value })}
            />
            <span className="flex flex-wrap gap-1">
              {groups.map((name) => (
                <button
                  key={name}
                  type="button"
                  aria-pressed={ownGroups.includes(name)}
                  className={`h-6 rounded-1 px-2 text-[12px] max-sm:h-9 ${ownGroups.includes(name) ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
                  onClick={() =>
                    onChange({
                      group: (ownGroups.includes(name)
                        ? ownGroups.filter((one) => one !== name)
                        : [...ownGroups, name]
                      ).join(','),
                    })
                  }
                >
                  {name}
                </button>
              ))}
            </span>
          </>
        )}
      </Field>
      <button
        type="button"
        className="button button-ghost mb-3 -ml-2"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {open ? '▾' : '▸'} {t('channels.advanced')}
      </button>
      {open ? (
        <>
          <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
            {line('priority', t('channels.priority'), t('channels.priorityHelp'))}
            {line('weight', t('channels.weight'), t('channels.weightHelp'))}
            {line('tag', t('channels.tag'))}
          </div>
          {line('test_model', t('channels.testModel'), t('channels.testModelHelp'))}
          <datalist id="channel-test-models">
            {namesIn(form.models).map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          {provider?.organization || form.openai_organization !== ''
            ? line('openai_organization', t('channels.organization'), t('channels.organizationHelp'))
            : null}
          {json('model_mapping', t('channels.mapping'), t('channels.mappingHelp'))}
          {json('status_code_mapping', t('channels.statusMapping'), t('channels.statusMappingHelp'))}
          {json('param_override', t('channels.override'), t('channels.overrideHelp'))}
          <fieldset className="mb-4 border-t border-line pt-2">
            <legend className="sr-only">{t('channels.switches')}</legend>
            {flag(t('channels.autoBan'), t('channels.autoBanHelp'), form.auto_ban, (on) => onChange({ auto_ban: on }))}
            {flag(t('channels.passThrough'), t('channels.passThroughHelp'), setting?.pass_through === true, (on) =>
              put('pass_through', on),
            )}
            {flag(t('channels.forceFormat'), t('channels.forceFormatHelp'), setting?.force_format === true, (on) =>
              put('force_format', on),
            )}
            {flag(t('channels.thinking'), t('channels.thinkingHelp'), setting?.thinking_to_content === true, (on) =>
              put('thinking_to_content', on),
            )}
            {flag(t('channels.tiers'), t('channels.tiersHelp'), setting?.allow_tiers === true, (on) =>
              put('allow_tiers', on),
            )}
            {flag(t('channels.drain'), t('channels.drainHelp'), setting?.drain === true, (on) => put('drain', on))}
          </fieldset>
          <Field label={t('channels.dialect')} help={t('channels.dialectHelp')}>
            {(ids) => (
              <select
                {...ids}
                className="field"
                value={word('dialect')}
                disabled={setting === null}
                onChange={(event) => put('dialect', event.target.value)}
              >
                <option value="">{t('channels.dialectAuto')}</option>
                {[
                  ...new Set([...(provider?.dialects ?? []), ...(word('dialect') === '' ? [] : [word('dialect')])]),
                ].map((one) => (
                  <option key={one} value={one}>
                    {dialectNames[one] ?? one}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('channels.proxy')} help={t('channels.proxyHelp')}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                inputMode="url"
                placeholder="http://127.0.0.1:8118"
                value={word('proxy')}
                disabled={setting === null}
                onChange={(event) => put('proxy', event.target.value)}
              />
            )}
          </Field>
          <Field label={t('channels.region')} help={t('channels.regionHelp')}>
            {(ids) => (
              <input
                {...ids}
                className="field"
                value={word('region')}
                disabled={setting === null}
                onChange={(event) => put('region', event.target.value)}
              />
            )}
          </Field>
          {json('setting', t('channels.setting'), t('channels.settingHelp'))}
        </>
      ) : null}
    </>
  );
}
