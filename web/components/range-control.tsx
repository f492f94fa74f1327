/** The span of time a page shows, in the reader's zone; kept in the address. */
import type { TFunction } from 'i18next';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { minuteTime } from '../lib/format.ts';
import { useNarrow, useTablet } from '../lib/narrow.ts';
import { type DefaultRange, type Range, rangeIn, rangeQuery, spans, zoneName } from '../lib/range.ts';
import { type Url, useUrl } from '../lib/url.ts';
import { PanelWaiting, Popover } from './popover.tsx';
import { Segment } from './segment.tsx';
import { Select } from './select.tsx';

const CustomRange = lazy(async () => ({ default: (await import('./custom-range.tsx')).CustomRange }));

/** What the address says. @param initial where it names none. */
export const useRange = (initial: DefaultRange): Range => {
  const { get } = useUrl();
  return rangeIn(get, initial);
};

const yearEnd = 5;
/** @param short without the year, where it is this one: for a phone. */
function ends(t: TFunction, { from, to }: Range, short = false): string {
  const thisYear = minuteTime(Date.now() / 1000).slice(0, yearEnd);
  const text = (at: number): string => {
    const whole = minuteTime(at);
    return short && whole.startsWith(thisYear) ? whole.slice(yearEnd) : whole;
  };
  if (to === 0) return t('range.since', { at: text(from) });
  return from === 0 ? t('range.before', { at: text(to) }) : `${text(from)} – ${text(to)}`;
}

const goTo = (url: Url, range: Range, initial: DefaultRange) =>
  url.put({ ...rangeQuery(range), ...(range.span === initial ? { range: '' } : {}) });

export interface RangeControlProps {
  readonly initial: DefaultRange;
  /** Everything can be asked for, though it is not the usual. */
  readonly all?: boolean;
}

export function RangeControl({ initial, all = false }: RangeControlProps) {
  const { t } = useTranslation();
  const url = useUrl();
  const narrow = useNarrow();
  const range = rangeIn(url.get, initial);
  const options = [...spans, ...(!all && spans.some((span) => span === initial) ? [] : (['all'] as const))].map(
    (span) => [span, t(`range.${span}`)] as const,
  );
  const pick = (span: Range['span']) => {
    if (span !== 'custom') goTo(url, { span, from: 0, to: 0 }, initial);
  };
  const custom = range.span === 'custom';
  // Beside both ends written out a row of spans would leave no room for the filters.
  const tablet = useTablet();
  const folded = narrow || (tablet && custom);
  const hasBothEnds = custom && range.from !== 0 && range.to !== 0;
  return (
    <span
      className={`flex max-w-full items-center gap-2 ${hasBothEnds ? 'sm:flex-wrap max-sm:basis-full' : custom ? 'sm:flex-wrap' : 'flex-wrap'}`}
    >
      {folded ? (
        <Select<Range['span']>
          className="button min-w-0 font-normal"
          label={t('range.label')}
          value={range.span}
          options={custom ? [...options, ['custom', ends(t, range, true)]] : options}
          onChange={pick}
        />
      ) : (
        <Segment<Range['span']> label={t('range.label')} value={range.span} options={options} onChange={pick} />
      )}
      <Popover
        buttonClass={`button ${custom ? 'border-accent text-accent-text' : ''}`}
        anchor="bottom start"
        className="w-72 p-3"
        button={custom && !folded ? ends(t, range) : t('range.custom')}
      >
        {(close) => (
          <Suspense fallback={<PanelWaiting className="h-80" />}>
            <CustomRange
              range={range}
              onChange={(next) => {
                goTo(url, { span: 'custom', ...next }, initial);
                close();
              }}
            />
          </Suspense>
        )}
      </Popover>
      <span className={`text-[12px] text-ink-3 ${custom && !hasBothEnds ? 'max-sm:hidden' : ''}`}>{zoneName()}</span>
    </span>
  );
}
