/** The overview: one range over spend, requests, errors and first tokens, by model, channel, user or key. */
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Checklist } from '../../components/checklist.tsx';
import { FailureNote } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { RangeControl, useRange } from '../../components/range-control.tsx';
import { call } from '../../lib/api.ts';
import { failureWords } from '../../lib/failure-words.ts';
import { useMoney } from '../../lib/money.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useStatus } from '../../lib/status.ts';
import {
  before,
  dimensions,
  elapsed,
  labelOf,
  logLink,
  type Metric,
  metrics,
  type Period,
  periodOf,
  queryOf,
  type Traffic,
} from '../../lib/traffic.ts';
import { useUrl } from '../../lib/url.ts';
import { CacheRates } from './cache-rates.tsx';
import { Cards } from './cards.tsx';
import { TopUsage } from './top-usage.tsx';

/** Of the site's default step: the range that it draws as bars. */
const defaultRanges = { hour: '24h', day: '7d', week: '30d' } as const;
const refreshMs = 30_000;
const series = 50;

type By = 'none' | (typeof dimensions)[number];

const ask = (admin: boolean, period: Period, by: By, points: boolean, order: Metric): Promise<Traffic> => {
  const query = { ...queryOf(period), points, limit: series, order };
  if (admin) return call('traffic.all', { ...query, by });
  return call('traffic.self', { ...query, by: by === 'model' || by === 'token' ? by : 'none' });
};

/** Channels that fail now, where an administrator looks first. */
function Failing() {
  const { t } = useTranslation();
  const found = useOptionalRead({
    queryKey: ['channel-traffic'],
    queryFn: () => call('traffic.channels', {}),
    refetchInterval: refreshMs,
    // The alerts above the page have just read it.
    staleTime: refreshMs,
  }).data;
  const failing = found?.filter(({ state }) => state === 'failing') ?? [];
  const [first] = failing;
  if (first === undefined) return null;
  const words = failureWords(first.words, t);
  return (
    <p className="flex flex-wrap items-center gap-x-3 rounded-2 border border-line border-l-3 border-l-danger-solid px-3 py-2">
      <span className="status status-bad">{t('dashboard.failing', { count: failing.length })}</span>
      <span
        className="min-w-0 flex-1 truncate text-ink-2 max-sm:order-1 max-sm:basis-full max-sm:whitespace-normal"
        title={words}
      >
        {first.name}
        {words === '' ? '' : `: ${words}`}
      </span>
      <Link href="/channel" className="ml-auto">
        {t('dashboard.openChannels')}
      </Link>
    </p>
  );
}

const yearDays = 365;

function Balance({ period, spent }: { readonly period: Period; readonly spent: number | undefined }) {
  const { t } = useTranslation();
  const money = useMoney();
  const self = useOptionalRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const days = elapsed(period, Date.now() / 1000) / 86_400;
  const lasts = self !== undefined && spent !== undefined && spent > 0 ? Math.floor(self.quota / (spent / days)) : null;
  return (
    <span className="text-ink-3">
      {t('dashboard.balance')} <span className="font-medium text-ink-1">{money(self?.quota)}</span>
      {lasts === null
        ? ''
        : ` · ${lasts > yearDays ? t('dashboard.lastsLong') : t('dashboard.lasts', { count: lasts })}`}
    </span>
  );
}

export function DashboardPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const status = useStatus().data;
  const url = useUrl();
  const [, navigate] = useLocation();
  const [hover, setHover] = useState<number | null>(null);
  const initialRange = defaultRanges[status?.data_export_default_time as keyof typeof defaultRanges] ?? '24h';
  const range = useRange(initialRange);
  const { from, to, step } = periodOf(range, Math.ceil(Date.now() / 300_000) * 300);
  const period = useMemo(() => ({ from, to, step }), [from, to, step]);
  const compare = url.get('compare') === '1';
  const dimension =
    dimensions.find((one) => one === url.get('by') && (admin || one === 'model' || one === 'token')) ?? 'model';
  const metric = metrics.find((one) => one === url.get('show')) ?? 'charge';
  const read = (what: string, span: Period, by: By, points: boolean) => ({
    // What is not apart has no order.
    queryKey: ['overview', what, admin, span, by, points, ...(by === 'none' ? [] : [metric])],
    queryFn: () => ask(admin, span, by, points, metric),
    refetchInterval: refreshMs,
  });
  const all = useList(read('all', period, 'none', true));
  const by = useList(read('by', period, dimension, true));
  const earlier = useOptionalRead(read('earlier', before(period), 'none', compare)).data;
  const formatTime = useCallback((start: number) => labelOf(start, step, to - from > 86_400), [step, from, to]);
  const pick = (part: { from: number; to: number }, kind: 'requests' | 'errors') =>
    navigate(logLink(part, kind === 'errors' ? { type: '5' } : {}));
  const onHover = (at: number | null) =>
    setHover(at === null ? null : Math.min(Math.max(0, Math.floor((at - from) / step)), (to - from) / step - 1));
  return (
    <>
      <PageHead title={t('nav.dashboard')}>
        <span className="max-sm:hidden">
          <Balance period={period} spent={admin ? undefined : all.data?.total.charge} />
        </span>
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 px-5 pb-6">
        <div className="flex flex-wrap items-center gap-2">
          <RangeControl initial={initialRange} />
          <button
            type="button"
            className={`button ${compare ? 'border-accent text-accent-text' : ''}`}
            aria-pressed={compare}
            title={t('dashboard.compareHelp')}
            onClick={() => url.set('compare', compare ? '' : '1')}
          >
            {t('dashboard.compare')}
          </button>
        </div>
        {admin ? <Checklist /> : null}
        {admin ? <Failing /> : null}
        {all.failure === null ? null : <FailureNote failure={all.failure} />}
        {by.failure === null || all.failure !== null ? null : <FailureNote failure={by.failure} />}
        <Cards {...{ period, earlier, compare, hover, formatTime, onHover }} traffic={all.data} onPick={pick} />
        <TopUsage
          {...{ admin, period, dimension, metric, hover, formatTime, onHover }}
          all={all.data}
          by={by.data}
          margin={url.get('view') === 'margin'}
          onSet={(name, value) => url.set(name, value)}
        />
        <CacheRates admin={admin} from={from} to={to} />
      </div>
    </>
  );
}
