/** How long the channels of a model took to begin their answers, over the last seven days: one line for each of the busiest. */
import { Suspense, useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Card } from '../../components/card.tsx';
import type { ChartLine } from '../../components/chart.tsx';
import { LazyChart } from '../../components/lazy-chart.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { timeText } from '../../lib/format.ts';
import { rangeIn } from '../../lib/range.ts';
import { useOptionalRead } from '../../lib/read.ts';
import {
  labelOf,
  logLink,
  periodOf,
  pointSeconds,
  queryOf,
  sketchOf,
  startsOf,
  type Traffic,
  ticksOf,
  valuesOf,
} from '../../lib/traffic.ts';

const chartHeight = 180;
/** More lines than these are not told apart. */
const maxChannels = 5;
const percentiles = ['p50', 'p95'] as const;
type Percentile = (typeof percentiles)[number];

const none: Traffic['series'] = [];

export function ChannelLatency({ model }: { readonly model: string }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [shown, setShown] = useState<Percentile>('p50');
  const period = useMemo(
    () =>
      periodOf(
        rangeIn(() => '', '7d'),
        Date.now() / 1000,
      ),
    [],
  );
  const { data } = useOptionalRead({
    queryKey: ['model-latency', model, period.to],
    queryFn: () => call('traffic.all', { ...queryOf(period), by: 'channel', model, points: true, limit: maxChannels }),
    staleTime: 60_000,
  });
  const step = pointSeconds(period);
  const starts = useMemo(() => startsOf({ ...period, step }), [period, step]);
  const series = useMemo(
    () => (data?.series ?? none).filter(({ id, total }) => id > 0 && total.first_token.p50 !== null),
    [data],
  );
  const lines = useMemo(
    (): readonly ChartLine[] =>
      series.map(({ name, points }, at) => ({
        label: name,
        values: valuesOf(sketchOf(points, period), starts, ({ first_token: one }) => one[shown], null),
        color: `--data-${at + 1}`,
      })),
    [series, period, starts, shown],
  );
  const ticks = useCallback((most: number) => ticksOf(period, most), [period]);
  const formatTime = useCallback((start: number) => labelOf(start, step, true), [step]);
  const ignore = useCallback(() => undefined, []);
  // Of a model that nobody called there is nothing to draw.
  if (series.length === 0) return null;
  const label = t('pricing.latency');
  return (
    <Card
      title={label}
      actions={
        <Segment
          label={label}
          value={shown}
          options={[
            ['p50', t('pricing.typical')],
            ['p95', t('pricing.slowest')],
          ]}
          onChange={setShown}
        />
      }
    >
      <Suspense fallback={<div style={{ height: chartHeight }} />}>
        <LazyChart
          {...{ starts, step, lines, label, ticks, formatTime }}
          kind="line"
          height={chartHeight}
          format={timeText}
          onHover={ignore}
          onPick={(index) => {
            const from = starts[index];
            if (from !== undefined) navigate(logLink({ from, to: Math.min(from + step, period.to) }, { model }));
          }}
        />
      </Suspense>
      <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-[12px]">
        {series.map(({ id, name, total }, at) => (
          <li key={id} className="flex items-center gap-1.5">
            <span
              aria-hidden="true"
              className="h-0.5 w-3 rounded-full"
              style={{ background: `var(--data-${at + 1})` }}
            />
            <Link href={`/channel/edit/${id}`} className="text-ink-2 hover:underline">
              {name}
            </Link>
            <span>{timeText(total.first_token[shown] ?? 0)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
