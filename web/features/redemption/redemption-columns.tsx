/** What the table of codes shows of each. */
import type { TFunction } from 'i18next';
import type { Redemption } from '../../../server/contract/entities.ts';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime } from '../../lib/format.ts';
import { runUndoable } from '../../lib/undo.ts';

const classes = { 1: 'status', 2: 'status status-off', 3: 'status status-bad' } as const;

export interface RedemptionColumnsOptions {
  readonly t: TFunction;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (redemption: Redemption) => void;
  readonly onRemove: (redemption: Redemption) => void;
}

function RedemptionActions({
  row,
  t,
  refresh,
  onEdit,
  onRemove,
}: RedemptionColumnsOptions & { readonly row: Redemption }) {
  const toggle = () => {
    const put = (status: number) => call('redemption.update', { id: row.id, status_only: true, status });
    void runUndoable({
      work: () => put(row.status === 1 ? 2 : 1),
      back: () => put(row.status),
      done: t('app.changed', { name: row.name }),
      refresh,
    });
  };
  return (
    <RowActions
      name={row.name}
      quick={[
        { id: 'copy', content: t('app.copy'), icon: 'copy', onPick: () => copyOrShow(row.key) },
        ...(row.status === 1
          ? [{ id: 'edit', content: t('app.edit'), icon: 'edit' as const, onPick: () => onEdit(row) }]
          : []),
      ]}
      more={[
        ...(row.status === 3
          ? []
          : [{ id: 'status', content: row.status === 1 ? t('app.disable') : t('app.enable'), onPick: toggle }]),
        { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
      ]}
    />
  );
}

export function redemptionColumns(options: RedemptionColumnsOptions): readonly Column<Redemption>[] {
  const { t } = options;
  return [
    { id: 'id', header: t('users.id'), number: true, order: 'id', cell: (row) => row.id },
    {
      id: 'name',
      header: t('redemption.name'),
      key: true,
      order: 'name',
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    {
      id: 'status',
      header: t('redemption.status'),
      key: true,
      order: 'status',
      cell: (row) => {
        const status = row.status as 1 | 2 | 3;
        const expired = status === 1 && row.expired_time > 0 && row.expired_time * 1000 <= Date.now();
        return (
          <span className={expired ? 'status status-bad' : classes[status]}>
            {expired ? t('redemption.expired') : t(`redemption.s${status}`)}
          </span>
        );
      },
    },
    {
      id: 'quota',
      header: t('redemption.quota'),
      number: true,
      key: true,
      order: 'quota',
      amount: (row) => row.quota,
    },
    {
      id: 'created',
      from: 1024,
      header: t('redemption.created'),
      order: 'created_time',
      cell: (row) => dateTime(row.created_time),
    },
    {
      id: 'expires',
      from: 1024,
      header: t('tokens.expires'),
      order: 'expired_time',
      cell: (row) => (row.expired_time > 0 ? dateTime(row.expired_time) : t('tokens.never')),
    },
    {
      id: 'used',
      header: t('redemption.usedBy'),
      cell: (row) => (row.used_user_id === 0 ? t('redemption.nobody') : row.used_user_id),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => <RedemptionActions row={row} {...options} />,
    },
  ];
}
