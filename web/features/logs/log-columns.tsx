/** Columns of the usage log. A row that did not succeed says why in the place of its figures. */

import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { Log } from '../../../server/contract/entities.ts';
import { statusOf } from '../../../server/contract/log-status.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { LogStatusMark } from '../../components/log-status.tsx';
import type { Column } from '../../components/table/column.ts';
import { dateTime, grouped, secondsText, timeText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { cachedShareOf, detailsOf, firstTokenOf, msOf, ruleOf, speedOf } from '../../lib/log-details.ts';
import type { Money } from '../../lib/money.ts';
import { eventText } from './event-text.ts';

/** Under 101 s green, under 300 s orange, else red. */
const timeClass = (ms: number): string =>
  ms < 101_000 ? 'text-success-quiet' : ms < 300_000 ? 'text-warning' : 'text-danger';
/** Under 3 s green, under 10 s orange, else red. */
const firstTokenClass = (ms: number): string =>
  ms < 3000 ? 'text-success-quiet' : ms < 10_000 ? 'text-warning' : 'text-danger';

/** Rows with figures: a charge, or an answer that was begun. */
const charged = (log: Log): boolean => log.type === 0 || log.type === 2;
/** What stands where a row has no figures. */
const figures = ['ttft', 'speed', 'prompt', 'completion'] as const;

const barWidth = 96;
/** The day only where it is not the reader's own. */
function shortTime(seconds: number): string {
  const whole = dateTime(seconds);
  const [today] = dateTime(Date.now() / 1000).split(' ');
  return whole.startsWith(`${today} `) ? whole.slice(11) : whole.slice(5);
}

/** Channels in the order they were asked. */
const attemptChannels = (log: Log): string =>
  (detailsOf(log).admin_info as { use_channel?: readonly string[] } | undefined)?.use_channel?.join(' → ') ?? '';

export interface LogColumnsOptions {
  readonly t: TFunction;
  /** Stable, like the translator. */
  readonly money: Money;
  readonly reader: { readonly id: number; readonly admin: boolean };
  /** Milliseconds that a full bar stands for. */
  readonly maxMs: number;
}

export function logColumns({ t, money, reader, maxMs }: LogColumnsOptions): readonly Column<Log>[] {
  const { admin } = reader;
  const why = (row: Log) => {
    const isEvent = statusOf(row) === 'event';
    const text = isEvent ? eventText(row, t, money) : storedIn(row.content, currentLanguage());
    const rule = isEvent ? null : ruleOf(row, detailsOf(row), reader);
    const className = isEvent || row.end_reason === 'refused' ? 'text-ink-2' : 'text-danger';
    return (
      <span
        // It fills what the figures of other rows leave it, and asks for no width of its own; without them it has its own.
        className={`flex w-0 min-w-full gap-2 text-[12px] max-lg:w-36 max-sm:w-auto max-sm:py-1 max-sm:leading-4 max-sm:min-w-0 ${className}`}
        title={text}
      >
        <span className="truncate max-sm:line-clamp-3 max-sm:whitespace-normal max-sm:[overflow-wrap:anywhere]">
          {text}
        </span>
        {rule === null ? null : (
          <Link href={rule} className="flex-none text-accent-text underline sm:max-lg:hidden">
            {t('logs.rule')}
          </Link>
        )}
      </span>
    );
  };
  const person = (row: Log) => (
    <>
      {admin ? `${row.username} ` : ''}
      <span className={admin ? 'text-ink-3' : ''}>{storedIn(row.token_name, currentLanguage())}</span>
    </>
  );
  return [
    {
      id: 'time',
      header: t('logs.time'),
      key: true,
      order: 'created_at',
      cell: (row) => (
        <time dateTime={new Date(row.created_at * 1000).toISOString()} title={dateTime(row.created_at)}>
          {shortTime(row.created_at)}
        </time>
      ),
    },
    { id: 'status', header: t('logs.ended'), key: true, cell: (row) => <LogStatusMark log={row} t={t} /> },
    {
      id: 'model',
      header: t('logs.model'),
      key: true,
      lead: true,
      order: 'model_name',
      cell: (row) =>
        row.model_name === '' ? null : (
          <span
            className="block max-w-52 truncate font-mono text-[12px] text-ink-1 max-lg:max-w-40 max-sm:max-w-full"
            title={row.model_name}
          >
            {row.model_name}
          </span>
        ),
    },
    {
      id: 'user',
      header: admin ? t('logs.caller') : t('logs.token'),
      key: true,
      cell: (row) => (
        <span className="block max-w-44 truncate max-lg:max-w-36 max-sm:text-[12px] max-sm:text-ink-2">
          {person(row)}
        </span>
      ),
    },
    {
      id: 'seconds',
      header: t('logs.seconds'),
      key: true,
      order: 'duration',
      over: (row) => (charged(row) ? [] : figures),
      cell: (row) => {
        if (!charged(row)) return why(row);
        const details = detailsOf(row);
        const [ms, first] = [msOf(row, details), firstTokenOf(row, details)];
        const width = Math.max(2, Math.round((barWidth * Math.min(ms, maxMs)) / maxMs));
        return (
          <span className="inline-flex items-center gap-1.5">
            <span className="flex h-1.5 max-[1400px]:hidden" aria-hidden="true">
              {first === null ? null : (
                <i
                  className="bg-line-strong"
                  style={{ width: Math.round((width * Math.min(first, ms)) / (ms || 1)) }}
                />
              )}
              <i
                className="bg-(--data-1)"
                style={{ width: width - (first === null ? 0 : Math.round((width * Math.min(first, ms)) / (ms || 1))) }}
              />
            </span>
            <span className={timeClass(ms)}>{timeText(ms)}</span>
          </span>
        );
      },
    },
    {
      id: 'ttft',
      header: t('logs.ttftSeconds'),
      number: true,
      from: 1024,
      cell: (row) => {
        const first = firstTokenOf(row, detailsOf(row));
        return first === null ? (
          <span className="text-ink-3">–</span>
        ) : (
          <span className={firstTokenClass(first)}>{secondsText(first)}</span>
        );
      },
    },
    {
      id: 'speed',
      header: t('logs.speed'),
      number: true,
      from: 1440,
      cell: (row) => {
        const speed = speedOf(row, detailsOf(row));
        return speed === null ? <span className="text-ink-3">–</span> : speed.toFixed(speed < 10 ? 1 : 0);
      },
    },
    {
      id: 'prompt',
      header: t('logs.prompt'),
      number: true,
      from: 1024,
      order: 'prompt_tokens',
      cell: (row) => {
        const cached = Math.round(cachedShareOf(row, detailsOf(row)) * 100);
        return (
          <>
            {grouped(row.prompt_tokens)}
            {cached === 0 ? null : (
              <span className="ml-1.5 text-ink-3" title={t('logs.cached', { share: cached })}>
                {cached}%
              </span>
            )}
          </>
        );
      },
    },
    {
      id: 'completion',
      header: t('logs.completion'),
      number: true,
      from: 1024,
      order: 'completion_tokens',
      cell: (row) => grouped(row.completion_tokens),
    },
    {
      id: 'cost',
      header: t('logs.cost'),
      number: true,
      order: 'quota',
      key: true,
      cell: (row) =>
        statusOf(row) === 'event' ? null : row.quota === 0 ? (
          <span className="text-ink-3">{money(0, 'whole')}</span>
        ) : (
          money(row.quota, 'exact')
        ),
    },
    ...(admin
      ? [
          {
            id: 'channel',
            header: t('logs.channel'),
            hidden: true,
            cell: (row: Log) => (row.channel === 0 ? '' : `${row.channel} ${row.channel_name}`),
          },
          { id: 'retry', header: t('logs.retry'), hidden: true, cell: attemptChannels },
        ]
      : []),
    { id: 'group', header: t('logs.group'), hidden: true, cell: (row) => row.group },
    {
      id: 'type',
      header: t('logs.type'),
      hidden: true,
      cell: (row) => t(`logs.t${row.type as 0 | 1 | 2 | 3 | 4 | 5}`),
    },
    {
      id: 'request',
      header: t('logs.requestId'),
      hidden: true,
      cell: (row) => <span className="font-mono text-[12px]">{row.request_id}</span>,
    },
  ];
}

/** Of the rows on a page, so many take no longer than a full bar. */
const fullShare = 0.95;

/** The length that a full bar stands for: few long requests do not flatten the others; round, so that it seldom changes. @returns milliseconds. */
export function maxDurationOf(rows: readonly Log[]): number {
  const lengths = rows
    .filter(charged)
    .map((row) => msOf(row, detailsOf(row)))
    .sort((one, other) => one - other);
  const maxMs = Math.max(1000, lengths[Math.ceil(lengths.length * fullShare) - 1] ?? 0);
  const size = 10 ** Math.floor(Math.log10(maxMs));
  return [1, 2, 5, 10].map((one) => one * size).find((one) => one >= maxMs) ?? maxMs;
}
