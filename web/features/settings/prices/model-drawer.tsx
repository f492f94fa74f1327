/** One model's price: per request or per token, as dollars or as ratios, both always shown. */
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Field } from '../../../components/form.tsx';
import { Drawer } from '../../../components/overlay.tsx';
import { completionOf, followsFamily, inputPrice, type ModelRow, outputPrice, ratioOf } from './price-maps.ts';

export interface ModelDrawerProps {
  /** null = a new one. */
  readonly row: ModelRow | null;
  readonly names: ReadonlySet<string>;
  readonly onSave: (row: ModelRow) => void;
  readonly onClose: () => void;
}

const numberOf = (text: string): number | null =>
  text.trim() === '' ? null : Number.isFinite(Number(text)) && Number(text) >= 0 ? Number(text) : Number.NaN;
const textOf = (value: number | null): string => (value === null ? '' : String(value));

export function ModelDrawer({ row, names, onSave, onClose }: ModelDrawerProps) {
  const { t } = useTranslation();
  const [name, setName] = useState(row?.name ?? '');
  const [mode, setMode] = useState<'token' | 'request'>(row !== null && row.price !== null ? 'request' : 'token');
  const [entry, setEntry] = useState<'ratio' | 'dollars'>('dollars');
  const [price, setPrice] = useState(textOf(row?.price ?? null));
  const [ratio, setRatio] = useState(textOf(row?.ratio ?? null));
  const [completion, setCompletion] = useState(textOf(row?.completion ?? null));
  const [input, setInput] = useState(row?.ratio == null ? '' : String(inputPrice(row.ratio)));
  const [output, setOutput] = useState(row?.ratio == null ? '' : String(outputPrice(row)));
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});

  // Both spellings follow what is typed in either.
  const typeDollars = (newInput: string, newOutput: string) => {
    setInput(newInput);
    setOutput(newOutput);
    const [dollarsIn, dollarsOut] = [numberOf(newInput), numberOf(newOutput)];
    setRatio(dollarsIn === null ? '' : String(ratioOf(dollarsIn)));
    setCompletion(dollarsIn && dollarsOut !== null ? String(Number((dollarsOut / dollarsIn).toPrecision(10))) : '');
  };
  const typeRatios = (newRatio: string, newCompletion: string) => {
    setRatio(newRatio);
    setCompletion(newCompletion);
    const draft = { name, price: null, ratio: numberOf(newRatio), completion: numberOf(newCompletion) };
    setInput(draft.ratio === null ? '' : String(inputPrice(draft.ratio)));
    setOutput(draft.ratio === null ? '' : String(outputPrice(draft)));
  };

  const drafted: ModelRow =
    mode === 'request'
      ? { name: name.trim(), price: numberOf(price), ratio: null, completion: null }
      : { name: name.trim(), price: null, ratio: numberOf(ratio), completion: numberOf(completion) };

  const save = (event: FormEvent) => {
    event.preventDefault();
    const wrong: Record<string, string> = {};
    if (drafted.name === '') wrong.name = t('prices.nameNeeded');
    else if (drafted.name !== row?.name && names.has(drafted.name)) wrong.name = t('prices.nameTaken');
    if (mode === 'request') {
      if (drafted.price === null || Number.isNaN(drafted.price)) wrong.price = t('prices.notNumber');
      else if (drafted.price === 0) wrong.price = t('prices.zeroPrice');
    } else {
      if (drafted.ratio === null || Number.isNaN(drafted.ratio)) wrong.ratio = t('prices.notNumber');
      if (Number.isNaN(drafted.completion)) wrong.completion = t('prices.notNumber');
    }
    setErrors(wrong);
    if (Object.keys(wrong).length === 0) onSave(drafted);
  };

  const text = (key: string, label: string, value: string, onChange: (value: string) => void, help?: string) => (
    <Field label={label} help={help} error={errors[key]}>
      {(ids) => (
        <input
          {...ids}
          className="field"
          inputMode="decimal"
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
  const choice = <Value extends string>(
    legend: string,
    value: Value,
    options: readonly (readonly [Value, string])[],
    onChange: (value: Value) => void,
  ) => (
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

  return (
    <Drawer
      title={row === null ? t('prices.add') : row.name}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {t('app.cancel')}
          </button>
          <button type="submit" form="model-price" className="button button-primary">
            {t('prices.take')}
          </button>
        </>
      }
    >
      <form id="model-price" onSubmit={save} noValidate>
        <Field label={t('prices.name')} error={errors.name}>
          {(ids) => (
            <input
              {...ids}
              className="field"
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        {choice(
          t('prices.mode'),
          mode,
          [
            ['token', t('prices.perToken')],
            ['request', t('prices.perRequest')],
          ],
          setMode,
        )}
        {mode === 'request' ? (
          text('price', t('prices.price'), price, setPrice)
        ) : (
          <>
            {choice(
              t('prices.entry'),
              entry,
              [
                ['dollars', t('prices.asDollars')],
                ['ratio', t('prices.asRatio')],
              ],
              setEntry,
            )}
            {entry === 'dollars' ? (
              <>
                {text(
                  'ratio',
                  t('prices.input'),
                  input,
                  (value) => typeDollars(value, output),
                  t('prices.isRatio', { value: ratio || '–' }),
                )}
                {text(
                  'completion',
                  t('prices.output'),
                  output,
                  (value) => typeDollars(input, value),
                  t('prices.isRatio', { value: completion || completionOf(drafted) }),
                )}
              </>
            ) : (
              <>
                {text(
                  'ratio',
                  t('prices.ratio'),
                  ratio,
                  (value) => typeRatios(value, completion),
                  t('prices.isDollars', { value: input || '–' }),
                )}
                {text(
                  'completion',
                  t('prices.completion'),
                  completion,
                  (value) => typeRatios(ratio, value),
                  t('prices.isDollars', { value: output || '–' }),
                )}
              </>
            )}
            {followsFamily(drafted) ? (
              <p className="text-[12px] text-ink-3">
                {t('prices.familyDefault', { value: Number(completionOf(drafted).toFixed(6)) })}
              </p>
            ) : null}
          </>
        )}
      </form>
    </Drawer>
  );
}
