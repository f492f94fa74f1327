/** Fields for money and for numbers: they say at once what cannot be taken, and never take something else instead. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Amount, type AmountReason, type NumberOptions, parseNumber } from '../../server/contract/amount.ts';
import { textIn } from '../../server/contract/language.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { useMoneyDetails } from '../lib/money.ts';
import { type MoneyBounds, moneyOf, normalizeMoney, normalizeNumber } from './amount.ts';
import { useSubmitted } from './checked-form.tsx';
import { Field } from './form.tsx';

interface AmountFieldProps {
  readonly label: string;
  readonly help?: string | undefined;
  /** The value as it is typed. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** What an empty field means, shown in it; absent = it must be filled. */
  readonly empty?: string | undefined;
  readonly disabled?: boolean;
  /** Says in the form's own words why a text is refused; undefined = the parser's words. */
  readonly words?: (reason: AmountReason) => string | undefined;
  /** What the rest of the form, or the server, has against it. */
  readonly error?: string | undefined;
  readonly className?: string;
  readonly list?: string;
  readonly 'data-option'?: string;
}

interface InputProps extends AmountFieldProps {
  readonly read: (text: string) => Amount;
  readonly normalize: (text: string) => string;
  readonly before?: string | undefined;
  readonly behind?: string | undefined;
}

function AmountInput(props: InputProps) {
  const {
    label,
    help,
    value,
    onChange,
    empty,
    disabled = false,
    error,
    className,
    words,
    read,
    normalize,
    before,
    behind,
  } = props;
  const [touched, setTouched] = useState(false);
  const submitted = useSubmitted();
  const amount = read(value);
  const allowed = disabled || amount.kind !== 'invalid' || (empty !== undefined && amount.issue.reason === 'empty');
  const validated = touched || submitted;
  const problem =
    allowed || !validated ? undefined : (words?.(amount.issue.reason) ?? textIn(amount.issue, currentLanguage()));
  return (
    <Field label={label} help={help} error={problem ?? error} unreadable={!allowed}>
      {(ids) => (
        <span className={`field flex items-center gap-1.5 ${className ?? ''}`}>
          {before === undefined ? null : <span className="text-ink-3">{before}</span>}
          <input
            {...ids}
            className="min-w-0 flex-1 bg-transparent outline-none"
            inputMode="decimal"
            autoComplete="off"
            list={props.list}
            data-option={props['data-option']}
            placeholder={empty}
            disabled={disabled}
            value={value}
            onChange={(event) => onChange(event.target.value)}
            onBlur={() => {
              setTouched(true);
              const normalized = normalize(value);
              if (normalized !== value) onChange(normalized);
            }}
          />
          {behind === undefined ? null : <span className="text-[12px] text-ink-3">{behind}</span>}
        </span>
      )}
    </Field>
  );
}

/** An amount as this site shows amounts: in its currency, or in tokens. */
export function MoneyField({ bounds = {}, ...field }: AmountFieldProps & { readonly bounds?: MoneyBounds }) {
  const { t } = useTranslation();
  const details = useMoneyDetails();
  return (
    <AmountInput
      {...field}
      before={details?.inCurrency === false ? undefined : '$'}
      behind={details?.inCurrency === false ? t('app.tokens') : undefined}
      read={(text) => moneyOf(text, details, bounds)}
      normalize={(text) => normalizeMoney(text, details, bounds)}
    />
  );
}

export interface NumberFieldProps extends AmountFieldProps {
  readonly bounds: NumberOptions;
  /** What is counted. */
  readonly unit?: string | undefined;
}

export function NumberField({ bounds, unit, ...field }: NumberFieldProps) {
  return (
    <AmountInput
      {...field}
      before={bounds.currency === 'usd' ? '$' : undefined}
      behind={unit}
      read={(text) => parseNumber(text, bounds)}
      normalize={(text) => normalizeNumber(text, bounds)}
    />
  );
}
