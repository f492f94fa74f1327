/** Days to choose from, and how every calendar of the console looks and speaks. */
import { DayPicker } from 'react-day-picker';
import { useTranslation } from 'react-i18next';
import { dateTime } from '../lib/format.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { Icon } from './icon.tsx';

const classes = {
  root: 'relative mb-3',
  month_caption: 'flex h-8 items-center px-2 font-medium',
  nav: 'absolute top-0 right-0 flex gap-1',
  button_previous: 'button button-ghost button-icon',
  button_next: 'button button-ghost button-icon',
  month_grid: 'w-full table-fixed border-collapse',
  weekday: 'h-7 text-[11px] font-normal text-ink-3',
  day: 'p-0 text-center',
  day_button: 'h-8 w-full rounded-2 max-sm:h-10 hover:bg-hover',
  today: 'font-semibold text-accent-text',
  outside: 'text-ink-3',
  disabled: 'opacity-50',
  range_start: 'rounded-l-2 bg-accent text-(--on-accent)! [&>button:hover]:text-ink-1',
  range_middle: 'bg-accent-soft',
  range_end: 'rounded-r-2 bg-accent text-(--on-accent)! [&>button:hover]:text-ink-1',
};

const Chevron = ({ orientation }: { readonly orientation?: string }) => (
  <span className={orientation === 'left' ? 'rotate-90' : '-rotate-90'}>
    <Icon name="down" />
  </span>
);

const dayEnd = 10;
/** 2026-01-31 */
export const dayText = (day: Date): string => dateTime(day.getTime() / 1000).slice(0, dayEnd);

/** What every calendar is given. */
export function useCalendarProps() {
  const { t } = useTranslation();
  const language = currentLanguage();
  const said = (options: Intl.DateTimeFormatOptions) => (day: Date) =>
    new Intl.DateTimeFormat(language, options).format(day);
  return {
    showOutsideDays: true,
    weekStartsOn: 1,
    classNames: classes,
    formatters: {
      formatCaption: said({ month: 'long', year: 'numeric' }),
      formatWeekdayName: said({ weekday: 'narrow' }),
    },
    labels: {
      labelDayButton: said({ dateStyle: 'full' }),
      labelGridcell: said({ dateStyle: 'full' }),
      labelWeekday: said({ weekday: 'long' }),
      labelGrid: said({ month: 'long', year: 'numeric' }),
      labelNav: () => t('range.months'),
      labelPrevious: () => t('range.previousMonth'),
      labelNext: () => t('range.nextMonth'),
    },
    components: { Chevron },
  } as const;
}

export interface DayCalendarProps {
  /** undefined = none is chosen yet. */
  readonly day: Date | undefined;
  /** Days before this one cannot be chosen. */
  readonly from: Date;
  /** @param day 2026-01-31 */
  readonly onPick: (day: string) => void;
}

/** One day. */
export function DayCalendar({ day, from, onPick }: DayCalendarProps) {
  const props = useCalendarProps();
  return (
    <DayPicker
      mode="single"
      autoFocus
      required
      selected={day}
      defaultMonth={day ?? from}
      disabled={{ before: from }}
      onSelect={(picked) => onPick(dayText(picked))}
      {...props}
    />
  );
}
