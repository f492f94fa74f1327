/** One price for all models that are picked. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field, TextField } from '../../../components/form.tsx';
import type { ModelRow } from './price-maps.ts';

const modes = ['price', 'ratio', 'both'] as const;

export interface FillFieldsProps {
  /** How many are picked. */
  readonly count: number;
  /** @param rowOf the price for a model's name. */
  readonly onFill: (rowOf: (name: string) => ModelRow) => void;
}

export function FillFields({ count, onFill }: FillFieldsProps) {
  const { t } = useTranslation();
  const [mode, setMode] = useState<(typeof modes)[number]>('price');
  const [value, setValue] = useState('');
  const [completion, setCompletion] = useState('');

  const fill = () => {
    if (count === 0) return toast.error(t('prices.chooseFirst'));
    if (mode === 'both' && (value.trim() === '' || completion.trim() === ''))
      return toast.error(t('prices.bothNeeded'));
    if (value.trim() === '') return toast.error(t('prices.valueNeeded'));
    const [first, second] = [Number(value), Number(completion)];
    if (!(first >= 0) || (mode === 'both' && !(second >= 0))) return toast.error(t('prices.notNumberBulk'));
    const rowOf = (name: string): ModelRow =>
      mode === 'price'
        ? { name, price: first, ratio: null, completion: null }
        : { name, price: null, ratio: first, completion: mode === 'both' ? second : null };
    onFill(rowOf);
  };

  return (
    <div className="flex flex-wrap items-end gap-x-3 px-4 pt-3">
      <Field label={t('prices.fillMode')}>
        {(ids) => (
          <select
            {...ids}
            className="field w-48"
            value={mode}
            onChange={(event) => setMode(modes.find((one) => one === event.target.value) ?? 'price')}
          >
            {modes.map((one) => (
              <option key={one} value={one}>
                {t(`prices.fill.${one}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <TextField
        label={t(mode === 'price' ? 'prices.price' : 'prices.ratio')}
        className="field w-32"
        inputMode="decimal"
        value={value}
        onChange={setValue}
      />
      {mode === 'both' ? (
        <TextField
          label={t('prices.completion')}
          className="field w-32"
          inputMode="decimal"
          value={completion}
          onChange={setCompletion}
        />
      ) : null}
      <button type="button" className="button mb-4 h-8" onClick={fill}>
        {t('prices.fillChosen', { count })}
      </button>
    </div>
  );
}
