import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import type { Column } from '../../components/table/column.ts';
import { callPage } from '../../lib/api.ts';
import { dateTime } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useWide } from '../../lib/narrow.ts';
import { useStatus } from '../../lib/status.ts';
import { ChannelTag, Elapsed, Progress, TaskStatus, Thumbnail, TwoLines, Words } from './status.tsx';
import { TaskListPage } from './task-list-page.tsx';

type Drawing = OutputOf<EndpointOf<'drawing.list'>>[number];

const actions = [
  'IMAGINE',
  'UPSCALE',
  'VARIATION',
  'HIGH_VARIATION',
  'LOW_VARIATION',
  'PAN',
  'DESCRIBE',
  'BLEND',
  'UPLOAD',
  'SHORTEN',
  'REROLL',
  'INPAINT',
  'ZOOM',
  'CUSTOM_ZOOM',
  'MODAL',
  'SWAP_FACE',
] as const;
/** The list shows the last 30 days and an hour ahead, for clocks that differ. */
const monthSeconds = 30 * 86_400;
const hourSeconds = 3600;
const minuteSeconds = 60;
const codes: readonly number[] = [0, 1, 21, 22];

/** What an action of a drawing is called. */
export function drawingAction(t: TFunction, name: string): string {
  const known = actions.find((one) => one === name);
  return known === undefined ? t('tasks.unknown') : t(`tasks.a_${known}`);
}

export function DrawingsPage() {
  const { t } = useTranslation();
  const status = useStatus().data;
  const wide = useWide();
  // Twelve facts of a drawing in seven columns: what belongs together stands in one.
  const columns = (admin: boolean): readonly Column<Drawing>[] => [
    {
      id: 'prompt',
      header: `${t('tasks.image')} / ${t('tasks.prompt')}`,
      key: true,
      lead: true,
      cell: (row) => (
        <span className="flex items-center gap-3 py-1.5 max-sm:py-0">
          <Thumbnail url={row.image_url} words={t(row.image_url === '' ? 'tasks.noImage' : 'tasks.see')} />
          <span className="min-w-0">
            <Words text={row.prompt} />
            {row.prompt_en === '' || row.prompt_en === row.prompt ? null : (
              <span className="block text-[12px] leading-4 text-ink-3">
                <Words text={row.prompt_en} />
              </span>
            )}
          </span>
        </span>
      ),
    },
    {
      id: 'action',
      header: `${t('tasks.type')} / ${t('tasks.drawingId')}`,
      from: 1024,
      cell: (row) => (
        <TwoLines below={<span className="font-mono">{row.mj_id}</span>}>{drawingAction(t, row.action)}</TwoLines>
      ),
    },
    {
      id: 'status',
      header: `${t('tasks.status')} / ${t('tasks.code')}`,
      key: true,
      end: true,
      cell: (row) => (
        <TwoLines
          wideOnly
          below={
            // Where the reason has no column of its own.
            row.fail_reason === '' || wide ? (
              t(`tasks.c${(codes.includes(row.code) ? row.code : 0) as 0 | 1 | 21 | 22}`)
            ) : (
              <Words text={storedIn(row.fail_reason, currentLanguage())} />
            )
          }
        >
          <TaskStatus status={row.status} />
        </TwoLines>
      ),
    },
    {
      id: 'progress',
      header: t('tasks.progress'),
      cell: (row) => <Progress text={row.progress} failed={row.status === 'FAILURE'} />,
    },
    {
      id: 'submitted',
      header: `${t('tasks.submitted')} / ${t('tasks.taken')}`,
      key: true,
      cell: (row) => (
        <TwoLines
          below={
            row.finish_time === 0 ? null : <Elapsed seconds={Math.max(0, row.finish_time - row.submit_time) / 1000} />
          }
        >
          {dateTime(Math.floor(row.submit_time / 1000))}
        </TwoLines>
      ),
    },
    ...(admin
      ? [
          {
            id: 'channel',
            header: t('logs.channel'),
            from: 1024 as const,
            cell: (row: Drawing) => <ChannelTag id={row.channel_id} name={row.channel_name} />,
          },
        ]
      : []),
    {
      id: 'reason',
      header: t('tasks.reason'),
      from: 1280,
      cell: (row) => <Words text={storedIn(row.fail_reason, currentLanguage())} failed />,
    },
  ];
  // Whole minutes: within one the same rows are asked for.
  const now = Math.floor(Date.now() / 1000 / minuteSeconds) * minuteSeconds;
  return (
    <TaskListPage<Drawing>
      place="drawings"
      title={t('nav.drawings')}
      idLabel={t('tasks.drawingId')}
      columns={columns}
      initial={{ from: now - monthSeconds, to: now + hourSeconds }}
      banner={
        status?.mj_notify_enabled ? null : (
          <p className="mx-5 mb-3 rounded-2 bg-sunken px-3 py-2 text-ink-2">{t('tasks.noCallback')}</p>
        )
      }
      load={(admin, { id, channel, from, to }, page, pageSize) => {
        // Drawings count in milliseconds.
        const filter = {
          p: page,
          page_size: pageSize,
          mj_id: id,
          start_timestamp: from * 1000,
          end_timestamp: to * 1000,
        };
        return admin ? callPage('drawing.list', { ...filter, channel_id: channel }) : callPage('drawing.self', filter);
      }}
      detail={(row) => ({
        title: row.mj_id,
        body: (
          <div className="grid gap-3">
            {row.image_url === '' ? null : (
              <img src={row.image_url} alt={row.prompt} className="max-w-full rounded-2" />
            )}
            <p className="whitespace-pre-wrap">{row.prompt}</p>
            {row.prompt_en === '' ? null : <p className="whitespace-pre-wrap text-ink-2">{row.prompt_en}</p>}
            {row.fail_reason === '' ? null : (
              <p className="text-danger">{storedIn(row.fail_reason, currentLanguage())}</p>
            )}
          </div>
        ),
      })}
    />
  );
}
