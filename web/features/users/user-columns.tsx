/** What the table of users shows of each. */
import type { TFunction } from 'i18next';
import { Link } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enums.ts';
import type { Column } from '../../components/table/column.ts';
import { call } from '../../lib/api.ts';
import { isAdmin, isRoot } from '../../lib/session.ts';
import { undoable } from '../../lib/undo.ts';

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

export interface UserColumnsWanted {
  readonly t: TFunction;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (user: User) => void;
  readonly onClose: (user: User) => void;
}

function UserActions({ row, t, refresh, onEdit, onClose }: UserColumnsWanted & { readonly row: User }) {
  /** Two actions of which each takes the other back. */
  const exchange = (action: Action, back: Action) =>
    undoable({
      work: () => call('user.manage', { id: row.id, action }),
      back: () => call('user.manage', { id: row.id, action: back }),
      done: `${row.username} · ${t('users.done')}`,
      refresh,
    });
  return (
    <span className="flex gap-1">
      <button type="button" className="button button-ghost" onClick={() => onEdit(row)}>
        {t('app.edit')}
      </button>
      <button
        type="button"
        className="button button-ghost"
        disabled={row.status !== 1 && row.status !== 2}
        onClick={() => (row.status === 1 ? exchange('disable', 'enable') : exchange('enable', 'disable'))}
      >
        {row.status === 1 ? t('users.ban') : t('app.enable')}
      </button>
      <button
        type="button"
        className="button button-ghost"
        onClick={() => (isAdmin(row) ? exchange('demote', 'promote') : exchange('promote', 'demote'))}
      >
        {isAdmin(row) ? t('users.demote') : t('users.promote')}
      </button>
      <button type="button" className="button button-ghost text-danger" onClick={() => onClose(row)}>
        {t('users.close')}
      </button>
    </span>
  );
}

export function userColumns(wanted: UserColumnsWanted): readonly Column<User>[] {
  const { t } = wanted;
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
        <span className={isRoot(row) ? 'text-danger' : isAdmin(row) ? 'text-warning' : 'text-ink-2'}>
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
      amount: (row) => row.quota,
    },
    {
      id: 'used',
      header: t('users.used'),
      number: true,
      order: 'used_quota',
      amount: (row) => row.used_quota,
    },
    {
      id: 'requests',
      header: t('users.requests'),
      number: true,
      order: 'request_count',
      cell: (row) => row.request_count,
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
      cell: (row) => (row.DeletedAt !== null ? null : <UserActions row={row} {...wanted} />),
    },
  ];
}
