/** A field for a time of expiry: typed, picked from a calendar, or one of the usual spans from now. */
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { expiryOf, expiryText } from '../lib/expiry.ts';
import { dateTime } from '../lib/format.ts';
import { useSubmitted } from './checked-form.tsx';
import { Field } from './form.tsx';
import { Icon } from './icon.tsx';
import { PanelWaiting, Popover } from './popover.tsx';

const DayCalendar = lazy(async () => ({ default: (await import('./calendar.tsx')).DayCalendar }));

const spans = [
  ['never', null],
  ['oneHour', 3600],
  ['oneDay', 86_400],
  ['oneMonth', 30 * 86_400],
] as const;
const issues = {
  unreadable: 'tokens.expiry.unreadable',
  impossible: 'tokens.expiry.impossible',
  past: 'tokens.expiry.past',
} as const;

export interface ExpiryFieldProps {
  /** As it is typed; empty = never. */
  readonly value: string;
  /** What the form was opened with, in epoch seconds; 0 or less = never. */
  readonly stored: number;
  readonly onChange: (value: string) => void;
  /** What the server has against it. */
  readonly error?: string | undefined;
}

export function ExpiryField({ value, stored, onChange, error }: ExpiryFieldProps) {
  const { t } = useTranslation();
  const [touched, setTouched] = useState(false);
  const submitted = useSubmitted();
  const expiry = expiryOf(value, stored);
  return (
    <>
      <Field
        label={t('tokens.expires')}
        help={
          expiry.kind === 'at' && expiry.seconds !== -1
            ? t('tokens.expiresAt', { time: dateTime(expiry.seconds) })
            : t('tokens.expiryFormat')
        }
        unreadable={expiry.kind === 'wrong'}
        error={
          expiry.kind === 'wrong' && (touched || submitted)
            ? `${t(issues[expiry.reason])}${expiry.reason === 'unreadable' ? ` ${t('tokens.expiryFormat')}` : ''}`
            : error
        }
      >
        {(ids) => (
          <span className="flex gap-1.5">
            <input
              {...ids}
              className="field"
              autoComplete="off"
              placeholder={t('tokens.never')}
              value={value}
              onChange={(event) => onChange(event.target.value)}
              onBlur={() => {
                setTouched(true);
                if (expiry.kind === 'at') onChange(expiryText(expiry.seconds));
              }}
            />
            <Popover
              buttonClass="button button-icon"
              label={t('tokens.calendar')}
              className="w-72 p-3"
              button={<Icon name="calendar" />}
            >
              {(close) => (
                <Suspense fallback={<PanelWaiting className="h-64" />}>
                  <DayCalendar
                    day={expiry.kind === 'at' && expiry.seconds > 0 ? new Date(expiry.seconds * 1000) : undefined}
                    from={new Date()}
                    onPick={(day) => {
                      // To the end of that day, as it is where a day alone is typed.
                      onChange(`${day} 23:59:59`);
                      close();
                    }}
                  />
                </Suspense>
              )}
            </Popover>
          </span>
        )}
      </Field>
      <div className="-mt-2 mb-4 flex flex-wrap gap-1.5">
        {spans.map(([label, seconds]) => (
          <button
            key={label}
            type="button"
            className="button"
            onClick={() => onChange(seconds === null ? '' : expiryText(Math.floor(Date.now() / 1000) + seconds))}
          >
            {t(`tokens.${label}`)}
          </button>
        ))}
      </div>
    </>
  );
}
