/** What an operator says of models, rule by rule; or the JSON that is stored, to be pasted. */
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { modelParameters, thinkingForms } from '../../../server/contract/model-rules.ts';
import { useSubmitted } from '../../components/checked-form.tsx';
import { Field, TextField } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { SelectField } from '../../components/select.tsx';
import { WordToggles } from '../../components/word-toggles.tsx';
import { blankRule, rulesIn, type TypedRule, textOfRules } from './model-rules.ts';
import { JsonSwitch, JsonText, useKeyedRows } from './stored-json.tsx';

export interface ModelRulesFieldProps {
  readonly option: string;
  readonly label: string;
  readonly help: string;
  readonly error: string | undefined;
  readonly locked: boolean;
  /** JSON. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

interface RuleProps {
  readonly rule: TypedRule;
  readonly onChange: (some: Partial<TypedRule>) => void;
  readonly onRemove: () => void;
}

function Rule({ rule, onChange, onRemove }: RuleProps) {
  const { t } = useTranslation();
  const submitted = useSubmitted();
  const others = Object.keys(rule.rest);
  const parameters = modelParameters.map((name) => [name, name] as const);
  const named = rule.models === '' ? t('settings.rule.new') : rule.models;
  return (
    <fieldset className="min-w-0 border-b border-line px-3 pt-3 last:border-0">
      <legend className="sr-only">{named}</legend>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-x-4 sm:grid-cols-2 xl:grid-cols-4">
        <TextField
          className="field font-mono text-[12px]"
          label={t('settings.rule.models')}
          help={t('settings.rule.modelsHelp')}
          error={rule.models === '' && submitted ? t('app.required') : undefined}
          unreadable={rule.models === ''}
          value={rule.models}
          placeholder="^my-model"
          onChange={(models) => onChange({ models })}
        />
        <TextField
          label={t('settings.rule.provider')}
          help={t('settings.rule.providerHelp')}
          value={rule.provider}
          placeholder="openai"
          onChange={(provider) => onChange({ provider })}
        />
        <TextField
          label={t('settings.rule.outputCap')}
          inputMode="numeric"
          value={rule.outputCap}
          onChange={(outputCap) => onChange({ outputCap })}
        />
        <TextField
          label={t('settings.rule.inputLimit')}
          inputMode="numeric"
          value={rule.inputLimit}
          onChange={(inputLimit) => onChange({ inputLimit })}
        />
        <SelectField
          label={t('settings.rule.thinking')}
          value={rule.thinking}
          options={[
            ['', t('settings.rule.asKnown')],
            ...thinkingForms.map((form) => [form, t(`settings.rule.form.${form}`)] as const),
          ]}
          onChange={(thinking) => onChange({ thinking })}
        />
        <TextField
          label={t('settings.rule.efforts')}
          value={rule.efforts}
          placeholder="low, medium, high"
          onChange={(efforts) => onChange({ efforts })}
        />
        <div className="min-w-0 sm:col-span-2">
          <TextField
            label={t('settings.rule.source')}
            value={rule.source}
            onChange={(source) => onChange({ source })}
          />
        </div>
      </div>
      <WordToggles
        label={t('settings.rule.refuses')}
        values={modelParameters.filter((name) => rule.refuses.includes(name))}
        options={parameters}
        onChange={(refuses) => onChange({ refuses })}
      />
      <div className="mb-3 flex flex-wrap items-center gap-3 text-[12px] text-ink-3">
        {others.length + rule.takes.length === 0 ? null : (
          <span className="min-w-0 wrap-anywhere">
            {t('settings.rule.others', {
              names: [...(rule.takes.length === 0 ? [] : ['takes']), ...others].join(', '),
            })}
          </span>
        )}
        <button
          type="button"
          className="button button-ghost ml-auto text-danger"
          aria-label={t('app.named', { name: t('settings.rule.remove'), value: named })}
          onClick={onRemove}
        >
          {t('settings.rule.remove')}
        </button>
      </div>
    </fieldset>
  );
}

export function ModelRulesField({ option, label, help, error, locked, value, onChange }: ModelRulesFieldProps) {
  const { t } = useTranslation();
  const { rows: rules, change, keyed } = useKeyedRows<TypedRule>(value, rulesIn, textOfRules, onChange);
  const [asText, setAsText] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const text = asText || rules === null;
  const add = () => {
    change([...(rules ?? []), keyed(blankRule)]);
    // Its pattern is typed next.
    requestAnimationFrame(() =>
      place.current?.querySelector<HTMLElement>('fieldset > fieldset:last-child input')?.focus(),
    );
  };
  return (
    <Field label={label} help={help} error={error}>
      {(ids) => (
        <div className="rounded-2 border border-line">
          {text ? (
            <JsonText {...{ ids, option, value, locked, onChange }} />
          ) : (
            // biome-ignore lint/a11y/useSemanticElements: each rule in it is a fieldset
            <div ref={place} id={ids.id} role="group" data-option={option} aria-label={label}>
              <fieldset disabled={locked} className="contents">
                {rules.map((rule) => (
                  <Rule
                    key={rule.key}
                    rule={rule}
                    onChange={(some) => change(rules.map((one) => (one.key === rule.key ? { ...one, ...some } : one)))}
                    onRemove={() => change(rules.filter(({ key }) => key !== rule.key))}
                  />
                ))}
              </fieldset>
              {rules.length > 0 ? null : (
                <p className="px-3 py-2.5 text-[12px] text-ink-3">{t('settings.rule.none')}</p>
              )}
            </div>
          )}
          <div className="flex items-center gap-2 border-t border-line p-1.5">
            {text ? null : (
              <button type="button" className="button" disabled={locked} onClick={add}>
                <Icon name="plus" />
                {t('settings.rule.add')}
              </button>
            )}
            <span className="ml-auto">
              <JsonSwitch label={label} on={text} disabled={rules === null} onChange={setAsText} />
            </span>
          </div>
        </div>
      )}
    </Field>
  );
}
