/** One request: how it ended, the bill line by line, the facts. */

import type { TFunction } from 'i18next';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { answerFactsIn } from '../../../server/contract/answered-model.ts';
import { cacheMissIn, cacheMissText, diagnosisIn, diagnosisText } from '../../../server/contract/cache-miss.ts';
import type { Log } from '../../../server/contract/entities.ts';
import { labelledColumns } from '../../../server/contract/log-columns.ts';
import { nameKinds } from '../../../server/contract/names.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { usageMarksIn } from '../../../server/contract/usage-marks.ts';
import { CostBreakdown } from '../../components/cost-breakdown.tsx';
import { Icon } from '../../components/icon.tsx';
import { LogStatusMark } from '../../components/log-status.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime, grouped, timeText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { detailsOf, errorOf, firstTokenOf, type LogDetails, msOf, ruleOf, speedOf } from '../../lib/log-details.ts';
import { type Money, useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useServerAddress } from '../../lib/status.ts';
import { Attempts } from './attempts.tsx';
import { curlOf } from './curl.ts';
import { eventText } from './event-text.ts';
import { errorText } from './log-filters.ts';
import { Timeline } from './timeline.tsx';
import type { LogFilters } from './use-logs.ts';

/** In words, with the code that filters and the API know. */
function errorWords(t: TFunction, error: string): string {
  const words = errorText(t, error);
  return words === error || error.includes(' ') ? words : `${words} (${error})`;
}

const wordsIn = (value: unknown): string => (Array.isArray(value) ? value.join('; ') : '');

const pathOf = (details: LogDetails): string | undefined =>
  typeof details.request_path === 'string' ? details.request_path : undefined;

/** What an event says of itself: plain facts under their own names. */
const eventRows = (log: Log, details: LogDetails, t: TFunction): DetailRow[] => [
  [t('logs.time'), dateTime(log.created_at)],
  [t('logs.user'), log.username],
  ...Object.entries(details)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([name, value]) => [name, String(value)] as const),
];

type DetailRow = readonly [name: string, value: string, href?: string | undefined];

/** For whom and by what; each leads to all that has the same name. */
const namedRows = (log: Log, t: TFunction): DetailRow[] =>
  nameKinds.flatMap((kind): DetailRow[] => {
    const name = log.names?.[kind];
    return name === undefined
      ? []
      : [[t(`logs.names.${kind}`), name, `/log?range=all&${kind}=${encodeURIComponent(name)}`]];
  });

/** What the upstream says of its answer. */
function answerRows(details: LogDetails, t: TFunction): DetailRow[] {
  const { model, isOther, requestId, statedCost } = answerFactsIn(details);
  return [
    [t(isOther ? 'logs.otherModel' : 'logs.answeredModel'), model],
    [t('logs.upstreamRequestId'), requestId],
    [t('logs.statedCost'), statedCost === null ? '' : `$${statedCost}`],
  ];
}

/** Why the provider's cache was missed, and what that cost. */
function cacheMissWords(details: LogDetails, t: TFunction, money: Money): string {
  const miss = cacheMissIn(details.cache_miss);
  return miss === null
    ? ''
    : t('logs.cacheMissText', {
        why: cacheMissText(miss, currentLanguage()),
        tokens: grouped(miss.tokens),
        lost: money(miss.lost),
      });
}

/** What the provider itself says of it. */
function diagnosisWords(details: LogDetails, t: TFunction): string {
  const found = diagnosisIn(details.cache_diagnosis);
  if (found === null) return '';
  const why = diagnosisText(found, currentLanguage());
  return found.asked ? t('logs.cacheDiagnosisAsked', { why }) : t('logs.cacheDiagnosisOwn', { why });
}

