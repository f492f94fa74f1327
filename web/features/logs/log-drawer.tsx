/** One request: how it ended, the bill line by line, the facts. */

import type { TFunction } from 'i18next';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Log } from '../../../server/contract/entities.ts';
import { labelledColumns } from '../../../server/contract/log-columns.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { Sheet } from '../../components/overlay.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useMoney } from '../../shell/money.ts';
import { Attempts } from './attempts.tsx';
import { Bill } from './bill.tsx';
import { curlOf } from './curl.ts';
import { eventText } from './event-text.ts';

function factsOf(log: Log): Record<string, unknown> {
  try {
    return JSON.parse(log.other || '{}') as Record<string, unknown>;
  } catch {
    return {};
  }
}

const wordsIn = (value: unknown): string => (Array.isArray(value) ? value.join('; ') : '');

const pathOf = (facts: Record<string, unknown>): string | undefined =>
  typeof facts.request_path === 'string' ? facts.request_path : undefined;

/** What an event says of itself: plain facts under their own names. */
const eventRows = (log: Log, facts: Record<string, unknown>, t: TFunction): (readonly [string, string])[] => [
  [t('logs.time'), dateTime(log.created_at)],
  [t('logs.user'), log.username],
  ...Object.entries(facts)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([name, value]) => [name, String(value)] as const),
];

/** What a request tells of itself. */
const requestRows = (log: Log, facts: Record<string, unknown>, t: TFunction): (readonly [string, string])[] => [
  [t('logs.requestId'), log.request_id],
  [t('logs.time'), dateTime(log.created_at)],
  [t('logs.model'), log.model_name],
  [t('logs.path'), pathOf(facts) ?? ''],
  [t('logs.unread'), facts.unread === true ? t('logs.unreadText') : ''],
  [t('logs.upstreamModel'), typeof facts.upstream_model_name === 'string' ? facts.upstream_model_name : ''],
  ...labelledColumns(log, currentLanguage()),
  [t('logs.firstToken'), typeof facts.frt === 'number' && facts.frt >= 0 ? `${facts.frt} ms` : ''],
  [t('logs.unpriced'), wordsIn(facts.unpriced)],
  [
    t('logs.compaction'),
    facts.compaction === 'native'
      ? t('logs.compactionNative')
      : facts.compaction === 'summary'
        ? t('logs.compactionSummary')
        : '',
  ],
  [t('logs.dropped'), wordsIn(facts.dropped)],
  [t('logs.seconds'), typeof facts.ms === 'number' ? `${facts.ms} ms` : `${log.use_time} s`],
];

export interface LogDrawerProps {
  readonly log: Log;
  readonly onClose: () => void;
  /** Shows another row of the list: 1 = the next one, -1 = the one before. */
  readonly onStep: (by: number) => void;
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

export function LogDrawer({ log, onClose, onStep }: LogDrawerProps) {
  const { t } = useTranslation();
  useSteps(onStep);
  const admin = isAdmin(useUser());
  const money = useMoney();
  const facts = factsOf(log);
  // Top-ups, management and the system's own words are no requests.
  const isRequest = log.type === 2 || log.type === 5;
  const rows = isRequest ? requestRows(log, facts, t) : eventRows(log, facts, t);
  return (
    <Sheet
      title={isRequest ? t('logs.detail') : t(`logs.t${log.type as 1 | 3 | 4}`)}
      onClose={onClose}
      footer={
        log.model_name === '' ? undefined : (
          <>
            {admin && log.channel !== 0 ? (
              <Link href={`/channel/edit/${log.channel}`} className="button">
                {t('logs.openChannel')}
              </Link>
            ) : null}
            {log.token_id === 0 || log.token_name === '' ? null : (
              <Link href={`/token?q=${encodeURIComponent(log.token_name)}`} className="button">
                {t('logs.openToken')}
              </Link>
            )}
            <button
              type="button"
              className="button"
              onClick={() => copyOrShow(curlOf(log, pathOf(facts), location.origin))}
            >
              {t('logs.curl')}
            </button>
          </>
        )
      }
    >
      {isRequest ? null : <p className="mb-4 break-words">{eventText(log, t, money)}</p>}
      {log.type === 5 ? (
        <p className="mb-4 rounded-2 bg-danger-soft px-3 py-2 text-danger">
          {storedIn(log.content, currentLanguage())}
        </p>
      ) : null}
      <Attempts log={log} info={facts.admin_info} />
      <Bill facts={facts} />
      <section>
        {isRequest ? <h2 className="mb-2 font-semibold">{t('logs.request')}</h2> : null}
        <dl className="grid grid-cols-[110px_minmax(0,1fr)] gap-x-3 gap-y-1">
          {rows
            .filter(([, value]) => value !== '')
            .map(([name, value]) => (
              <div key={name} className="contents">
                <dt className="text-ink-3">{name}</dt>
                <dd className="break-all">{value}</dd>
              </div>
            ))}
        </dl>
      </section>
    </Sheet>
  );
}
