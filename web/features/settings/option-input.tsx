/** What an option is typed into, by its kind. */

import i18next from 'i18next';
import type { Language } from '../../../server/contract/enum.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { MoneyField, NumberField } from '../../components/amount-fields.tsx';
import { Field } from '../../components/form.tsx';
import { SelectField } from '../../components/select.tsx';
import { GroupLimitsField } from './group-limits-field.tsx';
import { ListField } from './list-field.tsx';
import { MapField } from './map-field.tsx';
import { ModelRulesField } from './model-rules-field.tsx';
import { listOf, mapShapeOf } from './option-map.ts';
import { numberBounds, optionBounds, shapeOf } from './typed-option.ts';

const isNumber = (text: string): boolean => /^\d+$/.test(text);

export interface OptionInputProps {
  readonly option: OptionKey;
  readonly language: Language;
  readonly value: string;
  readonly locked: boolean;
  readonly help: string;
  readonly placeholder?: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

const long = new Set(['json', 'ratios', 'lines']);
const multilineOptions = new Set(['Notice', 'About', 'HomePageContent', 'console_setting.home_text', 'Footer']);

/** It is a text of several lines. */
const isMultiline = (option: OptionKey): boolean =>
  long.has(optionRow(option).kind.name) || multilineOptions.has(option);
export const isSwitch = (option: OptionKey): boolean => optionRow(option).kind.name === 'switch';
/** It takes the whole width. */
export const isTable = (option: OptionKey): boolean => option === 'GroupLimits' || option === 'model_rules';
/** It takes more room than a line. */
export const isWide = (option: OptionKey): boolean => isMultiline(option) || listOf(option) !== undefined;

export function SwitchField({ option, language, value, locked, help, error, onChange }: OptionInputProps) {
  const { label } = optionRow(option);
  return (
    <div className="mb-4">
      <label className="flex min-h-6 gap-2">
        <input
          type="checkbox"
          data-option={option}
          className="mt-0.5 size-4 flex-none accent-(--accent)"
          disabled={locked}
          checked={value === 'true'}
          aria-describedby={`${option}-note`}
          onChange={(event) => onChange(String(event.target.checked))}
        />
        {textIn(label, language)}
      </label>
      <p
        id={`${option}-note`}
        className={`pl-6 text-[12px] leading-4 ${error === undefined ? 'text-ink-3' : 'text-danger'}`}
      >
        {error ?? help}
      </p>
    </div>
  );
}

export function TypedField({ option, language, value, locked, help, placeholder, error, onChange }: OptionInputProps) {
  const { kind, label, secret } = optionRow(option);
  const list = listOf(option);
  const entries = list?.entriesIn(value) ?? null;
  if (list !== undefined && entries !== null)
    return (
      <ListField
        label={textIn(label, language)}
        {...{ option, help, error, locked, entries }}
        onChange={(next) => onChange(list.textOf(next))}
      />
    );
  const shape = shapeOf(option);
  if (shape !== 'other') {
    const shared = { label: textIn(label, language), help, error, value, onChange, 'data-option': option };
    // Whether it may be left empty is for the kind of the option to say.
    return shape === 'money' ? (
      <MoneyField {...shared} empty="" disabled={locked} bounds={optionBounds} />
    ) : (
      <NumberField {...shared} empty="" disabled={locked} bounds={numberBounds(option)} />
    );
  }
  if (kind.name === 'choice')
    return (
      <SelectField
        label={textIn(label, language)}
        help={help}
        error={error}
        value={value}
        disabled={locked}
        data-option={option}
        options={(kind.choices ?? []).map(
          (one) => [one, isNumber(one) ? one : i18next.t(`settings.choice.${one as 'hour'}`)] as const,
        )}
        onChange={onChange}
      />
    );
  if (option === 'GroupLimits')
    return <GroupLimitsField label={textIn(label, language)} {...{ option, help, error, value, locked, onChange }} />;
  if (option === 'model_rules')
    return <ModelRulesField label={textIn(label, language)} {...{ option, help, error, value, locked, onChange }} />;
  const map = mapShapeOf(option);
  if (map !== undefined)
    return (
      <MapField shape={map} label={textIn(label, language)} {...{ option, help, error, value, locked, onChange }} />
    );
  return (
    <Field label={textIn(label, language)} help={help} error={error}>
      {(ids) => {
        const shared = { ...ids, disabled: locked, 'data-option': option };
        if (isMultiline(option)) {
          return (
            <textarea
              {...shared}
              // As high as what stands in it.
              className={`field field-sizing-content max-h-96 ${multilineOptions.has(option) ? 'min-h-32' : 'min-h-18 font-mono text-[12px]'}`}
              rows={multilineOptions.has(option) ? 6 : 3}
              spellCheck={multilineOptions.has(option)}
              value={value}
              onChange={(event) => onChange(event.target.value)}
            />
          );
        }
        return (
          <input
            {...shared}
            className="field"
            type={secret ? 'password' : 'text'}
            autoComplete={secret ? 'new-password' : 'off'}
            placeholder={placeholder}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        );
      }}
    </Field>
  );
}
