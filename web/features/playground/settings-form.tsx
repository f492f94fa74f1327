/** The settings beside the conversation. */

import { useTranslation } from 'react-i18next';
import { NumberField } from '../../components/amount-fields.tsx';
import { Field } from '../../components/form.tsx';
import { SelectField } from '../../components/select.tsx';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { type Settings, tokenTerms } from './use-settings.ts';

function GroupField({ settings: { group, change } }: { readonly settings: Settings }) {
  const { t } = useTranslation();
  const groups = useAside({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
  return (
    <SelectField
      label={t('playground.group')}
      value={group}
      options={[
        ['', t('playground.ownGroup')],
        ...Object.entries(groups as Record<string, { desc?: string; ratio?: number | string }>).map(
          ([name, { desc, ratio }]) => [name, `${desc || name} (${ratio ?? 1}×)`] as const,
        ),
      ]}
      onChange={(next) => change({ group: next })}
    />
  );
}

export function SettingsForm({ settings }: { readonly settings: Settings }) {
  const { t } = useTranslation();
  const { models, none, model, chosen, temperature, maxTokens, system, change } = settings;
  return (
    <div className="w-full flex-none sm:w-64">
      <GroupField settings={settings} />
      <Field label={t('playground.model')} help={none ? t('playground.noModels') : undefined}>
        {(ids) => (
          <>
            <input
              {...ids}
              className="field"
              list="playground-models"
              value={chosen === '' ? model : chosen}
              onChange={(event) => change({ chosen: event.target.value })}
            />
            <datalist id="playground-models">
              {models.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label={t('playground.temperature', { value: temperature })}>
        {(ids) => (
          <input
            {...ids}
            type="range"
            min={0.1}
            max={1}
            step={0.1}
            className="accent-(--accent)"
            value={temperature}
            onChange={(event) => change({ temperature: Number(event.target.value) })}
          />
        )}
      </Field>
      <NumberField
        label={t('playground.maxTokens')}
        empty={t('playground.modelDecides')}
        terms={tokenTerms}
        value={maxTokens}
        onChange={(value) => change({ maxTokens: value })}
      />
      <Field label={t('playground.system')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field"
            rows={4}
            placeholder={t('playground.defaultSystem')}
            value={system}
            onChange={(event) => change({ system: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
