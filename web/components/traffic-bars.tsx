/** Twenty-four bars and the one under way: how something did, part by part of a range. Trouble stands out by its height; the colour repeats it. */
import type { PointerEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { PeriodLevel } from '../../server/contract/traffic.ts';
import { dateTime, duration } from '../lib/format.ts';

export interface TrafficBar {
  /** Epoch seconds. */
  readonly at: number;
  readonly attempts: number;
  readonly failed: number;
  /** Milliseconds. */
  readonly latency: number | null;
  readonly level: PeriodLevel;
}

const colors: Readonly<Record<PeriodLevel, string>> = {
  none: 'var(--line-button)',
  good: 'var(--success-solid)',
  slow: 'var(--warning-solid)',
  poor: 'var(--warning-solid)',
  bad: 'var(--danger-solid)',
};
/** In pixels. */
const heights: Readonly<Record<PeriodLevel, number>> = { none: 2, good: 9, slow: 12, poor: 14, bad: 16 };
const fullHeight = 16;
const slots = 25;

/** One path for each colour: a table draws hundreds of bars. */
function pathsOf(bars: readonly TrafficBar[], width: number): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (let at = 0; at < (bars.length || slots); at++) {
    const level = bars[at]?.level ?? 'none';
    const height = heights[level];
    const bar = `M${at * (width + 1)} ${fullHeight - height}h${width}v${height}h-${width}z`;
    paths.set(colors[level], `${paths.get(colors[level]) ?? ''}${bar}`);
  }
  return paths;
}

/** @param bars the oldest first; none = nothing was sent. */
export function TrafficBars({
  bars,
  narrow = false,
}: {
  readonly bars: readonly TrafficBar[];
  readonly narrow?: boolean;
}) {
  const { t } = useTranslation();
  const width = narrow ? 4 : 5;
  const total = (bars.length || slots) * (width + 1) - 1;
  const sum = (of: 'attempts' | 'failed') => bars.reduce((all, bar) => all + bar[of], 0);
  /** What the bar under the pointer is of. */
  const name = (event: PointerEvent<HTMLElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    const bar = bars[Math.floor((event.clientX - left) / (width + 1))];
    event.currentTarget.title =
      bar === undefined
        ? ''
        : t('table.bar', {
            time: dateTime(bar.at).slice(0, 16),
            attempts: bar.attempts,
            failed: bar.failed,
            latency: bar.latency === null ? '–' : duration(bar.latency / 1000),
          });
  };
  return (
    <span
      role="img"
      aria-label={t('table.barsOf', { attempts: sum('attempts'), failed: sum('failed') })}
      className="inline-flex align-middle"
      onPointerMove={name}
    >
      <svg width={total} height={fullHeight} aria-hidden="true">
        {[...pathsOf(bars, width)].map(([color, path]) => (
          <path key={color} d={path} style={{ fill: color }} />
        ))}
      </svg>
    </span>
  );
}
