/** Twenty-four bars: how something did, part by part of a range. The colour repeats what the name says. */
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

const classes: Readonly<Record<PeriodLevel, string>> = {
  none: 'bg-press',
  good: 'bg-success-solid',
  slow: 'bg-warning-solid',
  poor: 'bg-warning-solid',
  bad: 'bg-danger-solid',
};

/** @param bars the oldest first; none = nothing was sent. */
export function TrafficBars({
  bars,
  narrow = false,
}: {
  readonly bars: readonly TrafficBar[];
  readonly narrow?: boolean;
}) {
  const { t } = useTranslation();
  const sum = (of: 'attempts' | 'failed') => bars.reduce((all, bar) => all + bar[of], 0);
  const slots: readonly (TrafficBar | undefined)[] = bars.length === 0 ? Array.from({ length: 24 }) : bars;
  return (
    <span
      role="img"
      aria-label={t('table.barsOf', { attempts: sum('attempts'), failed: sum('failed') })}
      className="inline-flex gap-px align-middle"
    >
      {slots.map((bar, at) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a range keep their places
          key={at}
          title={
            bar === undefined
              ? undefined
              : t('table.bar', {
                  time: dateTime(bar.at).slice(0, 16),
                  attempts: bar.attempts,
                  failed: bar.failed,
                  latency: bar.latency === null ? '–' : duration(bar.latency / 1000),
                })
          }
          className={`h-4 ${narrow ? 'w-1' : 'w-[5px]'} rounded-[1px] ${classes[bar?.level ?? 'none']}`}
        />
      ))}
    </span>
  );
}
