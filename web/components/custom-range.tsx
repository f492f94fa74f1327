/** Two days out of a calendar and the hours of both. */
import { useState } from 'react';
import { type DateRange, DayPicker } from 'react-day-picker';
import { useTranslation } from 'react-i18next';
import { dateTime } from '../lib/format.ts';
import { zoneName } from '../lib/range.ts';
import { timeOf } from '../lib/time.ts';
import { dayText, useCalendarProps } from './calendar.tsx';
import { CheckedForm } from './checked-form.tsx';
import { TextField } from './form.tsx';

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

const minuteEnd = 16;
const textOf = (seconds: number): string => (seconds === 0 ? '' : dateTime(seconds).slice(0, minuteEnd));
const dayIn = (text: string, late: boolean): Date | undefined => {
  const at = timeOf(text, late);
  return at === null ? undefined : new Date(at * 1000);
};

export function CustomRange({ range, onChange }: CustomRangeProps) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(textOf(range.from));
  const [to, setTo] = useState(textOf(range.to));
  const [submitted, setSubmitted] = useState(false);
  const ends = { from: timeOf(from, false), to: timeOf(to, true) };
  const backwards = ends.from !== null && ends.to !== null && ends.from >= ends.to;
  const props = useCalendarProps();
  const field = (label: string, value: string, late: boolean, set: (text: string) => void) => {
    const wrong = timeOf(value, late) === null;
    const error = wrong ? t('range.unreadable') : late && backwards ? t('range.backwards') : undefined;
    return (
      <TextField
        label={label}
        placeholder="2026-01-31 09:30"
        autoComplete="off"
        value={value}
        onChange={set}
        unreadable={error !== undefined}
        error={submitted ? error : undefined}
      />
    );
  };
  const pick = (days: DateRange | undefined) => {
    if (days?.from !== undefined) setFrom(`${dayText(days.from)} 00:00`);
    if (days?.to !== undefined) setTo(`${dayText(days.to)} 23:59`);
  };
  return (
    <CheckedForm
      onTry={() => setSubmitted(true)}
      onSubmit={() => {
        if (ends.from !== null && ends.to !== null) onChange({ from: ends.from, to: ends.to });
      }}
    >
      <DayPicker
        mode="range"
        autoFocus
        defaultMonth={dayIn(to, true) ?? new Date()}
        disabled={{ after: new Date() }}
        selected={
          ends.from === null && ends.to === null ? undefined : { from: dayIn(from, false), to: dayIn(to, true) }
        }
        onSelect={pick}
        {...props}
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
