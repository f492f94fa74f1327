/** Channels by tag: one row per tag, with what is done to all of them. */

import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { type ChannelTraffic, stateOf, successClass, successText } from '../../components/channel-traffic.ts';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import type { ListState } from '../../lib/read.ts';
import type { ChannelActions } from './actions.ts';
import { NoChannels } from './channel-table.tsx';
import { ResponseTime } from './response-time.tsx';
import { type TagRow, tagRows } from './tag-rows.ts';

export interface TagTableProps {
  readonly channels: readonly Channel[];
  /** By the channel's id. */
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  readonly list: ListState;
  /** Some filter is on. */
  readonly filtered: boolean;
  readonly actions: ChannelActions;
  readonly onEdit: (row: TagRow) => void;
  readonly onOpen: (row: TagRow) => void;
}

const None = () => <span className="text-ink-3">–</span>;

export function TagTable({ channels, traffic, list, filtered, actions, onEdit, onOpen }: TagTableProps) {
  const { t } = useTranslation();
  const periodsOf = (row: TagRow) => row.channels.flatMap(({ id }) => traffic.get(id)?.period ?? []);
  const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  const successOf = (row: TagRow): number | null => {
    const attempts = sumOf(periodsOf(row).map((one) => one.attempts));
    return attempts === 0 ? null : 1 - sumOf(periodsOf(row).map((one) => one.failed)) / attempts;
  };
  const failingOf = (row: TagRow): number =>
    row.channels.filter((one) => ['failing', 'auto'].includes(stateOf(one, traffic.get(one.id)))).length;
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
      cell: (row) => {
        const enabled = t('channels.enabledOf', { enabled: row.enabled, count: row.channels.length });
        const failing = failingOf(row);
        return failing === 0 ? (
          enabled
        ) : (
          <span className="status status-bad">{`${enabled} · ${t('channels.countFailing', { count: failing })}`}</span>
        );
      },
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
        return share === null ? <None /> : <span className={successClass(share)}>{successText(share)}</span>;
      },
    },
    {
      id: 'rate',
      from: 1024,
      header: t('channels.rate'),
      number: true,
      sort: rateOf,
      cell: (row) => rateOf(row) || <None />,
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
        row.tag === '' ? (
          // On a phone the amounts of all rows end in one line.
          <span className="inline-block w-9 sm:hidden" aria-hidden="true" />
        ) : (
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
      empty={<NoChannels filtered={filtered} />}
    />
  );
}
