import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import type { Column } from '../../components/table/column.ts';
import { callPage } from '../../lib/api.ts';
import { dateTime, duration } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useWide } from '../../lib/narrow.ts';
import { ChannelTag, Ring, TaskStatus, TwoLines, Words } from './status.tsx';
import { TaskListPage } from './task-list-page.tsx';

type Task = OutputOf<EndpointOf<'task.list'>>[number];

const actions = ['MUSIC', 'LYRICS'] as const;

/** What the first thing that was made is called; '' = it has no name yet. */
function titleOf(data: unknown): string {
  const [first] = Array.isArray(data) ? (data as readonly unknown[]) : [data];
  if (typeof first !== 'object' || first === null || !('title' in first)) return '';
  return typeof first.title === 'string' ? first.title : '';
}

export function TasksPage() {
  const { t } = useTranslation();
  const wide = useWide();
  const time = (at: number): string => (at > 0 ? dateTime(at) : '–');
  const columns = (admin: boolean): readonly Column<Task>[] => [
    { id: 'submitted', header: t('tasks.submitted'), key: true, cell: (row) => time(row.submit_time) },
    { id: 'finished', header: t('tasks.finished'), from: 1024, cell: (row) => time(row.finish_time) },
    {
      id: 'progress',
      header: t('tasks.progress'),
      cell: (row) => <Ring text={row.progress} failed={row.status === 'FAILURE'} />,
    },
    {
      id: 'taken',
      header: t('tasks.taken'),
      key: true,
      number: true,
      cell: (row) => (row.finish_time > row.submit_time ? duration(row.finish_time - row.submit_time) : '–'),
    },
    ...(admin
      ? [
          {
            id: 'channel',
            header: t('logs.channel'),
            cell: (row: Task) => <ChannelTag id={row.channel_id} name={row.channel_name} />,
          },
        ]
      : []),
    { id: 'platform', header: t('tasks.platform'), cell: (row) => <span className="capitalize">{row.platform}</span> },
    {
      id: 'action',
      header: t('tasks.type'),
      key: true,
      lead: true,
      cell: (row) => {
        const name = actions.find((one) => one === row.action);
        const text = t(name === undefined ? 'tasks.unknown' : `tasks.t_${name}`);
        const title = titleOf(row.data);
        // As high as those that have a name.
        return title === '' ? (
          <span className="flex items-center sm:min-h-12">{text}</span>
        ) : (
          <TwoLines wideOnly below={<Words text={title} />}>
            {text}
          </TwoLines>
        );
      },
    },
    {
      id: 'id',
      from: 1280,
      header: t('tasks.taskId'),
      cell: (row) => (
        <span className="block max-w-40 truncate font-mono text-[12px]" title={row.task_id}>
          {row.task_id}
        </span>
      ),
    },
    {
      id: 'status',
      header: t('tasks.status'),
      key: true,
      end: true,
      cell: (row) =>
        // Where the reason has no column of its own.
        wide || row.fail_reason === '' ? (
          <TaskStatus status={row.status} />
        ) : (
          <TwoLines wideOnly below={<Words text={storedIn(row.fail_reason, currentLanguage())} failed />}>
            <TaskStatus status={row.status} />
          </TwoLines>
        ),
    },
    {
      id: 'reason',
      header: t('tasks.reason'),
      from: 1280,
      cell: (row) => <Words text={storedIn(row.fail_reason, currentLanguage())} failed />,
    },
  ];
  return (
    <TaskListPage<Task>
      place="tasks"
      title={t('nav.tasks')}
      idLabel={t('tasks.taskId')}
      columns={columns}
      initial={{ from: Math.floor(new Date().setHours(0, 0, 0, 0) / 1000), to: 0 }}
      load={(admin, { id, channel, from, to }, page, pageSize) => {
        const filter = { p: page, page_size: pageSize, task_id: id, start_timestamp: from, end_timestamp: to };
        return admin ? callPage('task.list', { ...filter, channel_id: channel }) : callPage('task.self', filter);
      }}
      detail={(row) => ({
        title: row.task_id,
        body: (
          <pre className="overflow-auto font-mono text-[12px] whitespace-pre-wrap">{JSON.stringify(row, null, 2)}</pre>
        ),
      })}
    />
  );
}
