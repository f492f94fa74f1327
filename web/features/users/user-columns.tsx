/** What the table of users shows of each. */
import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enum.ts';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { isAdmin } from '../../lib/session.ts';
import { runUndoable } from '../../lib/undo.ts';

/** Others come from other products and are changed by nobody here. */
const statusNames: Readonly<Record<number, 'users.active' | 'users.banned'>> = {
  1: 'users.active',
  2: 'users.banned',
};
const roleNames: Readonly<Record<number, 'role1' | 'role10' | 'role100'>> = {
  [Role.user]: 'role1',
  [Role.admin]: 'role10',
  [Role.root]: 'role100',
};
type Action = 'promote' | 'demote' | 'disable' | 'enable';

export interface UserColumnsOptions {
  readonly t: TFunction;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (user: User) => void;
  readonly onClose: (user: User) => void;
}

function UserActions({ row, t, refresh, onEdit, onClose }: UserColumnsOptions & { readonly row: User }) {
  /** Two actions of which each takes the other back. */
  const exchange = (action: Action, back: Action) =>
    runUndoable({
      work: () => call('user.manage', { id: row.id, action }),
      back: () => call('user.manage', { id: row.id, action: back }),
      done: `${row.username} · ${t('users.done')}`,
      refresh,
    });
  return (
    <RowActions
      name={row.username}
      quick={[
        { id: 'edit', content: t('app.edit'), onPick: () => onEdit(row) },
        row.status === 1
          ? { id: 'status', content: t('users.ban'), onPick: () => exchange('disable', 'enable') }
          : {
              id: 'status',
              content: t('app.enable'),
              disabled: row.status !== 2,
              onPick: () => exchange('enable', 'disable'),
            },
      ]}
      more={[
        isAdmin(row)
          ? { id: 'rank', content: t('users.demote'), onPick: () => exchange('demote', 'promote') }
          : { id: 'rank', content: t('users.promote'), onPick: () => exchange('promote', 'demote') },
        { id: 'close', content: t('users.close'), danger: true, onPick: () => onClose(row) },
      ]}
    />
  );
}

export function userColumns(options: UserColumnsOptions): readonly Column<User>[] {
  const { t } = options;
  return [
    { id: 'id', header: t('users.id'), number: true, order: 'id', cell: (row) => row.id },
    {
      id: 'name',
      header: t('users.username'),
      key: true,
      order: 'username',
      cell: (row) => (
        <>
          <Link href={`/user/${row.id}`} className="font-medium text-ink-1">
            {row.username}
          </Link>{' '}
          <span className="text-ink-3">{row.display_name === row.username ? '' : row.display_name}</span>
        </>
      ),
    },
    { id: 'group', header: t('users.group'), cell: (row) => row.group },
    {
      id: 'role',
      header: t('users.role'),
      cell: (row) => (
        <span className={isAdmin(row) ? 'font-medium text-ink-1' : 'text-ink-2'}>
          {t(`users.${roleNames[row.role] ?? 'roleUnknown'}`)}
        </span>
      ),
    },
    {
      id: 'status',
      header: t('users.status'),
      key: true,
      cell: (row) =>
        row.DeletedAt !== null ? (
          <span className="status status-bad">{t('users.closed')}</span>
        ) : (
          <span className={row.status === 1 ? 'status' : 'status status-off'}>
            {t(statusNames[row.status] ?? 'users.statusUnknown')}
          </span>
        ),
    },
    {
      id: 'quota',
      header: t('users.quota'),
      number: true,
      order: 'quota',
      key: true,
      form: 'short',
      amount: (row) => row.quota,
    },
    {
      id: 'used',
      header: t('users.used'),
      number: true,
      order: 'used_quota',
      form: 'short',
      amount: (row) => row.used_quota,
    },
    {
      id: 'requests',
      header: t('users.requests'),
      number: true,
      order: 'request_count',
      cell: (row) => row.request_count.toLocaleString('en'),
    },
    {
      id: 'invited',
      header: t('users.invited'),
      number: true,
      order: 'aff_count',
      cell: (row) => row.aff_count,
    },
    {
      id: 'invite_revenue',
      header: t('users.inviteRevenue'),
      number: true,
      order: 'aff_history_quota',
      form: 'short',
      amount: (row) => row.aff_history_quota,
    },
    {
      id: 'inviter',
      header: t('users.inviter'),
      number: true,
      order: 'inviter_id',
      cell: (row) => (row.inviter_id === 0 ? '–' : row.inviter_id),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => (row.DeletedAt !== null ? null : <UserActions row={row} {...options} />),
    },
  ];
}
