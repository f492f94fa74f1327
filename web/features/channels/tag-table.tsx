/** Channels by tag: one row per tag, with what is done to all of them. */

import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import type { ListState } from '../../lib/read.ts';
import type { ChannelActions } from './actions.ts';
import { ResponseTime } from './response-time.tsx';
import { type TagRow, tagRows } from './tag-rows.ts';
import { type ChannelTraffic, successClass, successText } from './traffic.ts';

export interface TagTableProps {
  readonly channels: readonly Channel[];
  /** By the channel's id. */
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  readonly list: ListState;
  readonly actions: ChannelActions;
  readonly onEdit: (row: TagRow) => void;
  readonly onOpen: (row: TagRow) => void;
}

export function TagTable({ channels, traffic, list, actions, onEdit, onOpen }: TagTableProps) {
  const { t } = useTranslation();
  const periodsOf = (row: TagRow) => row.channels.flatMap(({ id }) => traffic.get(id)?.period ?? []);
  const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  const successOf = (row: TagRow): number | null => {
    const attempts = sumOf(periodsOf(row).map((one) => one.attempts));
    return attempts === 0 ? null : 1 - sumOf(periodsOf(row).map((one) => one.failed)) / attempts;
  };
  const rateOf = (row: TagRow): number =>
    Math.round(sumOf(row.channels.map(({ id }) => traffic.get(id)?.requests_per_minute ?? 0)) * 10) / 10;
  const columns: readonly Column<TagRow>[] = [
    {
      id: 'tag',
      header: t('channels.tag'),
      key: true,
      sort: (row) => row.tag,
      cell: (row) => (
        <span className="row-name font-medium text-ink-1" title={row.tag}>
          {row.tag || t('channels.noTag')}
        </span>
      ),
    },
    {
      id: 'status',
      header: t('channels.status'),
      key: true,
      cell: (row) => t('channels.enabledOf', { enabled: row.enabled, count: row.channels.length }),
    },
    { id: 'group', from: 720, header: t('channels.group'), cell: (row) => row.groups.join(', ') },
    {
      id: 'success',
      from: 1024,
      header: t('channels.success'),
      number: true,
      sort: (row) => successOf(row) ?? 2,
      cell: (row) => {
        const share = successOf(row);
        return share === null ? null : <span className={successClass(share)}>{successText(share)}</span>;
      },
    },
    {
      id: 'rate',
      from: 1024,
      header: t('channels.rate'),
      number: true,
      sort: rateOf,
      cell: (row) => rateOf(row) || null,
    },
    {
      id: 'response',
      from: 720,
      header: t('channels.response'),
      number: true,
      sort: (row) => row.response,
      cell: (row) => <ResponseTime ms={row.response} untested={t('channels.untested')} />,
    },
    {
      id: 'used',
      header: t('channels.used'),
      number: true,
      key: true,
      sort: (row) => row.used,
      form: 'short',
      amount: (row) => row.used,
    },
    { id: 'priority', from: 1024, header: t('channels.priority'), number: true, cell: (row) => row.priority ?? '' },
    { id: 'weight', from: 1024, header: t('channels.weight'), number: true, cell: (row) => row.weight ?? '' },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) =>
        row.tag === '' ? null : (
          <RowActions
            name={row.tag}
            quick={[
              {
                id: 'enable',
                content: t('channels.enableAll'),
                onPick: () => actions.run(() => call('channel.tag_enable', { tag: row.tag }), t('channels.updatedOk')),
              },
              {
                id: 'disable',
                content: t('channels.disableAll'),
                onPick: () => actions.run(() => call('channel.tag_disable', { tag: row.tag }), t('channels.updatedOk')),
              },
              { id: 'edit', content: t('app.edit'), onPick: () => onEdit(row) },
            ]}
          />
        ),
    },
  ];
  return (
    <DataTable
      caption={t('channels.tagMode')}
      rows={tagRows(channels)}
      columns={columns}
      list={list}
      onOpen={onOpen}
      empty={<Empty text={t('channels.noMatch')} command="gateway tag list" />}
    />
  );
}
