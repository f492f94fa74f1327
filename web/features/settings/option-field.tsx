/** One option as a field of its kind. */
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Language } from '../../../server/contract/enum.ts';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionRow } from '../../../server/contract/options.ts';
import { sentences } from '../../lib/i18n.ts';
import { isSwitch, isTable, isWide, SwitchField, TypedField } from './option-input.tsx';

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
  /** Takes half of the row's width, else a third. */
  readonly half: boolean;
  readonly error: string | undefined;
  /** Stable, as is the next: what did not change is not rendered again. */
  readonly onChange: (option: OptionKey, value: string) => void;
  readonly onReset: (option: OptionKey) => void;
}

/** Label, control and note of a short field stand on the lines of those beside it. */
const onLines =
  'grid grid-cols-[minmax(0,1fr)] grid-rows-subgrid row-span-4 [&>div]:col-start-1 [&>div]:row-start-1 [&>div]:row-end-4 [&>div]:grid-rows-subgrid [&_label]:self-end';

export const OptionField = memo(function OptionField(props: OptionFieldProps) {
  const { t } = useTranslation();
  const { option, language, value, locked, differs } = props;
  const { label, secret, fallback } = optionRow(option);
  const mark = differs && !secret && !locked;
  const state = props.rootOnly
    ? t('settings.rootOnly')
    : secret && props.isSet
      ? t('settings.secretSet')
      : option === 'QuotaPerUnit'
        ? t('settings.unitWarning')
        : '';
  const help = sentences(textIn(optionRow(option).help, language), state);

  const fieldProps = {
    ...{ option, language, value, locked, help, error: props.error },
    ...(secret && !props.isSet ? { placeholder: t('settings.secretEmpty') } : {}),
    onChange: (next: string) => props.onChange(option, next),
  };

  const onLine = !isSwitch(option) && !isWide(option);
  const width = `${isWide(option) ? 'sm:col-span-2' : ''} ${isTable(option) ? 'xl:col-span-6' : props.half ? 'xl:col-span-3' : 'xl:col-span-2'}`;

  return (
    <div
      className={`relative min-w-0 ${width} ${onLine ? onLines : ''} ${mark || props.draft ? '[&>div>label]:pr-28' : ''}`}
    >
      {isSwitch(option) ? <SwitchField {...fieldProps} /> : <TypedField {...fieldProps} />}
      {props.showKey ? (
        <p className="row-start-4 -mt-3 mb-4 truncate font-mono text-[11px] leading-4 text-ink-3">
          {option}
          {secret || fallback === '' ? '' : ` = ${fallback}`}
        </p>
      ) : null}
      {mark || props.draft ? (
        <span
          className={`flex items-center gap-2 text-[11px] leading-4 ${onLine ? 'col-start-1 row-start-1 self-end justify-self-end' : `absolute right-0 ${isSwitch(option) ? 'top-1' : 'top-0'}`}`}
        >
          <span className={props.draft ? 'text-accent-text' : 'text-warning'}>
            {props.draft ? t('settings.unsaved') : t('settings.changed')}
          </span>
          {mark ? (
            <button
              type="button"
              className="-my-1 min-h-6 text-accent-text underline"
              onClick={() => props.onReset(option)}
              aria-label={t('settings.resetOne', { name: textIn(label, language) })}
            >
              {t('settings.reset')}
            </button>
          ) : null}
        </span>
      ) : null}
    </div>
  );
});
