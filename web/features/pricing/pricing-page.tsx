/** What every model costs, in the group the reader looks at. */

import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useSearchParams } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useUser } from '../../lib/session.ts';
import { type PriceRow, rowsFor } from './price-rows.ts';

export function PricingPage() {
  const { t } = useTranslation();
  const user = useUser();
  const [query, setQuery] = useSearchParams();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const list = useQuery({ queryKey: ['pricing', user?.id ?? 0], queryFn: () => call('pricing.get') });
  const own = user?.group || 'default';
  const group = query.get('group') ?? own;
  const search = query.get('q') ?? '';
  const set = (name: string, value: string) =>
    setQuery(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const rows = useMemo(
    () => (list.data === undefined ? [] : rowsFor(list.data, group, search)),
    [list.data, group, search],
  );
  const ratioOf = (name: string): number => list.data?.group_ratio[name] ?? 1;
  const copy = copyOrShow;
  const view = (name: string) => {
    set('group', name === own ? '' : name);
    toast.info(t('pricing.viewing', { group: name, ratio: ratioOf(name) }));
  };
  const pick = (name: string, on: boolean) =>
    setChosen(on ? new Set([...chosen, name]) : new Set([...chosen].filter((one) => one !== name)));

  const columns: readonly Column<PriceRow>[] = [
    {
      id: 'pick',
      header: t('pricing.pick'),
      cell: (row) => (
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          aria-label={t('pricing.pickOne', { name: row.model_name })}
          checked={chosen.has(row.model_name)}
          onChange={(event) => pick(row.model_name, event.target.checked)}
        />
      ),
    },
    {
      id: 'available',
      header: t('pricing.available'),
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
      cell: (row) => (
        <button type="button" className="font-medium text-ink-1" onClick={() => copy(row.model_name)}>
          {row.model_name}
        </button>
      ),
    },
    {
      id: 'type',
      header: t('pricing.type'),
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
              onClick={() => view(name)}
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
            completion: row.quota_type === 1 ? t('pricing.none') : row.completion_ratio,
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
      cell: (row) =>
        row.price === null
          ? t('pricing.inOut', { input: row.input, output: row.output })
          : t('pricing.each', { price: row.price }),
    },
  ];

  return (
    <>
      <PageHead title={t('nav.pricing')} count={rows.length}>
        <input
          type="search"
          data-key="/"
          className="field w-52"
          placeholder={t('pricing.search')}
          aria-label={t('pricing.search')}
          value={search}
          onChange={(event) => set('q', event.target.value)}
        />
        <button
          type="button"
          className="button"
          disabled={chosen.size === 0}
          onClick={() => copy([...chosen].join(','))}
        >
          <Icon name="copy" />
          {t('pricing.copyChosen')}
        </button>
      </PageHead>
      <div className="mb-3 grid gap-1.5 px-5 text-[12px]">
        <p
          className={`rounded-2 px-3 py-1.5 ${user === null ? 'bg-warning-soft text-warning' : 'bg-success-soft text-success'}`}
        >
          {user === null
            ? t('pricing.anonymous', { ratio: ratioOf('default') })
            : t('pricing.own', { group: own, ratio: ratioOf(own) })}
        </p>
        <p className="rounded-2 bg-sunken px-3 py-1.5 text-ink-2">{t('pricing.formula')}</p>
      </div>
      <DataTable
        caption={t('nav.pricing')}
        rows={rows}
        columns={columns}
        loading={list.isPending}
        empty={<Empty text={search === '' ? t('pricing.empty') : t('pricing.noMatch')} command="gateway model list" />}
      />
    </>
  );
}
