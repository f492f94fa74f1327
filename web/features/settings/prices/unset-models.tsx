/** Models on enabled channels that nobody priced; several get a price at once. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../../components/form.tsx';
import { Pager } from '../../../components/pager.tsx';
import { call } from '../../../lib/api.ts';
import { type MapTexts, type ModelRow, rowsOf, withModel } from './price-maps.ts';

const sizes = [10, 20, 50, 100];
const modes = ['price', 'ratio', 'both'] as const;

export function UnsetModels({
  texts,
  onChange,
}: {
  readonly texts: MapTexts;
  readonly onChange: (texts: MapTexts) => void;
}) {
  const { t } = useTranslation();
  const unset = useQuery({ queryKey: ['ratio', 'unset'], queryFn: () => call('ratio.unset') });
  const [page, setPage] = useState(1);
  const [size, setSize] = useState(10);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [mode, setMode] = useState<(typeof modes)[number]>('price');
  const [value, setValue] = useState('');
  const [completion, setCompletion] = useState('');
  // What was priced a moment ago and is not stored yet is no longer unset.
  const priced = new Set(rowsOf(texts).map(({ name }) => name));
  const models = (unset.data ?? []).filter((name) => !priced.has(name));
  const shown = models.slice((page - 1) * size, page * size);
  const pick = (names: readonly string[], on: boolean) =>
    setChosen(on ? new Set([...chosen, ...names]) : new Set([...chosen].filter((name) => !names.includes(name))));

  const fill = () => {
    if (chosen.size === 0) return toast.error(t('prices.chooseFirst'));
    if (mode === 'both' && (value.trim() === '' || completion.trim() === ''))
      return toast.error(t('prices.bothNeeded'));
    if (value.trim() === '') return toast.error(t('prices.valueNeeded'));
    const [first, second] = [Number(value), Number(completion)];
    if (!(first >= 0) || (mode === 'both' && !(second >= 0))) return toast.error(t('prices.notNumberBulk'));
    const rowOf = (name: string): ModelRow =>
      mode === 'price'
        ? { name, price: first, ratio: null, completion: null }
        : { name, price: null, ratio: first, completion: mode === 'both' ? second : null };
    onChange([...chosen].reduce((before, name) => withModel(before, rowOf(name)), texts));
    setChosen(new Set());
  };

  if (unset.isError)
    return (
      <p role="alert" className="px-4 py-5 text-danger">
        {t('prices.enabledFailed')}
      </p>
    );
  if (unset.data !== undefined && models.length === 0)
    return <p className="px-4 py-5 text-ink-2">{t('prices.noneUnset')}</p>;
  return (
    <>
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
        <Field label={t(mode === 'price' ? 'prices.price' : 'prices.ratio')}>
          {(ids) => (
            <input
              {...ids}
              className="field w-32"
              inputMode="decimal"
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        {mode === 'both' ? (
          <Field label={t('prices.completion')}>
            {(ids) => (
              <input
                {...ids}
                className="field w-32"
                inputMode="decimal"
                value={completion}
                onChange={(event) => setCompletion(event.target.value)}
              />
            )}
          </Field>
        ) : null}
        <button type="button" className="button mb-4 h-8" onClick={fill}>
          {t('prices.fillChosen', { count: chosen.size })}
        </button>
      </div>
      <table className="sheet-table">
        <thead>
          <tr>
            <th scope="col">
              <label className="flex items-center gap-2">
                <input
                  type="checkbox"
                  className="size-4 accent-(--accent)"
                  checked={shown.length > 0 && shown.every((name) => chosen.has(name))}
                  onChange={(event) => pick(shown, event.target.checked)}
                />
                {t('prices.name')}
              </label>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((name) => (
            <tr key={name}>
              <td>
                <label className="flex items-center gap-2">
                  <input
                    type="checkbox"
                    className="size-4 accent-(--accent)"
                    checked={chosen.has(name)}
                    onChange={(event) => pick([name], event.target.checked)}
                  />
                  {name}
                </label>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="flex items-center">
        <Pager page={page} size={size} total={models.length} onPage={setPage} />
        {models.length > 10 ? (
          <select
            className="field mr-4 ml-auto w-20"
            aria-label={t('prices.pageSize')}
            value={size}
            onChange={(event) => {
              setSize(Number(event.target.value));
              setPage(1);
            }}
          >
            {sizes.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        ) : null}
      </div>
    </>
  );
}
