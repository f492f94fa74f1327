/** The visual editor: models with their prices, searched and paged; changes are gathered and shown before they are stored. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SearchField } from '../../../components/filters.tsx';
import { Icon } from '../../../components/icon.tsx';
import { Pager } from '../../../components/pager.tsx';
import { Scrolls } from '../../../components/scrolls.tsx';
import { RowActions } from '../../../components/table/row-actions.tsx';
import { call } from '../../../lib/api.ts';
import { useNarrow } from '../../../lib/narrow.ts';
import { useOptionalRead } from '../../../lib/read.ts';
import { ModelDrawer } from './model-drawer.tsx';
import {
  completionOf,
  inputPrice,
  type MapTexts,
  type ModelRow,
  outputPrice,
  rowsOf,
  withModel,
  withoutModel,
} from './price-maps.ts';

const pageSize = 10;

export interface ModelListProps {
  readonly texts: MapTexts;
  readonly onChange: (texts: MapTexts) => void;
}

interface ModelTableProps {
  readonly rows: readonly ModelRow[];
  readonly onOpen: (row: ModelRow) => void;
  readonly onRemove: (name: string) => void;
}

const decimalsOf = (value: number): number => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0;
/** A price that comes of a ratio ends in what cannot be divided. */
const roundedPrice = (value: number): number => Number(value.toFixed(6)) || value;
const [fewest, most] = [2, 4] as const;
/** How many decimals all prices of a column have, so that points and ends stand below each other. */
const commonDecimals = (prices: readonly number[]): number =>
  Math.max(fewest, ...prices.map((price) => decimalsOf(Number(price.toFixed(most)))));
/** What is smaller than these decimals can say has all of its own. */
const priceText = (price: number, decimals: number): string => {
  const text = price.toFixed(decimals);
  return Math.abs(Number(text) - price) > price / 200 ? String(roundedPrice(price)) : text;
};

const Dollars = ({ value, decimals }: { readonly value: number; readonly decimals: number }) => (
  <span title={`$${value}`}>{`$${priceText(value, decimals)}`}</span>
);

function ModelTable({ rows, onOpen, onRemove }: ModelTableProps) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const perToken = rows.filter(({ price }) => price === null);
  const decimals = commonDecimals(perToken.flatMap((row) => [inputPrice(row.ratio ?? 0), outputPrice(row)]));
  return (
    <Scrolls className="overflow-auto" aria-label={t('prices.visual')}>
      <table className="sheet-table">
        <thead>
          <tr>
            <th scope="col">{t('prices.name')}</th>
            <th scope="col" className="number max-lg:hidden">
              {t('prices.fixed')}
            </th>
            <th scope="col" className="number max-lg:hidden">
              {t('prices.ratio')}
            </th>
            <th scope="col" className="number max-lg:hidden">
              {t('prices.completion')}
            </th>
            <th scope="col" className="number">
              <span className="sm:hidden">{t('prices.dollars')}</span>
              <span className="max-sm:hidden">{t('prices.inputHead')}</span>
            </th>
            <th scope="col" className="number max-sm:hidden">
              {t('prices.outputHead')}
            </th>
            <th scope="col" className="actions">
              {t('app.actions')}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td className="max-sm:py-1.5">
                <span
                  className="block max-w-80 truncate font-mono text-[12px] xl:max-w-96 max-sm:max-w-44 max-sm:wrap-anywhere max-sm:whitespace-normal"
                  title={row.name}
                >
                  {row.name}
                </span>
              </td>
              <td className="number max-lg:hidden">{row.price ?? '–'}</td>
              <td className="number max-lg:hidden">{row.price === null ? row.ratio : '–'}</td>
              <td className="number max-lg:hidden">{row.price === null ? completionOf(row) : '–'}</td>
              {row.price === null ? (
                <>
                  <td className="number max-sm:py-1.5">
                    {/* On a phone both prices are a column, each with its name. */}
                    <span className="sm:contents max-sm:inline-grid max-sm:grid-cols-[auto_minmax(8ch,auto)] max-sm:gap-x-1">
                      <span className="text-left text-[12px] text-ink-3 sm:hidden">{t('prices.inShort')}</span>
                      <Dollars value={inputPrice(row.ratio ?? 0)} decimals={decimals} />
                      <span className="text-left text-[12px] text-ink-3 sm:hidden">{t('prices.outShort')}</span>
                      <span className="sm:hidden">
                        <Dollars value={outputPrice(row)} decimals={decimals} />
                      </span>
                    </span>
                  </td>
                  <td className="number max-sm:hidden">
                    <Dollars value={outputPrice(row)} decimals={decimals} />
                  </td>
                </>
              ) : (
                <td className="number" colSpan={narrow ? 1 : 2}>
                  {t('prices.each', { price: row.price })}
                </td>
              )}
              <td className="actions">
                <RowActions
                  name={row.name}
                  quick={[
                    {
                      id: 'edit',
                      content: t('prices.editOne', { name: row.name }),
                      icon: 'edit',
                      onPick: () => onOpen(row),
                    },
                  ]}
                  more={[
                    {
                      id: 'delete',
                      content: t('prices.removeOne', { name: row.name }),
                      danger: true,
                      onPick: () => onRemove(row.name),
                    },
                  ]}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}

export function ModelList({ texts, onChange }: ModelListProps) {
  const { t } = useTranslation();
  const [search, setSearch] = useState('');
  const [page, setPage] = useState(1);
  const [open, setOpen] = useState<ModelRow | 'new' | null>(null);
  const served = useOptionalRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const inUse = new Set(served);
  // What the site's channels serve comes first.
  const all = rowsOf(texts).sort((one, other) => Number(inUse.has(other.name)) - Number(inUse.has(one.name)));
  const needle = search.trim().toLowerCase();
  const rows = all.filter(({ name }) => name.toLowerCase().includes(needle));
  const visible = rows.slice((page - 1) * pageSize, page * pageSize);
  return (
    <>
      <div className="flex items-center gap-2 px-4 py-2.5">
        <SearchField
          className="h-7 w-56"
          label={t('prices.search')}
          value={search}
          onChange={(value) => {
            setSearch(value);
            setPage(1);
          }}
        />
        <span className="text-ink-3">{rows.length}</span>
        <button type="button" className="button ml-auto" onClick={() => setOpen('new')}>
          <Icon name="plus" />
          {t('prices.add')}
        </button>
      </div>
      <ModelTable rows={visible} onOpen={setOpen} onRemove={(name) => onChange(withoutModel(texts, name))} />
      <Pager page={page} size={pageSize} total={rows.length} onPage={setPage} />
      {open === null ? null : (
        <ModelDrawer
          row={open === 'new' ? null : open}
          names={new Set(all.map(({ name }) => name))}
          onClose={() => setOpen(null)}
          onSave={(row) => {
            onChange(withModel(texts, row, open === 'new' ? null : open.name));
            setOpen(null);
          }}
        />
      )}
    </>
  );
}
