/** One option as a field of its kind. */
import { useTranslation } from 'react-i18next';
import type { Language } from '../../../server/contract/enums.ts';
import { optionHelp } from '../../../server/contract/option-help.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { Field } from '../../components/form.tsx';

export interface OptionFieldProps {
  readonly option: OptionKey;
  readonly language: Language;
  readonly value: string;
  /** A secret is stored. */
  readonly isSet: boolean;
  readonly locked: boolean;
  /** Only the super administrator may change it. */
  readonly rootOnly: boolean;
  readonly differs: boolean;
  /** Edited and not saved yet. */
  readonly draft: boolean;
  /** Its key and its default are told too. */
  readonly technical: boolean;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
  readonly onReset: () => void;
}

const long = new Set(['json', 'ratios', 'lines']);
const wordy = new Set(['Notice', 'About', 'HomePageContent', 'Footer']);

export function OptionField(props: OptionFieldProps) {
  const { t } = useTranslation();
  const { option, language, value, locked, differs, onChange } = props;
  const { kind, label, secret, fallback } = optionRow(option);
  const isLong = long.has(kind.name) || wordy.has(option);
  const mark = differs && !secret && !locked;
  const state = props.rootOnly
    ? t('settings.rootOnly')
    : secret
      ? props.isSet
        ? t('settings.secretSet')
        : t('settings.secretEmpty')
      : option === 'QuotaPerUnit'
        ? t('settings.unitWarning')
        : '';
  const help = `${optionHelp[option][language]} ${state}`.trim();

  const field =
    kind.name === 'switch' ? (
      <div className="mb-4">
        <label className="flex min-h-6 items-center gap-2 pr-24">
          <input
            type="checkbox"
            data-option={option}
            className="size-4 flex-none accent-(--accent)"
            disabled={locked}
            checked={value === 'true'}
            aria-describedby={`${option}-note`}
            onChange={(event) => onChange(String(event.target.checked))}
          />
          {label[language]}
        </label>
        <p
          id={`${option}-note`}
          className={`text-[12px] leading-4 ${props.error === undefined ? 'text-ink-3' : 'text-danger'}`}
        >
          {props.error ?? help}
        </p>
      </div>
    ) : (
      <Field label={label[language]} help={help} error={props.error}>
        {(ids) => {
          const shared = { ...ids, disabled: locked, 'data-option': option };
          if (kind.name === 'choice') {
            return (
              <select {...shared} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
                {(kind.choices ?? []).map((choice) => (
                  <option key={choice} value={choice}>
                    {choice}
                  </option>
                ))}
              </select>
            );
          }
          if (isLong) {
            return (
              <textarea
                {...shared}
                className={`field ${wordy.has(option) ? '' : 'font-mono text-[12px]'}`}
                rows={kind.name === 'lines' ? 5 : 6}
                spellCheck={wordy.has(option)}
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
              inputMode={kind.name === 'integer' || kind.name === 'decimal' ? 'decimal' : 'text'}
              value={value}
              onChange={(event) => onChange(event.target.value)}
            />
          );
        }}
      </Field>
    );
  return (
    <div className={`relative ${isLong ? 'sm:col-span-2' : ''}`}>
      {field}
      {props.technical ? (
        <p className="-mt-3 mb-4 truncate font-mono text-[11px] leading-4 text-ink-3">
          {option}
          {secret || fallback === '' ? '' : ` = ${fallback}`}
        </p>
      ) : null}
      {mark || props.draft ? (
        <span className="absolute top-0 right-0 flex items-center gap-2 text-[11px] leading-4">
          <span className={props.draft ? 'text-accent-text' : 'text-warning'}>
            {props.draft ? t('settings.unsaved') : t('settings.changed')}
          </span>
          {mark ? (
            <button
              type="button"
              className="text-accent-text underline"
              onClick={props.onReset}
              aria-label={t('settings.resetOne', { name: label[language] })}
            >
              {t('settings.reset')}
            </button>
          ) : null}
        </span>
      ) : null}
    </div>
  );
}