/** The details of a request, with links to its channel and its key. */
const requestRows = (
  log: Log,
  details: LogDetails,
  t: TFunction,
  reader: { readonly id: number; readonly admin: boolean; readonly money: Money },
): DetailRow[] => [
  [t('logs.requestId'), log.request_id],
  [t('logs.model'), log.model_name],
  [t('logs.time'), dateTime(log.created_at)],
  [t('logs.user'), log.username, reader.admin && log.user_id !== 0 ? `/user/${log.user_id}` : undefined],
  [
    t('logs.token'),
    storedIn(log.token_name, currentLanguage()),
    log.token_id !== 0 && log.user_id === reader.id ? `/token?open=${log.token_id}` : undefined,
  ],
  [t('logs.group'), log.group],
  [
    t('logs.channel'),
    log.channel === 0 ? '' : `${log.channel_name} #${log.channel}`,
    reader.admin ? `/channel/edit/${log.channel}` : undefined,
  ],
  [t('logs.address'), addressIn(details)],
  [t('logs.path'), pathOf(details) ?? ''],
  [t('logs.unread'), details.unread === true ? t('logs.unreadText') : ''],
  ...namedRows(log, t),
  [t('logs.upstreamModel'), typeof details.upstream_model_name === 'string' ? details.upstream_model_name : ''],
  ...labelledColumns(log, currentLanguage()),
  ...answerRows(details, t),
  [t('logs.error'), errorWords(t, errorOf(details))],
  [t('logs.unpriced'), wordsIn(details.unpriced)],
  [t('logs.usageMarks'), usageMarksIn(details.usage_marks, currentLanguage()).join('; ')],
  [t('logs.cacheMiss'), cacheMissWords(details, t, reader.money)],
  [t('logs.cacheDiagnosis'), diagnosisWords(details, t)],
  [
    t('logs.compaction'),
    details.compaction === 'native'
      ? t('logs.compactionNative')
      : details.compaction === 'summary'
        ? t('logs.compactionSummary')
        : '',
  ],
  [t('logs.dropped'), wordsIn(details.dropped)],
];

/** The caller's address, where the row keeps it. */
function addressIn(details: LogDetails): string {
  const { ip } = (details.admin_info ?? {}) as { ip?: unknown };
  return typeof ip === 'string' ? ip : '';
}

export interface LogDrawerProps {
  readonly log: Log;
  readonly onClose: () => void;
  /** Shows another row of the list: 1 = the next one, -1 = the one before. */
  readonly onStep: (by: number) => void;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** The list's filter, and what its address says of its time. */
  readonly list: { readonly filters: LogFilters; readonly range: Readonly<Record<string, string>> };
}

/** j and k go through the rows, as they do in the list. */
function useSteps(onStep: (by: number) => void): void {
  const step = useRef(onStep);
  step.current = onStep;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || (event.key !== 'j' && event.key !== 'k')) return;
      if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return;
      event.preventDefault();
      step.current(event.key === 'j' ? 1 : -1);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** How many rows of the list's range failed in the same way. */
function SameError({ error, list }: { readonly error: string; readonly list: LogDrawerProps['list'] }) {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const { start_timestamp, end_timestamp } = list.filters;
  const total = useOptionalRead({
    queryKey: ['logs', 'same', admin, error, start_timestamp, end_timestamp],
    queryFn: () => call(admin ? 'log.list' : 'log.self', { error, start_timestamp, end_timestamp, p: 1, page_size: 1 }),
  }).data?.total;
  const present = Object.entries({ error, ...list.range }).filter(([, value]) => value !== '');
  return total === undefined ? null : (
    <Link href={`/log?${new URLSearchParams(present)}`} className="text-accent-text underline">
      {t('logs.sameError', { count: total, shown: grouped(total) })}
    </Link>
  );
}

function Metric({ name, value, more }: { readonly name: string; readonly value: string; readonly more: string }) {
  return (
    <div>
      <p className="text-[12px] text-ink-3">{name}</p>
      <p className="text-[16px] leading-6 font-semibold">{value}</p>
      <p className="min-h-4 text-[12px] leading-4 text-ink-3">{more}</p>
    </div>
  );
}

