/** Requests over time, what failed in red; a range is taken out of it with the pointer. */
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { dateTime, grouped } from '../../lib/format.ts';
import { zoneName } from '../../lib/range.ts';
import { useDark } from '../../lib/theme.ts';
import type { Counts } from './use-counts.ts';

const height = 48;
/** Above the bars, for the number that the highest of them stands for. */
const scaleHeight = 13;
/** Of the height, that errors take at least. */
const minErrorShare = 0.06;
const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export interface HistogramProps {
  readonly counts: Counts;
  /** Epoch seconds. */
  readonly onRange: (from: number, to: number) => void;
}

/** Months and days, or hours and minutes, as long as the range is. */
const timeText = (at: number, step: number): string => dateTime(at).slice(5, step >= 86_400 ? 10 : 16);

export function Histogram({ counts, onRange }: HistogramProps) {
  const { t } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const [over, setOver] = useState<number | null>(null);
  const take = useRef(onRange);
  take.current = onRange;
  const { buckets, step } = counts;
  const most = Math.max(0, ...buckets.map(({ ok, errors }) => ok + errors));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that are read
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return;
    const paths = uPlot.paths.bars?.({ size: [0.82, 40], radius: 0 });
    const bars = (fill: string) => ({
      fill,
      width: 0,
      points: { show: false },
      ...(paths === undefined ? {} : { paths }),
    });
    const plot = new uPlot(
      {
        width: holder.clientWidth,
        height,
        padding: [scaleHeight, 0, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
        scales: {
          x: { time: false, range: (_plot, low, high) => [low - 0.5, high + 0.5] },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high : 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [{}, bars(token('--data-1')), bars(token('--danger-solid'))],
        hooks: {
          setCursor: [(one) => setOver(one.cursor.idx ?? null)],
          setSelect: [
            (one) => {
              const { left, width } = one.select;
              if (width < 2) return;
              const [first, last] = [left, left + width].map((x) => Math.round(one.posToVal(x, 'x'))) as [
                number,
                number,
              ];
              const [begin, end] = [buckets[Math.max(0, first)], buckets[Math.min(buckets.length - 1, last)]];
              one.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              if (begin !== undefined && end !== undefined) take.current(begin.at, end.at + step);
            },
          ],
        },
      },
      [
        buckets.map((_bucket, at) => at),
        buckets.map(({ ok, errors }) => ok + errors),
        // One error among thousands is seen, too.
        buckets.map(({ errors }) => (errors === 0 ? 0 : Math.max(errors, most * minErrorShare))),
      ],
      holder,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: holder.clientWidth, height }));
    watcher.observe(holder);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [buckets, step, dark]);
  const here = over === null ? undefined : buckets[over];
  const marks = [0, 0.25, 0.5, 0.75].map((share) => buckets[Math.floor(share * buckets.length)]?.at ?? counts.from);
  return (
    <div className="relative px-5 pb-1.5">
      <span className="absolute top-0 left-5 text-[11px] leading-3 text-ink-3">
        {t('logs.most', { shown: grouped(most) })}
      </span>
      <div
        ref={place}
        role="img"
        aria-label={t('logs.histogram', { total: counts.total, errors: counts.errors })}
        style={{ height }}
      />
      <div className="mt-0.5 flex h-4 justify-between gap-2 text-[12px] leading-4 whitespace-nowrap text-ink-3">
        {here === undefined ? (
          <>
            {marks.map((at, index) => (
              <span key={at} className={index % 2 === 1 ? 'max-sm:hidden' : ''}>
                {timeText(at, step)}
              </span>
            ))}
            <span>
              {timeText(counts.to, step)} <span className="max-sm:hidden">({zoneName()})</span>
            </span>
          </>
        ) : (
          <span className="text-ink-2">
            {timeText(here.at, 0)} – {timeText(here.at + step, 0).slice(step >= 86_400 ? 0 : 6)} ·{' '}
            {t('logs.bucket', { total: grouped(here.ok + here.errors), errors: grouped(here.errors) })}
          </span>
        )}
      </div>
    </div>
  );
}
