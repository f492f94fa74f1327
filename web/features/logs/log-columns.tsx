/** Columns of the usage log. */

import type { TFunction } from 'i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import type { Column } from '../../components/table/column.ts';
import { dateTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import type { Money } from '../../shell/money.ts';
import { eventText } from './event-text.ts';

/** Under 101 s green, under 300 s orange, else red. */
const timeLook = (ms: number): string =>
  ms < 101_000 ? 'text-success' : ms < 300_000 ? 'text-warning' : 'text-danger';
/** Under 3 s green, under 10 s orange, else red. */
const firstLook = (ms: number): string => (ms < 3000 ? 'text-success' : ms < 10_000 ? 'text-warning' : 'text-danger');

const numberIn = (log: Log, member: 'frt' | 'ms'): number | null => {
  const found = new RegExp(`"${member}":\\s*(\\d+(?:\\.\\d+)?)`).exec(log.other)?.[1];
  return found === undefined ? null : Number(found);
};
const firstToken = (log: Log): number | null => numberIn(log, 'frt');
/** Rows of other products know whole seconds alone. */
const msOf = (log: Log): number => numberIn(log, 'ms') ?? log.use_time * 1000;
/** Hundredths while they say something. */
const secondsText = (ms: number): string => (ms / 1000).toFixed(ms < 10_000 ? 2 : ms < 100_000 ? 1 : 0);
/** Channels in the order they were asked. */
function triedChannels({ other }: Log): string {
  try {
    const { admin_info: info } = JSON.parse(other || '{}') as { admin_info?: { use_channel?: readonly string[] } };
    return info?.use_channel?.join(' → ') ?? '';
  } catch {
    return '';
  }
}
/** Rows that name a model and a charge. */
const charged = (log: Log): boolean => log.type === 0 || log.type === 2 || log.type === 5;

/** @param money stable, like the translator. */
export function logColumns(t: TFunction, admin: boolean, money: Money): readonly Column<Log>[] {
  return [
    {
      id: 'time',
      header: t('logs.time'),
      key: true,
      order: 'created_at',
      cell: (row) => dateTime(row.created_at),
    },
    ...(admin
      ? [
          {
            id: 'channel',
            header: t('logs.channel'),
            cell: (row: Log) => (row.channel === 0 ? '' : `${row.channel} ${row.channel_name}`),
          },
          { id: 'user', header: t('logs.user'), cell: (row: Log) => row.username },
        ]
      : []),
    ...(admin ? [{ id: 'retry', header: t('logs.retry'), hidden: true, cell: (row: Log) => triedChannels(row) }] : []),
    { id: 'token', header: t('logs.token'), cell: (row) => storedIn(row.token_name, currentLanguage()) },
    { id: 'group', header: t('logs.group'), hidden: true, cell: (row) => row.group },
    {
      id: 'type',
      header: t('logs.type'),
      cell: (row) => (
        <span className={row.type === 5 ? 'text-danger' : 'text-ink-2'}>
          {t(`logs.t${row.type as 0 | 1 | 2 | 3 | 4 | 5}`)}
        </span>
      ),
    },
    {
      id: 'model',
      header: t('logs.model'),
      key: true,
      order: 'model_name',
      cell: (row) => <span className="font-medium text-ink-1">{row.model_name}</span>,
    },
    {
      id: 'seconds',
      header: t('logs.seconds'),
      order: 'duration',
      cell: (row) => {
        if (!charged(row)) return null;
        const [ms, first] = [msOf(row), firstToken(row)];
        return (
          <>
            <span className={timeLook(ms)}>{secondsText(ms)} s</span>
            {row.is_stream && first !== null ? (
              <span className={`ml-1.5 ${firstLook(first)}`}>
                · {t('logs.ttft')} {secondsText(first)}
              </span>
            ) : null}
            <span className="ml-1.5 text-ink-3">{row.is_stream ? t('logs.stream') : t('logs.whole')}</span>
          </>
        );
      },
    },
    {
      id: 'prompt',
      header: t('logs.prompt'),
      number: true,
      order: 'prompt_tokens',
      cell: (row) => (charged(row) ? row.prompt_tokens : ''),
    },
    {
      id: 'completion',
      header: t('logs.completion'),
      number: true,
      order: 'completion_tokens',
      cell: (row) => (charged(row) ? row.completion_tokens : ''),
    },
    {
      id: 'cost',
      header: t('logs.cost'),
      number: true,
      order: 'quota',
      key: true,
      amount: (row) => (charged(row) ? row.quota : null),
    },
    {
      id: 'content',
      header: t('logs.content'),
      // What an event says is all it has on a narrow screen.
      key: true,
      cell: (row) => (
        <span
          className={`block max-w-64 truncate ${row.type === 5 ? 'text-danger' : 'text-ink-2'}`}
          title={eventText(row, t, money)}
        >
          {row.type === 2 ? '' : eventText(row, t, money)}
        </span>
      ),
    },
    {
      id: 'request',
      header: t('logs.requestId'),
      hidden: true,
      cell: (row) => <span className="font-mono text-[12px]">{row.request_id}</span>,
    },
  ];
}
