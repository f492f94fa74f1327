/** One price for all models that are picked. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { parseNumber } from '../../../../server/contract/amount.ts';
import { valueIn } from '../../../components/amount.ts';
import { NumberField } from '../../../components/amount-fields.tsx';
import { CheckedForm } from '../../../components/checked-form.tsx';
import { SelectField } from '../../../components/select.tsx';
import type { ModelRow } from './price-maps.ts';
import { priceBounds, ratioBounds } from './use-draft.ts';

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

  const bounds = mode === 'price' ? priceBounds : ratioBounds;
  const fill = () => {
    if (count === 0) return void toast.error(t('prices.chooseFirst'));
    if (mode === 'both' && (value.trim() === '' || completion.trim() === ''))
      return void toast.error(t('prices.bothNeeded'));
    if (value.trim() === '') return void toast.error(t('prices.valueNeeded'));
    const [first, second] = [valueIn(parseNumber(value, bounds)), valueIn(parseNumber(completion, ratioBounds), 0)];
    const rowOf = (name: string): ModelRow =>
      mode === 'price'
        ? { name, price: first, ratio: null, completion: null }
        : { name, price: null, ratio: first, completion: mode === 'both' ? second : null };
    onFill(rowOf);
  };

  return (
    <CheckedForm className="flex flex-wrap items-start gap-x-3 px-4 pt-3" onSubmit={fill}>
      <SelectField
        label={t('prices.fillMode')}
        className="field w-48"
        value={mode}
        options={modes.map((one) => [one, t(`prices.fill.${one}`)] as const)}
        onChange={setMode}
      />
      <NumberField
        label={t(mode === 'price' ? 'prices.price' : 'prices.ratio')}
        className="w-32"
        empty=""
        bounds={bounds}
        words={() => t('prices.notNumberBulk')}
        value={value}
        onChange={setValue}
      />
      {mode === 'both' ? (
        <NumberField
          label={t('prices.completion')}
          className="w-32"
          empty=""
          bounds={ratioBounds}
          words={() => t('prices.notNumberBulk')}
          value={completion}
          onChange={setCompletion}
        />
      ) : null}
      <button type="submit" className="button mt-5 h-8">
        {t('prices.fillChosen', { count })}
      </button>
    </CheckedForm>
  );
}