export function LogDrawer({ log, onClose, onStep, hasNext, hasPrevious, list }: LogDrawerProps) {
  const { t } = useTranslation();
  useSteps(onStep);
  const user = useUser();
  const address = useServerAddress();
  const admin = isAdmin(user);
  const money = useMoney();
  const details = detailsOf(log);
  // Top-ups, management and the system's own words are no requests.
  const isRequest = log.type === 2 || log.type === 5;
  const reader = { id: user?.id ?? 0, admin, money };
  const rows = isRequest ? requestRows(log, details, t, reader) : eventRows(log, details, t);
  /** What one pastes elsewhere. */
  const exact = new Set<string>([t('logs.requestId'), t('logs.path')]);
  const error = errorOf(details);
  const rule = ruleOf(log, details, reader);
  const [first, speed] = [firstTokenOf(log, details), speedOf(log, details)];
  const step = (by: 1 | -1, has: boolean) => (
    <button
      type="button"
      className="button button-icon"
      aria-label={by === 1 ? t('logs.next') : t('logs.previous')}
      title={by === 1 ? t('logs.next') : t('logs.previous')}
      disabled={!has}
      onClick={() => onStep(by)}
    >
      <span className={by === 1 ? '' : 'rotate-180'}>
        <Icon name="down" />
      </span>
    </button>
  );
  return (
    <Sheet
      beside
      title={
        isRequest ? (
          <span className="flex items-baseline gap-3">
            {log.model_name === '' ? (
              t('logs.detail')
            ) : (
              <span className="truncate font-mono text-[14px]" title={log.model_name}>
                {log.model_name}
              </span>
            )}{' '}
            <span className="flex-none font-normal">
              <LogStatusMark log={log} t={t} />
            </span>
          </span>
        ) : (
          t(`logs.t${log.type as 1 | 3 | 4}`)
        )
      }
      onClose={onClose}
      footer={
        <>
          <span className="mr-auto flex gap-1">
            {step(-1, hasPrevious)}
            {step(1, hasNext)}
          </span>
          {log.model_name === '' ? null : (
            <button type="button" className="button" onClick={() => copyOrShow(curlOf(log, pathOf(details), address))}>
              {t('logs.curl')}
            </button>
          )}
          <button
            type="button"
            className="button"
            onClick={() => copyOrShow(JSON.stringify({ ...log, other: details }, null, 2))}
          >
            {t('logs.copyJson')}
          </button>
        </>
      }
    >
      {isRequest ? null : <p className="mb-4 break-words">{eventText(log, t, money)}</p>}
      {log.type === 5 ? (
        <div className="mb-4 rounded-2 bg-danger-soft px-3 py-2 text-danger">
          <p className="break-words">{storedIn(log.content, currentLanguage())}</p>
          <p className="mt-1 flex flex-wrap gap-x-4 text-[12px] empty:hidden">
            {rule === null ? null : (
              <Link href={rule} className="text-accent-text underline">
                {t('logs.rule')}
              </Link>
            )}
            {error === '' ? null : <SameError error={error} list={list} />}
          </p>
        </div>
      ) : null}
      {log.type === 2 ? (
        <section className="mb-5 grid grid-cols-3 items-end gap-4">
          <Metric
            name={t('logs.cost')}
            value={money(log.quota, 'exact')}
            more={t('logs.quotaOf', { quota: grouped(log.quota) })}
          />
          <Metric
            name={first === null ? t('logs.seconds') : t('logs.firstAndWhole')}
            value={`${first === null ? '' : `${timeText(first)} / `}${timeText(msOf(log, details))}`}
            more={speed === null ? '' : `${speed.toFixed(speed < 10 ? 1 : 0)} tok/s`}
          />
          <Metric
            name={t('logs.tokens')}
            value={`${grouped(log.prompt_tokens)} / ${grouped(log.completion_tokens)}`}
            more={t('logs.inAndOut')}
          />
        </section>
      ) : null}
      {isRequest ? <Timeline log={log} details={details} /> : null}
      <Attempts log={log} info={details.admin_info} />
      <CostBreakdown details={details} />
      <section>
        {isRequest ? <h2 className="mb-2 font-semibold">{t('logs.request')}</h2> : null}
        <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-3 gap-y-1">
          {rows
            .filter(([, value]) => value !== '')
            .map(([name, value, href]) => (
              <div key={name} className="contents">
                <dt className="text-ink-3">{name}</dt>
                <dd className="break-all">
                  {href !== undefined ? (
                    <Link href={href}>{value}</Link>
                  ) : name === t('logs.model') ? (
                    <span className="font-mono text-[12px]">{value}</span>
                  ) : exact.has(name) ? (
                    <span className="flex min-h-6 items-center gap-1">
                      <span className="font-mono text-[12px]">{value}</span>
                      <button
                        type="button"
                        className="button button-ghost button-icon h-6 w-6 flex-none max-sm:size-9"
                        aria-label={t('logs.copyValue', { name })}
                        title={t('app.copy')}
                        onClick={() => copyOrShow(value)}
                      >
                        <Icon name="copy" />
                      </button>
                    </span>
                  ) : (
                    value
                  )}
                </dd>
              </div>
            ))}
        </dl>
      </section>
    </Sheet>
  );
}
