/** What every model costs, in the group the reader looks at. */

import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useSearchParams } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { SearchField } from '../../components/filters.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useList } from '../../lib/read.ts';
import { useUser } from '../../lib/session.ts';
import { useMoneyFacts } from '../../shell/money.ts';
import { rowsFor } from './price-rows.ts';
import { pricingColumns } from './pricing-columns.tsx';
import { RatioHelp } from './ratio-help.tsx';

export function PricingPage() {
  const { t } = useTranslation();
  const user = useUser();
  const [query, setQuery] = useSearchParams();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const list = useList({ queryKey: ['pricing', user?.id ?? 0], queryFn: () => call('pricing.get') });
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
  const view = (name: string) => {
    set('group', name === own ? '' : name);
    toast.info(t('pricing.viewing', { group: name, ratio: ratioOf(name) }));
  };
  const pick = (name: string, on: boolean) =>
    setChosen(on ? new Set([...chosen, name]) : new Set([...chosen].filter((one) => one !== name)));

  const columns = pricingColumns({ t, group, ratioOf, chosen, onPick: pick, onView: view });

  return (
    <>
      <PageHead title={t('nav.pricing')} count={list.data === undefined ? undefined : rows.length}>
        <SearchField
          slash
          className="w-52"
          label={t('pricing.search')}
          value={search}
          onChange={(value) => set('q', value)}
        />
        <button
          type="button"
          className="button"
          disabled={chosen.size === 0}
          onClick={() => copyOrShow([...chosen].join(','))}
        >
          <Icon name="copy" />
          {t('pricing.copyChosen')}
        </button>
        <RatioHelp />
      </PageHead>
      <div className="mb-3 grid gap-1.5 px-5 text-[12px]">
        <p
          className={`rounded-2 px-3 py-1.5 ${user === null ? 'bg-warning-soft text-warning' : 'bg-success-soft text-success'}`}
        >
          {user === null
            ? t('pricing.anonymous', { ratio: ratioOf('default') })
            : t('pricing.own', { group: own, ratio: ratioOf(own) })}
        </p>
        <p className="rounded-2 bg-sunken px-3 py-1.5 text-ink-2">
          {t('pricing.formula', { unit: useMoneyFacts()?.quotaPerUnit ?? '–' })}
        </p>
      </div>
      <DataTable
        caption={t('nav.pricing')}
        rows={rows}
        columns={columns}
        list={list}
        empty={<Empty text={search === '' ? t('pricing.empty') : t('pricing.noMatch')} command="gateway model list" />}
      />
    </>
  );
}
