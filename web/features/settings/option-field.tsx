/** One option as a field of its kind. */

import { useTranslation } from 'react-i18next';
import type { Language } from '../../../server/contract/enum.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { isMultiline, SwitchField, TypedField } from './option-input.tsx';

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
  /** Shows its key and its default too. */
  readonly showKey: boolean;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
  readonly onReset: () => void;
}

export function OptionField(props: OptionFieldProps) {
  const { t } = useTranslation();
  const { option, language, value, locked, differs, onChange } = props;
  const { kind, label, secret, fallback } = optionRow(option);
  const isLong = isMultiline(option);
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
  const help = `${textIn(optionRow(option).help, language)} ${state}`.trim();

  const fieldProps = { option, language, value, locked, help, error: props.error, onChange };

  return (
    <div
      className={`relative min-w-0 ${isLong ? 'lg:col-span-2' : ''} ${mark || props.draft ? '[&_label]:pr-28' : ''}`}
    >
      {kind.name === 'switch' ? <SwitchField {...fieldProps} /> : <TypedField {...fieldProps} />}
      {props.showKey ? (
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
              aria-label={t('settings.resetOne', { name: textIn(label, language) })}
            >
              {t('settings.reset')}
            </button>
          ) : null}
        </span>
      ) : null}
    </div>
  );
}
