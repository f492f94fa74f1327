/** What a rule would have said in the last seven days: how often, on which days, and with which values. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { alertRule } from '../../../server/contract/alert-rules.ts';
import { FailureNote } from '../../components/failure.tsx';
import { call } from '../../lib/api.ts';
import { minuteTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { type AlertRule, isAllowed } from './rule.ts';

export interface PreviewProps {
  readonly rule: AlertRule;
  /** Values that are not stored. */
  readonly tried: Readonly<Record<string, string>>;
}

/** So that the column is about as high as the rule beside it. */
const shown = 1;
/** Longer texts may not fit their line. */
const uncut = 40;

/** How often, on each of the seven days; the height of a bar has four steps. */
function Days({ counts }: { readonly counts: readonly number[] }) {
  return (
    <span aria-hidden="true" className="flex h-5 items-end gap-1 pb-[5px]">
      {counts.map((count, day) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: each stands for its day
          key={day}
          className={`w-3 rounded-[2px] ${count === 0 ? 'h-[3px] bg-line-control' : `bg-warning ${['h-[6px]', 'h-[9px]', 'h-[12px]', 'h-[15px]'][Math.min(count, 4) - 1]}`}`}
        />
      ))}
    </span>
  );
}

export function Preview({ rule, tried }: PreviewProps) {
  const { t } = useTranslation();
  const { kind, past } = rule;
  const isValid = isAllowed(tried);
  const [isAsked, setAsked] = useState(alertRule(kind).readsLog !== true);
  const [all, setAll] = useState(false);
  const values = Object.fromEntries(Object.entries(tried).map(([name, value]) => [name, value.trim()]));
  const list = useList({
    queryKey: ['alert-preview', kind, currentLanguage(), JSON.stringify(values)],
    queryFn: () => call('alert.preview', { kind, ...values }),
    enabled: isAsked && isValid,
    staleTime: 60_000,
  });
  const box = 'min-w-0 text-[12px] leading-5 text-ink-2';
  if (!isAsked)
    return (
      <div className={box}>
        <button
          type="button"
          className="button"
          aria-label={`${t('alertRules.compute')}: ${rule.label}`}
          onClick={() => setAsked(true)}
        >
          {t('alertRules.compute')}
        </button>
        <p className="mt-1 text-ink-3">{t('alertRules.readsLog')}</p>
      </div>
    );
  if (list.failure !== null && list.data === undefined)
    return (
      <div className={box}>
        <FailureNote failure={list.failure} />
      </div>
    );
  const { data } = list;
  if (data === undefined)
    return (
      <div className={box} aria-busy="true">
        {t('app.loading')}
      </div>
    );
  const { alerts, count, coarse_until: coarse } = data;
  const words =
    past === 'now'
      ? count === 0
        ? t('alertRules.quietNow')
        : t('alertRules.saysNow', { count })
      : count === 0
        ? t('alertRules.quiet')
        : t('alertRules.said', { count });
  return (
    <section aria-label={`${t('alertRules.preview')}: ${rule.label}`} className={box}>
      <div className="flex items-end justify-between gap-3">
        <p
          role="status"
          title={coarse > 0 ? t('alertRules.coarse', { time: minuteTime(coarse) }) : undefined}
          className={`font-medium ${count === 0 ? '' : 'text-ink-1'}`}
        >
          {words}
        </p>
        {alerts.length <= shown && alerts.every(({ text }) => text.length <= uncut) ? null : (
          <button
            type="button"
            className="ml-auto text-accent-text underline"
            aria-expanded={all}
            onClick={() => setAll(!all)}
          >
            {t(all ? 'alertRules.fewer' : alerts.length === 1 ? 'alertRules.whole' : 'alertRules.all', {
              count: alerts.length,
            })}
          </button>
        )}
        {past === 'now' ? null : <Days counts={data.days} />}
      </div>
      {alerts.length === 0 ? null : (
        <ul className="mt-1">
          {(all ? alerts : alerts.slice(0, shown)).map(({ at, subject, text }) => (
            <li
              key={`${at} ${subject}`}
              title={all ? undefined : text}
              className={`mt-1 border-t border-line pt-1 break-words ${all ? '' : 'line-clamp-1'}`}
            >
              {past === 'now' ? null : (
                <>
                  <span className="mr-1 whitespace-nowrap text-ink-3 tabular-nums">{minuteTime(at)}</span>{' '}
                </>
              )}
              {text}
            </li>
          ))}
        </ul>
      )}
      {coarse > 0 && all ? <p className="text-ink-3">{t('alertRules.coarse', { time: minuteTime(coarse) })}</p> : null}
    </section>
  );
}
