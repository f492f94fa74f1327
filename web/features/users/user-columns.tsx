/** What the table of users shows of each. */

import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enum.ts';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import type { Money } from '../../lib/money.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { runUndoable } from '../../lib/undo.ts';

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
  readonly money: Money;
  readonly refresh: () => Promise<unknown>;
  readonly onEdit: (user: User) => void;
  readonly onClose: (user: User) => void;
}

/** What the server would refuse is not offered: nobody acts on his own level but the super administrator, on whom nobody acts. */
function UserActions({ row, t, refresh, onEdit, onClose }: UserColumnsOptions & { readonly row: User }) {
  const actor = useUser()?.role ?? Role.guest;
  const mayEdit = actor > row.role || actor >= Role.root;
  const mayManage = mayEdit && row.role < Role.root;
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
        ...(mayEdit ? [{ id: 'edit', content: t('app.edit'), icon: 'edit' as const, onPick: () => onEdit(row) }] : []),
        // Other states come from other products and cannot be changed here.
        ...(row.status === 1 || row.status === 2
          ? []
          : [{ id: 'status', content: t('app.enable'), disabled: true, onPick: () => undefined }]),
      ]}
      more={
        mayManage
          ? [
              ...(row.status === 1
                ? [{ id: 'status', content: t('users.ban'), onPick: () => exchange('disable', 'enable') }]
                : row.status === 2
                  ? [{ id: 'status', content: t('app.enable'), onPick: () => exchange('enable', 'disable') }]
                  : []),
              ...(actor < Role.root
                ? []
                : [
                    isAdmin(row)
                      ? { id: 'rank', content: t('users.demote'), onPick: () => exchange('demote', 'promote') }
                      : { id: 'rank', content: t('users.promote'), onPick: () => exchange('promote', 'demote') },
                  ]),
              { id: 'close', content: t('users.close'), danger: true, onPick: () => onClose(row) },
            ]
          : []
      }
    />
  );
}

/** The first letter of a name, as the account menu has it. */
const Initial = ({ name }: { readonly name: string }) => (
  <span
    aria-hidden="true"
    className="grid size-7 flex-none place-items-center rounded-2 bg-accent-soft text-[12px] font-medium text-accent-text uppercase"
  >
    {[...name][0]}
  </span>
);

function Name({ user, t, money }: Pick<UserColumnsOptions, 't' | 'money'> & { readonly user: User }) {
  const narrow = useNarrow();
  const name = user.display_name === user.username ? '' : user.display_name;
  // A card has no columns for group and use.
  const more = (
    narrow
      ? [name, user.group, user.used_quota === 0 ? '' : t('users.usedSum', { amount: money(user.used_quota) })]
      : [name, user.email]
  ).filter((one) => one !== '');
  return (
    <span className="flex min-h-12 min-w-0 items-center gap-2.5 py-1">
      <Initial name={user.username} />
      <span className="min-w-0">
        <Link href={`/user/${user.id}`} className="font-medium text-ink-1 hover:underline">
          {user.username}
        </Link>
        {/* A card shows the status only where it is not the usual one. */}
        {!narrow || (user.status === 1 && user.DeletedAt === null) ? null : (
          <span className="ml-2 text-[12px]">
            <UserStatus user={user} />
          </span>
        )}
        {more.length === 0 ? null : (
          <span
            className="block max-w-60 truncate text-[12px] leading-4 text-ink-3 xl:max-w-96"
            title={more.join(' · ')}
          >
            {more.join(' · ')}
          </span>
        )}
      </span>
    </span>
  );
}

export function UserStatus({ user }: { readonly user: User }) {
  const { t } = useTranslation();
  if (user.DeletedAt !== null) return <span className="status status-bad">{t('users.closed')}</span>;
  return (
    <span className={user.status === 1 ? 'status' : 'status status-off'}>
      {t(statusNames[user.status] ?? 'users.statusUnknown')}
    </span>
  );
}

export const GroupMark = ({ name }: { readonly name: string }) => (
  <span className="rounded-1 bg-sunken px-1.5 py-0.5 text-[12px] text-ink-2">{name}</span>
);

