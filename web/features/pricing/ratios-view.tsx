/** Prices as ratios, as other consoles of this family show them. */
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { rowsFor } from './price-rows.ts';
import { pricingColumns } from './pricing-columns.tsx';
import { RatioHelp } from './ratio-help.tsx';
import type { Models } from './use-models.ts';

export interface RatiosViewProps {
  readonly models: Models;
  readonly bar: ReactNode;
}

export function RatiosView({ models, bar }: RatiosViewProps) {
  const { t } = useTranslation();
  const url = useUrl();
  const own = useUser()?.group || 'default';
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { list, group } = models;
  const search = url.get('q');
  const rows = useMemo(() => (list === undefined ? [] : rowsFor(list, group, search)), [list, group, search]);
  const ratioOf = (name: string): number => list?.group_ratio[name] ?? 1;
  const onView = (name: string) => {
    url.set('group', name === own ? '' : name);
    toast.info(t('pricing.viewing', { group: name, ratio: ratioOf(name) }));
  };
  const onPick = (name: string, on: boolean) =>
    setSelected(on ? new Set([...selected, name]) : new Set([...selected].filter((one) => one !== name)));
  return (
    <>
      <p className="mx-5 mb-3 rounded-2 bg-sunken px-3 py-1.5 text-[12px] text-ink-2">
        {t('pricing.formula', { unit: useMoneyDetails()?.quotaPerUnit ?? '–' })}
      </p>
      <DataTable
        caption={t('nav.pricing')}
        rows={rows}
        columns={pricingColumns({ t, group, ratioOf, selected, onPick, onView })}
        list={models}
        bar={
          <>
            {bar}
            <button
              type="button"
              className="button"
              disabled={selected.size === 0}
              onClick={() => copyOrShow([...selected].join(','))}
            >
              <Icon name="copy" />
              {t('pricing.copyChosen')}
            </button>
            <RatioHelp />
          </>
        }
        empty={<Empty text={search === '' ? t('pricing.empty') : t('pricing.noMatch')} />}
      />
    </>
  );
}
