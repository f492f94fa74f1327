/** Who or what the traffic is of: stacked over time, and row by row. Every mark leads to its part of the log. */

import { Suspense, useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { LazyChart } from '../../components/lazy-chart.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { Segment } from '../../components/segment.tsx';
import { grouped, percentText, timeText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useNarrow } from '../../lib/narrow.ts';
import {
  countsOf,
  type Dimension,
  dimensions,
  filterOf,
  logLink,
  type Metric,
  metricOf,
  metrics,
  type Period,
  type Stack,
  stacksOf,
  startsOf,
  stepsOfBar,
  sumsOf,
  type Traffic,
  type TrafficSeries,
  ticksOf,
} from '../../lib/traffic.ts';
import { Breakdown } from './breakdown.tsx';
import { colorOf, SeriesTable } from './series-table.tsx';

/** The button below the table shows more. */
const maxRows = 10;
const chartHeight = 240;
const none: readonly TrafficSeries[] = [];

export interface TopUsageProps {
  readonly admin: boolean;
  readonly period: Period;
  readonly all: Traffic | undefined;
  readonly by: Traffic | undefined;
  readonly dimension: Dimension;
  readonly metric: Metric;
  readonly margin: boolean;
  readonly hover: number | null;
  readonly formatTime: (start: number) => string;
  readonly onHover: (at: number | null) => void;
  readonly onSet: (name: 'by' | 'show' | 'view', value: string) => void;
}

export function TopUsage(props: TopUsageProps) {
  const { admin, period, all, by, dimension, metric, margin, formatTime, onHover, onSet } = props;
  const { t } = useTranslation();
  const money = useMoney();
  const [, navigate] = useLocation();
  const [more, setMore] = useState(false);
  const narrow = useNarrow();
  const size = narrow ? stepsOfBar(period) : 1;
  const barSeconds = period.step * size;
  const starts = useMemo(() => startsOf({ ...period, step: barSeconds }), [period, barSeconds]);
  const rows = by?.series ?? none;
  const stacks = useMemo(
    () =>
      stacksOf(rows, all?.series[0], startsOf(period), metric).map((stack) => ({
        ...stack,
        values: sumsOf(stack.values, size),
      })),
    [rows, all, period, metric, size],
  );
  const hover = props.hover === null ? null : Math.floor(props.hover / size);
  const named = useCallback(
    ({ id, name, username }: TrafficSeries): string => {
      if (name !== '') return dimension === 'token' && username !== '' ? `${name} (${username})` : name;
      if (id === -1) return t('dashboard.others');
      return id === 0 && dimension !== 'channel' ? t('dashboard.noKey') : `#${id}`;
    },
    [dimension, t],
  );
  const nameOf = useCallback(
    ({ series }: Stack) => (series === null ? t('dashboard.others') : named(series)),
    [t, named],
  );
  const format = useCallback(
    (value: number) => (metric === 'charge' ? money(Math.round(value)) : grouped(Math.round(value))),
    [metric, money],
  );
  const lines = useMemo(
    () => stacks.map((stack, at) => ({ label: nameOf(stack), values: stack.values, color: colorOf(stack, at) })),
    [stacks, nameOf],
  );
  const ticks = useCallback((most: number) => ticksOf(period, most), [period]);
  const stepOf = (start: number) => ({ from: start, to: start + barSeconds });
  const pick = (index: number, line: number | null) => {
    const start = starts[index];
    if (start === undefined) return;
    const series = line === null ? null : (stacks[line]?.series ?? null);
    navigate(logLink(stepOf(start), series === null ? {} : filterOf(dimension, series)));
  };
  const sorted = rows.toSorted((one, other) => metricOf(metric, other.total) - metricOf(metric, one.total));
  const visible = more ? sorted : sorted.slice(0, maxRows);
  const highest = Math.max(
    1,
    metricOf(metric, sorted[0]?.total ?? { charge: 0, requests: 0, tokens_in: 0, tokens_out: 0 }),
  );
  const options = admin ? dimensions : dimensions.filter((one) => one === 'model' || one === 'token');
  const unit =
    size > 1
      ? barSeconds < 3600
        ? t('dashboard.stepsOfMinutes', { size: barSeconds / 60 })
        : barSeconds < 86_400
          ? t('dashboard.stepsOfHours', { size: barSeconds / 3600 })
          : t('dashboard.stepsOfDays', { size: barSeconds / 86_400 })
      : t(period.step === 300 ? 'dashboard.step5m' : period.step === 3600 ? 'dashboard.step1h' : 'dashboard.step1d');
  return (
    <>
      <section aria-label={t('dashboard.chart')} className="rounded-3 border border-line">
        <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 max-sm:[&_[role=radio]]:flex-1 max-sm:[&>[role=radiogroup]]:w-full">
          <h2 className="font-semibold">{t('dashboard.chart')}</h2>
          <span className="flex-1 text-[12px] whitespace-nowrap text-ink-3">
            {hover === null || starts[hover] === undefined ? unit : formatTime(starts[hover])}
          </span>
          <Segment
            label={t('dashboard.per')}
            value={dimension}
            options={options.map((one) => [one, t(`dashboard.${one}`)])}
            onChange={(value) => onSet('by', value)}
          />
          <Segment
            label={t('dashboard.show')}
            value={metric}
            options={metrics.map((one) => [one, t(`dashboard.m_${one}`)])}
            onChange={(value) => onSet('show', value)}
          />
        </header>
        {stacks.length === 0 ? (
          // As high as the chart with its names: what stands below does not move when it comes.
          <p className="grid min-h-81 place-items-center px-4 text-ink-2 max-sm:min-h-40">
            {by === undefined ? t('app.loading') : t('dashboard.empty')}
          </p>
        ) : (
          <div className="px-4 py-3">
            <Suspense fallback={<div style={{ height: chartHeight }} />}>
              <LazyChart
                {...{ starts, lines, format, ticks, formatTime, onHover }}
                step={barSeconds}
                onPick={pick}
                label={t('dashboard.chart')}
                kind="bars"
                height={chartHeight}
              />
            </Suspense>
            <SeriesTable
              {...{ stacks, starts, hover, nameOf, format, formatTime }}
              linkOf={(start) => logLink(stepOf(start))}
            />
          </div>
        )}
      </section>
      <section aria-label={t(`dashboard.${dimension}`)} className="rounded-3 border border-line">
        <header className="flex flex-wrap items-center gap-2 px-4 py-2">
          <h2 className="flex-1 font-semibold">{t(`dashboard.top_${dimension}`)}</h2>
          {admin ? (
            <button
              type="button"
              className="button"
              aria-pressed={margin}
              onClick={() => onSet('view', margin ? '' : 'margin')}
            >
              {t('dashboard.margin')}
            </button>
          ) : null}
        </header>
        <Scrolls
          className="in-card overflow-auto"
          // Names of columns stand over no rows only while these are awaited.
          hidden={by !== undefined && rows.length === 0}
          aria-label={t(`dashboard.top_${dimension}`)}
        >
          <table className="sheet-table">
            <thead>
              <tr>
                <th scope="col">{t(`dashboard.${dimension}`)}</th>
                <th scope="col" className="number">
                  {t(dimension === 'channel' ? 'dashboard.attempts' : 'dashboard.requests')}
                </th>
                <th scope="col" className="number">
                  {t('dashboard.errors')}
                </th>
                <th scope="col" className="number max-sm:hidden">
                  {t('dashboard.firstP95')}
                </th>
                <th scope="col" className="number max-sm:hidden">
                  {t('dashboard.tokens')}
                </th>
                <th scope="col" className="number">
                  {t('dashboard.spent')}
                </th>
                <th scope="col" className="w-40 max-sm:hidden">
                  <span className="sr-only">{t('dashboard.part')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {visible.map((row) => {
                // A channel is judged by the calls that were made of it, as on its own page.
                const { all, bad } = countsOf(dimension, row.total);
                const rate = all === 0 ? null : bad / all;
                const link = logLink(period, filterOf(dimension, row));
                return (
                  <tr key={`${row.id} ${row.name}`}>
                    <td className={`max-w-60 truncate ${dimension === 'model' ? 'font-mono text-[12px]' : ''}`}>
                      <Link href={link}>{named(row)}</Link>
                    </td>
                    <td className="number">{grouped(all)}</td>
                    <td className={`number ${rate !== null && rate >= 0.05 ? 'text-danger' : ''}`}>
                      {bad === 0 ? (
                        '0'
                      ) : (
                        <Link
                          href={`${link}&${dimension === 'channel' ? 'status=failed,retried' : 'type=5'}`}
                          className="text-inherit"
                        >
                          {percentText(rate ?? 1)}
                        </Link>
                      )}
                    </td>
                    <td className="number max-sm:hidden">
                      {row.total.first_token.p95 === null ? '–' : timeText(row.total.first_token.p95)}
                    </td>
                    <td className="number max-sm:hidden">{grouped(row.total.tokens_in + row.total.tokens_out)}</td>
                    <td className="number">{money(row.total.charge)}</td>
                    <td className="max-sm:hidden">
                      <span aria-hidden="true" className="block h-1 w-full rounded-1 bg-press">
                        <span
                          className="block h-1 rounded-1 bg-accent"
                          style={{ width: `${(100 * metricOf(metric, row.total)) / highest}%` }}
                        />
                      </span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scrolls>
        {sorted.length > visible.length ? (
          <button type="button" className="button m-3" onClick={() => setMore(true)}>
            {t('dashboard.more', { count: sorted.length - visible.length })}
          </button>
        ) : null}
        {by !== undefined && rows.length === 0 ? <p className="px-4 py-5 text-ink-2">{t('dashboard.empty')}</p> : null}
      </section>
      {admin && margin ? (
        <Breakdown range={{ start_timestamp: period.from, end_timestamp: period.to - 1 }} username="" />
      ) : null}
    </>
  );
}
