/** The fields of one model's price. */
import { useTranslation } from 'react-i18next';
import { NumberField } from '../../../components/amount-fields.tsx';
import { completionOf, followsFamily } from './price-maps.ts';
import { type Draft, priceBounds, ratioBounds } from './use-draft.ts';

interface ChoiceProps<Value extends string> {
  readonly legend: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

function Choice<Value extends string>({ legend, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <fieldset className="mb-4">
      <legend className="mb-1 text-[12px] leading-4 font-medium text-ink-2">{legend}</legend>
      <div className="flex gap-4">
        {options.map(([option, label]) => (
          <label key={option} className="flex items-center gap-2">
            <input
              type="radio"
              name={legend}
              className="size-4 accent-(--accent)"
              checked={value === option}
              onChange={() => onChange(option)}
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export interface PriceFieldsProps {
  readonly draft: Draft;
  /** By field. */
  readonly errors: Readonly<Record<string, string>>;
}

function DollarFields({ draft, errors }: PriceFieldsProps) {
  const { t } = useTranslation();
  const { input, output, ratio, completion, typeDollars } = draft;
  return (
    <>
      <NumberField
        bounds={priceBounds}
        words={() => t('prices.notNumber')}
        label={t('prices.input')}
        help={t('prices.isRatio', { value: ratio || '–' })}
        error={errors.ratio}
        value={input}
        onChange={(value) => typeDollars(value, output)}
      />
      <NumberField
        bounds={priceBounds}
        words={() => t('prices.notNumber')}
        label={t('prices.output')}
        empty=""
        help={t('prices.isRatio', {
          value: completion === '' ? completionOf(draft.drafted) : Number(Number(completion).toPrecision(8)),
        })}
        error={errors.completion}
        value={output}
        onChange={(value) => typeDollars(input, value)}
      />
    </>
  );
}

function RatioFields({ draft, errors, disabled = false }: PriceFieldsProps & { readonly disabled?: boolean }) {
  const { t } = useTranslation();
  const { input, output, ratio, completion, typeRatios } = draft;
  return (
    <>
      <NumberField
        bounds={ratioBounds}
        words={() => t('prices.notNumber')}
        disabled={disabled}
        label={t('prices.ratio')}
        help={t('prices.isDollars', { value: input || '–' })}
        error={errors.ratio}
        value={ratio}
        onChange={(value) => typeRatios(value, completion)}
      />
      <NumberField
        bounds={ratioBounds}
        words={() => t('prices.notNumber')}
        disabled={disabled}
        label={t('prices.completion')}
        empty=""
        help={t('prices.isDollars', { value: output || '–' })}
        error={errors.completion}
        value={completion}
        onChange={(value) => typeRatios(ratio, value)}
      />
    </>
  );
}

function TokenPrice({ draft, errors }: PriceFieldsProps) {
  const { t } = useTranslation();
  const { drafted, entry } = draft;
  return (
    <>
      <Choice
        legend={t('prices.entry')}
        value={entry}
        options={[
          ['dollars', t('prices.asDollars')],
          ['ratio', t('prices.asRatio')],
        ]}
        onChange={draft.setEntry}
      />
      {entry === 'dollars' ? <DollarFields {...{ draft, errors }} /> : <RatioFields {...{ draft, errors }} />}
      {followsFamily(drafted) ? (
        <p className="text-[12px] text-ink-3">
          {t('prices.familyDefault', { value: Number(completionOf(drafted).toFixed(6)) })}
        </p>
      ) : null}
    </>
  );
}

export function PriceFields({ draft, errors }: PriceFieldsProps) {
  const { t } = useTranslation();
  return (
    <>
      <Choice
        legend={t('prices.mode')}
        value={draft.mode}
        options={[
          ['token', t('prices.perToken')],
          ['request', t('prices.perRequest')],
        ]}
        onChange={draft.setMode}
      />
      {draft.mode === 'request' ? (
        <>
          <NumberField
            bounds={priceBounds}
            words={() => t('prices.notNumber')}
            label={t('prices.price')}
            error={errors.price}
            value={draft.price}
            onChange={draft.setPrice}
          />
          <RatioFields draft={draft} errors={{}} disabled />
        </>
      ) : (
        <TokenPrice draft={draft} errors={errors} />
      )}
    </>
  );
}
