/** Spend, requests, errors and time to first token: the figure, how it changed, and how it went. */

import { Suspense, useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChartLine } from '../../components/chart.tsx';
import { LazyChart } from '../../components/lazy-chart.tsx';
import { grouped, percentText, secondsText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import {
  changeOf,
  elapsed,
  errorRate,
  type Figures,
  type Period,
  pointSeconds,
  type Sketch,
  sketchOf,
  startsOf,
  type Traffic,
  valuesOf,
} from '../../lib/traffic.ts';

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
/** Two digits at least: 0.97, 12. */
const rateText = (rate: number): string => (rate < 10 ? rate.toPrecision(2) : grouped(Math.round(rate)));
const seconds = (ms: number | null): string => (ms === null ? '–' : secondsText(ms));
const shareText = (share: number | null): string => (share === null ? '–' : percentText(share));

/** The colours of the two lines of the last card. */
const spreadColors = { p50: '--data-1', p95: '--data-2' } as const;

interface CardProps {
  readonly label: string;
  /** What its lines are, where there are several. */
  readonly keys?: readonly (readonly [name: string, color: string])[];
  readonly value: string;
  readonly unit?: string;
  /** Its change, where more is neither good nor bad. */
  readonly change: string | null;
  readonly className: string;
  readonly note: string;
  /** What it was in the period before; null = that is not shown. */
  readonly then: string | null;
  /** undefined = there is nothing to draw. */
  readonly starts: readonly number[] | undefined;
  readonly step: number;
  readonly lines: readonly ChartLine[];
  readonly onHover: (at: number | null) => void;
  readonly onPick: (index: number) => void;
}

const chartHeight = 56;

function MetricCard(props: CardProps) {
  const { t } = useTranslation();
  const { label, keys, value, unit, change, className, note, then, starts, step, lines, onHover, onPick } = props;
  return (
    <div className="min-w-0 rounded-3 border border-line px-4 pt-3 pb-2 max-sm:px-3">
      <dt className="flex flex-wrap items-center gap-x-2 text-[12px] text-ink-3">
        {label}
        {(starts === undefined ? undefined : keys)?.map(([name, color]) => (
          <span key={name} className="inline-flex items-center gap-1">
            <span aria-hidden="true" className="h-0.5 w-3 rounded-full" style={{ background: `var(${color})` }} />
            {name}
          </span>
        ))}
      </dt>
      <dd className="truncate text-[26px] leading-8 font-semibold max-sm:text-[20px]">
        {value}
        {unit === undefined ? null : (
          <span className="ml-1 text-[13px] leading-none font-normal text-ink-3">{unit}</span>
        )}
      </dd>
      <dd
        className="min-h-5 truncate text-[12px] text-ink-3 max-sm:min-h-8 max-sm:leading-4 max-sm:whitespace-normal"
        title={note || undefined}
      >
        {change === null ? null : (
          <span className={`mr-1.5 ${className}`} title={t('dashboard.changeHelp')}>
            {change}
          </span>
        )}
        {note}
      </dd>
      {then === null ? null : (
        <dd className="flex items-center gap-1.5 truncate text-[12px] text-ink-3">
          <span aria-hidden="true" className="w-3 flex-none border-t-2 border-dotted border-(--data-8)" />
          {then}
        </dd>
      )}
      {/* Its place stays where nothing is drawn: what stands below would move when that is known. */}
      <dd className={`mt-1 ${starts === undefined ? 'border-b border-line' : ''}`} style={{ height: chartHeight }}>
        {starts === undefined ? null : (
          <Suspense>
            <LazyChart {...{ starts, step, lines, label, onHover, onPick }} kind="line" height={chartHeight} />
          </Suspense>
        )}
      </dd>
    </div>
  );
}

function signed(value: number, decimals: number): string {
  const size = Math.abs(value).toFixed(decimals);
  return `${Number(size) === 0 ? '±' : value > 0 ? '+' : '−'}${size}`;
}

/** From ten times on nobody reads a percentage. */
const timesFrom = 10;

/** @param change share of what it was. */
const changeText = (change: number): string =>
  change + 1 >= timesFrom ? `×${grouped(Math.round(change + 1))}` : `${signed(change * 100, 1)}%`;

export interface CardsProps {
  readonly period: Period;
  /** undefined = not read yet. */
  readonly traffic: Traffic | undefined;
  readonly earlier: Traffic | undefined;
  /** Shows the period before as dashed lines. */
  readonly compare: boolean;
  readonly hover: number | null;
  readonly formatTime: (start: number) => string;
  readonly onHover: (at: number | null) => void;
  /** @param part of the period, in epoch seconds. */
  readonly onPick: (part: { readonly from: number; readonly to: number }, kind: 'requests' | 'errors') => void;
}

type Points = ReturnType<typeof sketchOf>;

interface Drawn {
  readonly now: Points;
  /** null = it is not compared. */
  readonly before: Points | null;
}

/** A line, and the same of the period before. */
const linesOf = (values: (points: Points) => (number | null)[], label: string, color: string, drawn: Drawn) => [
  ...(drawn.before === null ? [] : [{ label, values: values(drawn.before), color: '--data-8', dashed: true }]),
  { label, values: values(drawn.now), color },
];

export function Cards(props: CardsProps) {
  const { period, traffic, earlier, compare, hover, formatTime, onHover, onPick } = props;
  const { t } = useTranslation();
  const money = useMoney();
  const total = traffic?.total;
  const then = earlier?.total;
  const step = pointSeconds(period);
  const steps = useMemo(() => startsOf(period), [period]);
  const starts = useMemo(() => startsOf({ ...period, step }), [period, step]);
  const lines = useMemo(() => {
    const drawn = {
      now: sketchOf(traffic?.series[0]?.points ?? [], period),
      before: compare ? sketchOf(earlier?.series[0]?.points ?? [], period, period.to - period.from) : null,
    };
    const of =
      (figure: (point: Sketch) => number | null, none: number | null) =>
      (points: Points): (number | null)[] =>
        // A point that is still filling would be drawn as a fall.
        valuesOf(points, starts, figure, none).map((value, index) =>
          starts.length > 2 && (starts[index] ?? 0) + step > Date.now() / 1000 ? null : value,
        );
    const p50 = of((point) => point.first_token.p50, null);
    const p95 = of((point) => point.first_token.p95, null);
    return {
      spend: linesOf(
        of(({ charge }) => charge, 0),
        'spend',
        '--data-1',
        drawn,
      ),
      requests: linesOf(
        of(({ requests }) => requests, 0),
        'requests',
        '--data-1',
        drawn,
      ),
      errors: linesOf(of(errorRate, null), 'errors', '--data-4', drawn),
      first: [
        ...linesOf(p95, 'p95', spreadColors.p95, drawn),
        { label: 'p50', values: p50(drawn.now), color: spreadColors.p50 },
      ],
    };
  }, [period, starts, step, traffic, earlier, compare]);
  const at = hover === null ? undefined : steps[hover];
  const point = at === undefined ? undefined : traffic?.series[0]?.points.find((one) => one.at === at);
  /** Under the pointer, else what is said of the whole. */
  const said = (of: (figures: Figures) => string, otherwise: string): string =>
    at === undefined ? otherwise : `${formatTime(at)} · ${point === undefined ? '–' : of(point)}`;
  const relative = (now: number | undefined, old: number | undefined): string | null => {
    const change = now === undefined ? null : changeOf(now, old);
    return change === null ? null : changeText(change);
  };
  const passed = elapsed(period, Date.now() / 1000);
  const days = passed / 86_400;
  const minutes = passed / 60;
  const rate = total === undefined ? null : errorRate(total);
  const rateThen = then === undefined ? null : errorRate(then);
  const points = rate === null || rateThen === null ? null : (rate - rateThen) * 100;
  const slower =
    total?.first_token.p95 == null || then?.first_token.p95 == null
      ? null
      : (total.first_token.p95 - then.first_token.p95) / 1000;
  const quiet = { starts: total?.requests === 0 ? undefined : starts, step, onHover };
  const pick = useCallback(
    (kind: 'requests' | 'errors') => (index: number) => {
      const start = starts[index];
      if (start !== undefined) onPick({ from: start, to: Math.min(start + step, period.to) }, kind);
    },
    [starts, step, period, onPick],
  );
  /** The figure of the period before. */
  const wasOf = (of: (figures: Figures) => string): string | null =>
    !compare
      ? null
      : then === undefined
        ? '–'
        : then.requests === 0
          ? t('dashboard.nothingBefore')
          : t('dashboard.before', { value: of(then) });
  const tone = (worse: number | null) =>
    worse === null || Math.abs(worse) < 0.005 ? '' : worse > 0 ? 'text-danger' : 'text-success';
  return (
    <dl aria-busy={traffic === undefined} className="grid grid-cols-4 gap-3 max-lg:grid-cols-2 max-sm:gap-2">
      <MetricCard
        {...quiet}
        label={t('dashboard.spent')}
        value={money(total?.charge)}
        change={relative(total?.charge, then?.charge)}
        className=""
        note={said(
          ({ charge }) => money(charge),
          total === undefined || days < 1
            ? ''
            : t('dashboard.perDay', { value: money(Math.round(total.charge / days)) }),
        )}
        then={wasOf(({ charge }) => money(charge))}
        lines={lines.spend}
        onPick={pick('requests')}
      />
      <MetricCard
        {...quiet}
        label={t('dashboard.requests')}
        value={total === undefined ? '–' : grouped(total.requests)}
        change={relative(total?.requests, then?.requests)}
        className=""
        note={said(
          ({ requests }) => grouped(requests),
          total === undefined
            ? ''
            : [
                // Seldom asked is not asked so many times a minute.
                ...(total.requests < minutes / 10
                  ? []
                  : [t('dashboard.perMinute', { rpm: rateText(total.requests / minutes) })]),
                t('dashboard.tokenSum', { tokens: compact.format(total.tokens_in + total.tokens_out) }),
              ].join(' · '),
        )}
        then={wasOf(({ requests }) => grouped(requests))}
        lines={lines.requests}
        onPick={pick('requests')}
      />
      <MetricCard
        {...quiet}
        label={t('dashboard.errors')}
        value={shareText(rate)}
        change={points === null ? null : t('dashboard.points', { value: signed(points, 2) })}
        className={tone(points)}
        note={said(
          (one) => `${shareText(errorRate(one))} (${grouped(one.errors)})`,
          total === undefined
            ? ''
            : t('dashboard.errorsOf', { errors: grouped(total.errors), requests: grouped(total.requests) }),
        )}
        then={wasOf((one) => shareText(errorRate(one)))}
        lines={lines.errors}
        onPick={pick('errors')}
      />
      <MetricCard
        {...quiet}
        label={t('dashboard.first')}
        keys={Object.entries(spreadColors)}
        value={
          total?.first_token.p50 == null
            ? '–'
            : `${seconds(total.first_token.p50)} / ${seconds(total.first_token.p95 ?? null)}`
        }
        {...(total?.first_token.p50 == null ? {} : { unit: 's' })}
        change={slower === null ? null : `${signed(slower, 2)} s`}
        className={tone(slower)}
        note={said(
          ({ first_token: { p50, p95 } }) => `${seconds(p50)} / ${seconds(p95)} s`,
          total?.tokens_per_second == null ? '' : `${grouped(Math.round(total.tokens_per_second))} tok/s`,
        )}
        then={wasOf(({ first_token: { p50, p95 } }) => `${seconds(p50)} / ${seconds(p95)} s`)}
        lines={lines.first}
        onPick={pick('requests')}
      />
    </dl>
  );
}
