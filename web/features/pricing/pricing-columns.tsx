/** What the price list shows of each model. */
import type { TFunction } from 'i18next';
import { Icon } from '../../components/icon.tsx';
import type { Column } from '../../components/table/column.ts';
import { copyOrShow } from '../../lib/copy.ts';
import type { PriceRow } from './price-rows.ts';

export interface PricingColumnsOptions {
  readonly t: TFunction;
  /** The group looked at. */
  readonly group: string;
  readonly ratioOf: (group: string) => number;
  readonly selected: ReadonlySet<string>;
  readonly onPick: (model: string, on: boolean) => void;
  readonly onView: (group: string) => void;
}

export function pricingColumns(options: PricingColumnsOptions): readonly Column<PriceRow>[] {
  const { t, group, ratioOf, selected, onPick, onView } = options;
  return [
    {
      id: 'pick',
      header: t('pricing.pick'),
      cell: (row) => (
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          aria-label={t('pricing.pickOne', { name: row.model_name })}
          checked={selected.has(row.model_name)}
          onChange={(event) => onPick(row.model_name, event.target.checked)}
        />
      ),
    },
    {
      id: 'available',
      header: t('pricing.available'),
      sort: (row) => Number(row.available),
      cell: (row) =>
        row.available ? (
          <span className="text-success">
            <Icon name="check" />
            <span className="sr-only">{t('pricing.yes')}</span>
          </span>
        ) : (
          <span className="sr-only">{t('pricing.no')}</span>
        ),
    },
    {
      id: 'model',
      header: t('pricing.model'),
      key: true,
      sort: (row) => row.model_name,
      cell: (row) => (
        <button type="button" className="font-medium text-ink-1" onClick={() => copyOrShow(row.model_name)}>
          {row.model_name}
        </button>
      ),
    },
    {
      id: 'type',
      header: t('pricing.type'),
      sort: (row) => row.quota_type,
      cell: (row) => t(row.quota_type === 1 ? 'pricing.perCall' : 'pricing.perToken'),
    },
    {
      id: 'groups',
      header: t('pricing.groups'),
      cell: (row) => (
        <span className="flex gap-1">
          {row.enable_groups.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === group}
              className={`min-h-6 rounded-1 px-1.5 text-[11px] ${name === group ? 'bg-accent-soft text-accent-text' : 'bg-sunken text-ink-2'}`}
              onClick={() => onView(name)}
            >
              {name}
            </button>
          ))}
        </span>
      ),
    },
    {
      id: 'ratio',
      header: t('pricing.ratio'),
      cell: (row) => (
        <span className="text-[12px] text-ink-2">
          {t('pricing.ratios', {
            model: row.quota_type === 1 ? t('pricing.none') : row.model_ratio,
            completion: row.quota_type === 1 ? t('pricing.none') : Number(row.completion_ratio.toFixed(3)),
            group: ratioOf(group),
          })}
        </span>
      ),
    },
    {
      id: 'price',
      header: t('pricing.price'),
      number: true,
      key: true,
      sort: (row) => row.price ?? row.input ?? 0,
      cell: (row) =>
        row.price === null
          ? t('pricing.inOut', { input: row.input, output: row.output })
          : t('pricing.each', { price: row.price }),
    },
  ];
}
