/** What was used: numbers of the window, bars by model, and the same as a table. */
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { SearchField } from '../../components/filters.tsx';
import { PageHead } from '../../components/page.tsx';
import { Segment } from '../../components/segment.tsx';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useStatus } from '../../shell/status.ts';
import { Checklist } from '../checklist/checklist.tsx';
import { Breakdown } from './breakdown.tsx';
import { Figures } from './figures.tsx';
import { granularities, metrics, windows } from './series.ts';
import { Usage } from './usage.tsx';
import { useUsage } from './use-usage.ts';

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
  const reach = { admin, from, to, username };
  const usage = useUsage(reach);
  const wanted = useMemo(() => ({ from, to, granularity, metric }), [from, to, granularity, metric]);

  return (
    <>
      <PageHead title={t('nav.dashboard')}>
        {admin ? (
          <SearchField
            className="w-40"
            label={t('dashboard.user')}
            value={username}
            onChange={(value) => set('user', value)}
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
        <Figures {...{ granularity, usage }} window={reach} />
        <Usage list={usage} wanted={wanted} onMetric={(value) => set('show', value)} />
        {admin ? <Breakdown range={range} username={username} /> : null}
      </div>
    </>
  );
}
