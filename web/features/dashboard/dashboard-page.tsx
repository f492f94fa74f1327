/** What was used: numbers of the window, bars by model, and the same as a table. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { PageHead } from '../../components/page.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { money } from '../../lib/format.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useStatus } from '../../shell/status.ts';
import { Checklist } from '../checklist/checklist.tsx';
import { Breakdown } from './breakdown.tsx';
import { chartOf, granularities, labelOf, metrics, windows } from './series.ts';
import { SeriesTable } from './series-table.tsx';

const StackedBars = lazy(() => import('./stacked-bars.tsx').then((module) => ({ default: module.StackedBars })));

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
/** Charts end an hour after now, so that the running hour is whole. */
const hourSeconds = 3600;

export function DashboardPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const status = useStatus().data;
  const [query, setQuery] = useSearchParams();
  const granularity =
    granularities.find((one) => one === query.get('by')) ??
    granularities.find((one) => one === status?.data_export_default_time) ??
    'hour';
  const metric = metrics.find((one) => one === query.get('show')) ?? 'quota';
  const username = query.get('user') ?? '';
  const to = Math.floor(Date.now() / 1000 / hourSeconds) * hourSeconds + hourSeconds;
  const from = to - windows[granularity];
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
  const range = { start_timestamp: from, end_timestamp: to };
  const rows = useQuery({
    queryKey: ['usage', admin, from, to, username],
    queryFn: () => (admin ? call('usage.all', { ...range, username }) : call('usage.self', range)),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
  });
  const self = useQuery({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const beyond = useQuery({
    queryKey: ['overrun', from, to, username],
    queryFn: () => call('log.stat', { ...range, username }),
    enabled: admin,
    refetchInterval: 60_000,
  }).data?.overrun;
  const data = rows.data;
  const chart = useMemo(
    () => chartOf(data ?? [], { from, to, granularity, metric }),
    [data, from, to, granularity, metric],
  );
  const nameOf = useCallback((name: string) => (name === '' ? t('dashboard.others') : name), [t]);
  const format = useCallback(
    (value: number) => (metric === 'quota' ? money(Math.round(value)) : compact.format(value)),
    [metric],
  );
  const formatTime = useCallback((start: number) => labelOf(start, granularity), [granularity]);

  const sum = (of: 'quota' | 'count' | 'token_used') => (data ?? []).reduce((total, row) => total + row[of], 0);
  const [spent, requests, tokens] = [sum('quota'), sum('count'), sum('token_used')];
  const minutes = windows[granularity] / 60;
  const days = windows[granularity] / 86_400;
  const runway = self !== undefined && spent > 0 && !admin ? Math.floor(self.quota / (spent / days)) : null;
  const figures: readonly (readonly [string, string, string])[] = [
    [
      t('dashboard.spent'),
      money(spent),
      beyond === undefined || beyond === 0
        ? t('dashboard.perDay', { value: money(Math.round(spent / days)) })
        : t('dashboard.overrun', { value: money(beyond) }),
    ],
    [t('dashboard.requests'), compact.format(requests), `${(requests / minutes).toFixed(3)} RPM`],
    [t('dashboard.tokens'), compact.format(tokens), `${(tokens / minutes).toFixed(1)} TPM`],
    [
      t('dashboard.balance'),
      money(self?.quota ?? 0),
      runway === null
        ? t('dashboard.used', { value: money(self?.used_quota ?? 0) })
        : t('dashboard.lasts', { count: runway }),
    ],
  ];

  return (
    <>
      <PageHead title={t('nav.dashboard')}>
        {admin ? (
          <input
            type="search"
            className="field w-40"
            placeholder={t('dashboard.user')}
            aria-label={t('dashboard.user')}
            value={username}
            onChange={(event) => set('user', event.target.value)}
          />
        ) : null}
        <Segment
          label={t('dashboard.by')}
          value={granularity}
          options={granularities.map((one) => [one, t(`dashboard.${one}`)])}
          onChange={(value) => set('by', value)}
        />
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 px-5 pb-6">
        {admin ? <Checklist /> : null}
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 border-y border-line py-3 lg:grid-cols-4">
          {figures.map(([label, value, note]) => (
            <div key={label}>
              <dt className="text-[12px] text-ink-3">{label}</dt>
              <dd className="text-[26px] leading-8 font-semibold">{value}</dd>
              <dd className="text-[12px] text-ink-3">{note}</dd>
            </div>
          ))}
        </dl>
        <section aria-label={t('dashboard.chart')} className="rounded-3 border border-line">
          <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
            <h2 className="flex-1 font-semibold">{t('dashboard.chart')}</h2>
            <Segment
              label={t('dashboard.show')}
              value={metric}
              options={metrics.map((one) => [one, t(`dashboard.m_${one}`)])}
              onChange={(value) => set('show', value)}
            />
          </header>
          {chart.series.length === 0 ? (
            <p className="px-4 py-8 text-ink-2">{rows.isPending ? t('app.loading') : t('dashboard.empty')}</p>
          ) : (
            <div className="px-4 py-3">
              <Suspense fallback={<div className="h-60" />}>
                <StackedBars {...{ chart, nameOf, format, formatTime }} label={t('dashboard.chart')} />
              </Suspense>
              <SeriesTable {...{ chart, nameOf, format, formatTime }} />
            </div>
          )}
        </section>
        {admin ? <Breakdown range={range} username={username} /> : null}
      </div>
    </>
  );
}