/** From this share on the bar warns. */
const nearlyUsed = 0.9;

/** The used share of a user's quota. */
function UsedBar({
  user: { quota, used_quota: used },
  t,
  money,
}: Pick<UserColumnsOptions, 't' | 'money'> & { readonly user: User }) {
  const share = used <= 0 ? 0 : Math.min(1, used / Math.max(1, used + quota));
  const name = t('users.usedOf', { share: Math.round(share * 100), total: money(used + Math.max(0, quota)) });
  return (
    <span
      className={`h-1 w-16 flex-none overflow-hidden rounded-1 max-xl:hidden ${share === 0 ? '' : 'bg-press'}`}
      aria-hidden="true"
      title={share === 0 ? undefined : name}
    >
      <span
        className="block h-1"
        style={{
          width: `${share * 100}%`,
          background: share >= nearlyUsed ? 'var(--warning-solid)' : 'var(--accent)',
        }}
      />
    </span>
  );
}

const nothing = <span className="text-ink-3">–</span>;
/** A zero is dimmed. */
const figure = (value: number, text: string) => (value === 0 ? <span className="text-ink-3">{text}</span> : text);

/** How many were invited, and below what that earned and who invited this one. */
function Invited({ user, t, money }: Pick<UserColumnsOptions, 't' | 'money'> & { readonly user: User }) {
  const { aff_count: count, aff_history_quota: earned, inviter_id: inviter } = user;
  if (count === 0 && earned === 0 && inviter === 0) return nothing;
  return (
    <span className="inline-block py-1">
      {count === 0 && earned === 0 ? null : figure(count, grouped(count))}
      <span className="block text-[12px] leading-4 text-ink-3">
        {earned === 0 ? null : t('users.inviteEarned', { amount: money(earned) })}
        {earned === 0 || inviter === 0 ? null : ' · '}
        {inviter === 0 ? null : (
          <Link href={`/user/${inviter}`}>{t('users.invitedBy', { name: user.inviter_name ?? `#${inviter}` })}</Link>
        )}
      </span>
    </span>
  );
}

export function userColumns(options: UserColumnsOptions): readonly Column<User>[] {
  const { t, money } = options;
  return [
    {
      id: 'id',
      header: t('users.id'),
      number: true,
      order: 'id',
      from: 1024,
      cell: (row) => <span className="text-ink-3">{row.id}</span>,
    },
    {
      id: 'name',
      header: t('users.username'),
      key: true,
      order: 'username',
      cell: (row) => <Name user={row} {...options} />,
    },
    {
      id: 'group',
      header: t('users.group'),
      cell: (row) => <GroupMark name={row.group} />,
    },
    {
      id: 'role',
      header: t('users.role'),
      from: 1024,
      cell: (row) => (
        <span className={isAdmin(row) ? 'font-medium text-ink-1' : 'text-ink-3'}>
          {t(`users.${roleNames[row.role] ?? 'roleUnknown'}`)}
        </span>
      ),
    },
    { id: 'status', header: t('users.status'), cell: (row) => <UserStatus user={row} /> },
    {
      id: 'quota',
      header: t('users.quota'),
      number: true,
      order: 'quota',
      key: true,
      cell: ({ quota, used_quota: used }) =>
        quota <= 0 && used > 0 ? <span className="text-danger">{money(quota)}</span> : figure(quota, money(quota)),
    },
    {
      id: 'used',
      header: t('users.used'),
      number: true,
      order: 'used_quota',
      cell: (row) => (
        <span className="inline-flex items-center gap-2">
          {figure(row.used_quota, money(row.used_quota))}
          <UsedBar user={row} {...options} />
        </span>
      ),
    },
    {
      id: 'requests',
      header: t('users.requests'),
      number: true,
      order: 'request_count',
      from: 1024,
      cell: (row) => figure(row.request_count, grouped(row.request_count)),
    },
    {
      id: 'invited',
      header: t('users.invited'),
      number: true,
      order: 'aff_count',
      from: 1280,
      cell: (row) => <Invited user={row} {...options} />,
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => (row.DeletedAt !== null ? null : <UserActions row={row} {...options} />),
    },
  ];
}
