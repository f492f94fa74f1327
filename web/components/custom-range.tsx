/** Two days out of a calendar and the hours of both. */
import { useState } from 'react';
import { type DateRange, DayPicker } from 'react-day-picker';
import { useTranslation } from 'react-i18next';
import { dateTime } from '../lib/format.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { zoneName } from '../lib/range.ts';
import { momentIn } from '../lib/time.ts';
import { CheckedForm } from './checked-form.tsx';
import { TextField } from './form.tsx';
import { Icon } from './icon.tsx';

export interface Ends {
  /** Epoch seconds. */
  readonly from: number;
  readonly to: number;
}

export interface CustomRangeProps {
  /** 0 = open. */
  readonly range: Ends;
  readonly onChange: (range: Ends) => void;
}

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

const minuteEnd = 16;
const dayEnd = 10;
const shown = (seconds: number): string => (seconds === 0 ? '' : dateTime(seconds).slice(0, minuteEnd));
const dayText = (day: Date): string => dateTime(day.getTime() / 1000).slice(0, dayEnd);
const dayIn = (text: string, late: boolean): Date | undefined => {
  const at = momentIn(text, late);
  return at === null ? undefined : new Date(at * 1000);
};

const Chevron = ({ orientation }: { readonly orientation?: string }) => (
  <span className={orientation === 'left' ? 'rotate-90' : '-rotate-90'}>
    <Icon name="down" />
  </span>
);

export function CustomRange({ range, onChange }: CustomRangeProps) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(shown(range.from));
  const [to, setTo] = useState(shown(range.to));
  const [tried, setTried] = useState(false);
  const ends = { from: momentIn(from, false), to: momentIn(to, true) };
  const backwards = ends.from !== null && ends.to !== null && ends.from >= ends.to;
  const language = currentLanguage();
  const said = (options: Intl.DateTimeFormatOptions) => (day: Date) =>
    new Intl.DateTimeFormat(language, options).format(day);
  const field = (label: string, value: string, late: boolean, set: (text: string) => void) => {
    const wrong = momentIn(value, late) === null;
    const error = wrong ? t('range.unreadable') : late && backwards ? t('range.backwards') : undefined;
    return (
      <TextField
        label={label}
        placeholder="2026-01-31 09:30"
        autoComplete="off"
        value={value}
        onChange={set}
        unreadable={error !== undefined}
        error={tried ? error : undefined}
      />
    );
  };
  const pick = (days: DateRange | undefined) => {
    if (days?.from !== undefined) setFrom(`${dayText(days.from)} 00:00`);
    if (days?.to !== undefined) setTo(`${dayText(days.to)} 23:59`);
  };
  return (
    <CheckedForm
      onTry={() => setTried(true)}
      onSubmit={() => {
        if (ends.from !== null && ends.to !== null) onChange({ from: ends.from, to: ends.to });
      }}
    >
      <DayPicker
        mode="range"
        autoFocus
        showOutsideDays
        weekStartsOn={1}
        defaultMonth={dayIn(to, true) ?? new Date()}
        disabled={{ after: new Date() }}
        selected={
          ends.from === null && ends.to === null ? undefined : { from: dayIn(from, false), to: dayIn(to, true) }
        }
        onSelect={pick}
        classNames={classes}
        formatters={{
          formatCaption: said({ month: 'long', year: 'numeric' }),
          formatWeekdayName: said({ weekday: 'narrow' }),
        }}
        labels={{
          labelDayButton: said({ dateStyle: 'full' }),
          labelGridcell: said({ dateStyle: 'full' }),
          labelWeekday: said({ weekday: 'long' }),
          labelGrid: said({ month: 'long', year: 'numeric' }),
          labelNav: () => t('range.months'),
          labelPrevious: () => t('range.previousMonth'),
          labelNext: () => t('range.nextMonth'),
        }}
        components={{ Chevron }}
      />
      {field(t('range.from'), from, false, setFrom)}
      {field(t('range.to'), to, true, setTo)}
      <div className="flex items-center gap-2">
        <span className="flex-1 text-[12px] text-ink-3">{zoneName()}</span>
        <button type="submit" className="button button-primary">
          {t('range.apply')}
        </button>
      </div>
    </CheckedForm>
  );
}
