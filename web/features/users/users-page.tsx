/** Everybody who has an account here. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { User } from '../../../server/contract/entities.ts';
import { Role } from '../../../server/contract/enum.ts';
import { userSorts } from '../../../server/contract/sort.ts';
import { AddButton } from '../../components/add-button.tsx';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SearchField } from '../../components/filters.tsx';
import { Icon } from '../../components/icon.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { usePageState } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call, isMissing } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { useMoney } from '../../lib/money.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { roleLabel } from '../../lib/session.ts';
import { sortIn, type Url, useUrl } from '../../lib/url.ts';
import { MissingUser } from './missing-user.tsx';
import { userColumns } from './user-columns.tsx';
import { UserDrawer } from './user-drawer.tsx';

const statuses = [
  ['1', 'active'],
  ['2', 'banned'],
] as const;
const roles = [Role.user, Role.admin, Role.root] as const;
/** Who spends most is who is looked for. */
const initialSort = '-used_quota';
/** As the address has it. */
const numberIn = (text: string): number | undefined => (/^\d{1,3}$/.test(text) ? Number(text) : undefined);

function UserFilters({
  url,
  groups,
  onQuery,
}: {
  readonly url: Url;
  readonly groups: readonly string[];
  readonly onQuery: () => void;
}) {
  const { t } = useTranslation();
  return (
    <>
      <FilterBar
        filters={[
          {
            name: 'status',
            label: t('users.status'),
            options: statuses.map(([value, name]) => [value, t(`users.${name}`)]),
          },
          { name: 'role', label: t('users.role'), options: roles.map((role) => [String(role), t(roleLabel(role))]) },
          { name: 'group', label: t('users.group'), options: groups.map((name) => [name, name]) },
        ]}
      >
        <SearchField
          slash
          className="h-7 w-56 sm:max-lg:w-40"
          label={t('users.keyword')}
          value={url.get('q')}
          onChange={(value) => url.set('q', value)}
        />
      </FilterBar>
      <button
        type="button"
        className="button button-ghost button-icon max-sm:w-9"
        aria-label={t('users.query')}
        title={t('users.query')}
        onClick={onQuery}
      >
        <Icon name="refresh" />
      </button>
    </>
  );
}

export function UsersPage() {
  const { t } = useTranslation();
  const money = useMoney();
  const client = useQueryClient();
  const url = useUrl();
  const [path, navigate] = useLocation();
  const [closing, setClosing] = useState<User | null>(null);
  const pageState = usePageState(10);
  const { page, size } = pageState;
  const [keyword, group] = [url.get('q'), url.get('group')];
  const [role, status] = [numberIn(url.get('role')), numberIn(url.get('status'))];
  const sort = sortIn(url, userSorts) ?? initialSort;
  const editing = Number(/^\/user\/edit\/(\d+)$/.exec(path)?.[1] ?? 0);
  const one = useOptionalRead({
    queryKey: ['users', 'one', editing],
    queryFn: () => call('user.get', { id: editing }),
    enabled: editing > 0,
  });
  const edited = one.data;
  const back = () => navigate(`/user${location.search}`);
  const edit = ({ id }: User) => navigate(`/user/edit/${id}${location.search}`);
  const groups = useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? [];
  const list = useList({
    queryKey: ['users', page, size, keyword, group, role, status, sort],
    queryFn: () =>
      keyword === '' && group === '' && role === undefined && status === undefined
        ? call('user.list', { p: page, page_size: size, sort })
        : call('user.search', { keyword, group, role, status, p: page, page_size: size, sort }),
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['users'] });
  const close = async ({ id }: User) => {
    await attempt(() => call('user.manage', { id, action: 'delete' }), t('users.done'));
    await refresh();
  };

  if (editing > 0 && isMissing(one.error)) return <MissingUser id={editing} text={one.error.message} />;
  return (
    <ListPage
      title={t('users.title')}
      count={list.data?.total}
      actions={<AddButton label={t('users.add')} onClick={() => navigate(`/user/edit${location.search}`)} />}
      pager={{ ...pageState, total: list.data?.total }}
      over={
        <>
          {path === '/user/edit' || edited !== undefined ? (
            <UserDrawer
              key={path}
              user={edited ?? null}
              groups={groups}
              onClose={back}
              onSaved={() => {
                // A new user has spent nothing: the newest first, so that it is seen.
                if (edited === undefined) navigate('/user?sort=-id');
                else back();
                void refresh();
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
                void close(closing);
              }}
            />
          )}
        </>
      }
    >
      <DataTable
        caption={t('users.title')}
        rows={list.data?.items ?? []}
        columns={userColumns({ t, money, refresh, onEdit: edit, onClose: setClosing })}
        list={list}
        storeKey="users-table-columns"
        initialSort={initialSort}
        place="users"
        bar={<UserFilters url={url} groups={groups} onQuery={() => void refresh()} />}
        onOpen={(row) => (row.DeletedAt === null ? navigate(`/user/${row.id}`) : undefined)}
        empty={
          <Empty text={t('users.none')}>
            <button type="button" className="button" onClick={() => navigate('/user')}>
              {t('app.clearFilters')}
            </button>
          </Empty>
        }
      />
    </ListPage>
  );
}
