/** What was used as bars by model, and the same as a table. */

import { lazy, Suspense, useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Segment } from '../../components/segment.tsx';
import type { List } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';
import { compact } from './compact.ts';
import { chartOf, labelOf, metrics, type UsageRow } from './series.ts';
import { SeriesTable } from './series-table.tsx';

const StackedBars = lazy(() => import('./stacked-bars.tsx').then((module) => ({ default: module.StackedBars })));

const noRows: readonly UsageRow[] = [];

export interface UsageProps {
  readonly list: List<readonly UsageRow[]>;
  readonly wanted: Parameters<typeof chartOf>[1];
  readonly onMetric: (metric: (typeof metrics)[number]) => void;
}

export function Usage({ list, wanted, onMetric }: UsageProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const { granularity, metric } = wanted;
  const chart = useMemo(() => chartOf(list.data ?? noRows, wanted), [list.data, wanted]);
  const nameOf = useCallback((name: string) => (name === '' ? t('dashboard.others') : name), [t]);
  const format = useCallback(
    (value: number) => (metric === 'quota' ? money(Math.round(value)) : compact.format(value)),
    [metric, money],
  );
  const formatTime = useCallback((start: number) => labelOf(start, granularity), [granularity]);

  return (
    <section aria-label={t('dashboard.chart')} className="rounded-3 border border-line">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="flex-1 font-semibold">{t('dashboard.chart')}</h2>
        <Segment
          label={t('dashboard.show')}
          value={metric}
          options={metrics.map((one) => [one, t(`dashboard.m_${one}`)])}
          onChange={onMetric}
        />
      </header>
      {chart.series.length === 0 ? (
        <p className="px-4 py-8 text-ink-2">
          {list.pending ? t('app.loading') : list.data === undefined ? '–' : t('dashboard.empty')}
        </p>
      ) : (
        <div className="px-4 py-3">
          <Suspense fallback={<div className="h-60" />}>
            <StackedBars {...{ chart, nameOf, format, formatTime }} label={t('dashboard.chart')} />
          </Suspense>
          <SeriesTable {...{ chart, nameOf, format, formatTime }} />
        </div>
      )}
    </section>
  );
}
