/** When something expires: never, after one of the usual spans from now, or at a time that is typed or picked from a calendar. */
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { expiryOf, expiryText } from '../lib/expiry.ts';
import { dateTime } from '../lib/format.ts';
import { useSubmitted } from './checked-form.tsx';
import { Field } from './form.tsx';
import { Icon } from './icon.tsx';
import { PanelWaiting, Popover } from './popover.tsx';
import { Segment } from './segment.tsx';

const DayCalendar = lazy(async () => ({ default: (await import('./calendar.tsx')).DayCalendar }));

/** Seconds; the last choice is a time of one's own. */
const spans = { never: null, oneHour: 3600, oneDay: 86_400, oneWeek: 7 * 86_400, oneMonth: 30 * 86_400 } as const;
const choices = ['never', 'oneHour', 'oneDay', 'oneWeek', 'oneMonth', 'onDate'] as const;
type Choice = (typeof choices)[number];
const issues = {
  unreadable: 'tokens.expiry.unreadable',
  impossible: 'tokens.expiry.impossible',
  past: 'tokens.expiry.past',
} as const;

export interface ExpiryFieldProps {
  /** The value as it is typed; empty = never. */
  readonly value: string;
  /** What the form was opened with, in epoch seconds; 0 or less = never. */
  readonly stored: number;
  readonly onChange: (value: string) => void;
  /** What the server has against it. */
  readonly error?: string | undefined;
}

export function ExpiryField({ value, stored, onChange, error }: ExpiryFieldProps) {
  const { t } = useTranslation();
  const [choice, setChoice] = useState<Choice>(value === '' ? 'never' : 'onDate');
  const [touched, setTouched] = useState(false);
  const submitted = useSubmitted();
  const expiry = expiryOf(value, stored);
  const choose = (next: Choice) => {
    setChoice(next);
    if (next === 'onDate') return;
    const seconds = spans[next];
    onChange(seconds === null ? '' : expiryText(Math.floor(Date.now() / 1000) + seconds));
  };
  const until = expiry.kind === 'at' && expiry.seconds !== -1 ? dateTime(expiry.seconds) : null;
  return (
    <Field
      label={t('tokens.expires')}
      help={
        until !== null
          ? t('tokens.expiresAt', { time: until })
          : choice === 'onDate'
            ? t('tokens.expiryFormat')
            : undefined
      }
      unreadable={expiry.kind === 'wrong'}
      error={
        expiry.kind === 'wrong' && (touched || submitted)
          ? `${t(issues[expiry.reason])}${expiry.reason === 'unreadable' ? ` ${t('tokens.expiryFormat')}` : ''}`
          : error
      }
    >
      {(ids) => (
        <>
          <Segment
            label={t('tokens.expiryChoice')}
            value={choice}
            options={choices.map((one) => [one, t(`tokens.${one}`)] as const)}
            onChange={choose}
          />
          {choice === 'onDate' ? (
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
                buttonClass="button button-icon h-8 w-8"
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
          ) : null}
        </>
      )}
    </Field>
  );
}
