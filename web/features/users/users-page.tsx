import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { money } from '../../lib/format.ts';
import { undoable } from '../../lib/undo.ts';
import { useUrl } from '../../lib/url.ts';
import { UserDrawer } from './user-drawer.tsx';

const roleNames = { 1: 'role1', 10: 'role10', 100: 'role100' } as const;
type Action = 'promote' | 'demote' | 'disable' | 'enable' | 'delete';

export function UsersPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const [path, navigate] = useLocation();
  const [closing, setClosing] = useState<User | null>(null);
  const { page } = url;
  const pageSize = Number(url.get('size')) || rememberedSize();
  const [keyword, group] = [url.get('q'), url.get('group')];
  const editing = Number(/^\/user\/edit\/(\d+)$/.exec(path)?.[1] ?? 0);
  const edited = useQuery({
    queryKey: ['users', 'one', editing],
    queryFn: () => call('user.get', { id: editing }),
    enabled: editing > 0,
  }).data;
  const back = () => navigate(`/user${location.search}`);
  const edit = ({ id }: User) => navigate(`/user/edit/${id}${location.search}`);
  const groups = useQuery({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const list = useQuery({
    queryKey: ['users', page, pageSize, keyword, group],
    queryFn: () =>
      keyword === '' && group === ''
        ? call('user.list', { p: page, page_size: pageSize })
        : call('user.search', { keyword, group, p: page, page_size: pageSize }),
    placeholderData: keepPreviousData,
  });
  const manage = async (user: User, action: Action) => {
    await attempt(() => call('user.manage', { id: user.id, action }), t('users.done'));
    await client.invalidateQueries({ queryKey: ['users'] });
  };
  /** Two actions of which each takes the other back. */
  const exchange = ({ id, username }: User, action: Action, back: Action) =>
    undoable({
      work: () => call('user.manage', { id, action }),
      back: () => call('user.manage', { id, action: back }),
      done: `${username} · ${t('users.done')}`,
      refresh: () => client.invalidateQueries({ queryKey: ['users'] }),
    });

  const columns: readonly Column<User>[] = [
    { id: 'id', header: t('users.id'), number: true, sort: (row) => row.id, cell: (row) => row.id },
    {
      id: 'name',
      header: t('users.username'),
      key: true,
      cell: (row) => (
        <>
          <span className="font-medium text-ink-1">{row.username}</span>{' '}
          <span className="text-ink-3">{row.display_name === row.username ? '' : row.display_name}</span>
        </>
      ),
    },
    { id: 'group', header: t('users.group'), cell: (row) => row.group },
    {
      id: 'role',
      header: t('users.role'),
      cell: (row) => (
        <span className={row.role >= 100 ? 'text-danger' : row.role >= 10 ? 'text-warning' : 'text-ink-2'}>
          {t(`users.${roleNames[row.role as 1 | 10 | 100] ?? 'roleUnknown'}`)}
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
            {row.status === 1 ? t('users.active') : t('users.banned')}
          </span>
        ),
    },
    {
      id: 'quota',
      header: t('users.quota'),
      number: true,
      sort: (row) => row.quota,
      key: true,
      cell: (row) => money(row.quota),
    },
    {
      id: 'used',
      header: t('users.used'),
      number: true,
      sort: (row) => row.used_quota,
      cell: (row) => money(row.used_quota),
    },
    {
      id: 'requests',
      header: t('users.requests'),
      number: true,
      sort: (row) => row.request_count,
      cell: (row) => row.request_count,
    },
    {
      id: 'invited',
      header: t('users.invited'),
      number: true,
      sort: (row) => row.aff_count,
      cell: (row) => row.aff_count,
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) =>
        row.DeletedAt !== null ? null : (
          <span className="flex gap-1">
            <button type="button" className="button button-ghost" onClick={() => edit(row)}>
              {t('app.edit')}
            </button>
            <button
              type="button"
              className="button button-ghost"
              onClick={() =>
                row.status === 1 ? exchange(row, 'disable', 'enable') : exchange(row, 'enable', 'disable')
              }
            >
              {row.status === 1 ? t('users.ban') : t('app.enable')}
            </button>
            <button
              type="button"
              className="button button-ghost"
              onClick={() => (row.role >= 10 ? exchange(row, 'demote', 'promote') : exchange(row, 'promote', 'demote'))}
            >
              {row.role >= 10 ? t('users.demote') : t('users.promote')}
            </button>
            <button type="button" className="button button-ghost text-danger" onClick={() => setClosing(row)}>
              {t('users.close')}
            </button>
          </span>
        ),
    },
  ];

  return (
    <>
      <PageHead title={t('users.title')} count={list.data?.total}>
        <button
          type="button"
          data-key="n"
          className="button button-primary"
          onClick={() => navigate(`/user/edit${location.search}`)}
        >
          <Icon name="plus" />
          {t('users.add')}
        </button>
      </PageHead>
      <DataTable
        caption={t('users.title')}
        rows={list.data?.items ?? []}
        columns={columns}
        loading={list.isPending}
        storeKey="users-table-columns"
        place="users"
        bar={
          <>
            <input
              type="search"
              data-key="/"
              className="field h-7 w-56"
              placeholder={t('users.keyword')}
              aria-label={t('users.keyword')}
              value={keyword}
              onChange={(event) => url.set('q', event.target.value)}
            />
            <select
              className="field h-7 w-auto"
              aria-label={t('users.group')}
              value={group}
              onChange={(event) => url.set('group', event.target.value)}
            >
              <option value="">{t('users.anyGroup')}</option>
              {groups.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </>
        }
        onOpen={(row) => (row.DeletedAt === null ? edit(row) : undefined)}
        empty={
          <Empty text={t('users.none')} command="gateway user list">
            <button type="button" className="button" onClick={() => navigate('/user')}>
              {t('app.clearFilters')}
            </button>
          </Empty>
        }
      />
      <Pager
        page={page}
        size={pageSize}
        total={list.data?.total ?? 0}
        onPage={(next) => url.set('p', String(next))}
        onSize={(size) => url.set('size', String(size))}
      />
      {path === '/user/edit' || edited !== undefined ? (
        <UserDrawer
          key={path}
          user={edited ?? null}
          groups={groups}
          onClose={back}
          onSaved={() => {
            back();
            void client.invalidateQueries({ queryKey: ['users'] });
          }}
        />
      ) : null}
      {closing === null ? null : (
        <Confirm
          title={t('users.closeTitle', { name: closing.username })}
          text={t('users.closeText')}
          action={t('users.close')}
          onClose={() => setClosing(null)}
          onConfirm={() => {
            setClosing(null);
            void manage(closing, 'delete');
          }}
        />
      )}
    </>
  );
}
