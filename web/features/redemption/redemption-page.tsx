import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Redemption } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime, money } from '../../lib/format.ts';
import { undoable } from '../../lib/undo.ts';
import { useUrl } from '../../lib/url.ts';
import { RedemptionDrawer } from './redemption-drawer.tsx';

const looks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad' } as const;

export function RedemptionPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const [edited, setEdited] = useState<Redemption | 'new' | null>(null);
  const [removing, setRemoving] = useState<Redemption | null>(null);
  const [picked, setPicked] = useState<ReadonlySet<number>>(new Set());
  const { page } = url;
  const pageSize = Number(url.get('size')) || rememberedSize();
  const keyword = url.get('q');
  const list = useQuery({
    queryKey: ['redemptions', page, pageSize, keyword],
    queryFn: () =>
      keyword === ''
        ? call('redemption.list', { p: page, page_size: pageSize })
        : call('redemption.search', { keyword, p: page, page_size: pageSize }),
    placeholderData: keepPreviousData,
  });
  const rows = list.data?.items ?? [];
  const refresh = () => client.invalidateQueries({ queryKey: ['redemptions'] });
  const copyPicked = () => {
    const keys = rows.filter((row) => picked.has(row.id)).map((row) => `${row.name}    ${row.key}`);
    if (keys.length === 0) return toast.error(t('redemption.pickOne'));
    void copyOrShow(keys.join('\n'));
  };
  const columns: readonly Column<Redemption>[] = [
    { id: 'id', header: t('users.id'), number: true, cell: (row) => row.id },
    {
      id: 'name',
      header: t('redemption.name'),
      key: true,
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    {
      id: 'status',
      header: t('redemption.status'),
      key: true,
      cell: (row) => (
        <span className={looks[row.status as 1 | 2 | 3]}>{t(`redemption.s${row.status as 1 | 2 | 3}`)}</span>
      ),
    },
    { id: 'quota', header: t('redemption.quota'), number: true, key: true, cell: (row) => money(row.quota) },
    { id: 'created', header: t('redemption.created'), cell: (row) => dateTime(row.created_time) },
    {
      id: 'used',
      header: t('redemption.usedBy'),
      cell: (row) => (row.used_user_id === 0 ? t('redemption.nobody') : row.used_user_id),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      cell: (row) => (
        <span className="flex gap-1">
          <button type="button" className="button" onClick={() => copyOrShow(row.key)}>
            <Icon name="copy" />
            {t('app.copy')}
          </button>
          {row.status === 3 ? null : (
            <button
              type="button"
              className="button button-ghost"
              onClick={() => {
                const put = (status: number) => call('redemption.update', { id: row.id, status_only: true, status });
                void undoable({
                  work: () => put(row.status === 1 ? 2 : 1),
                  back: () => put(row.status),
                  done: t('app.changed', { name: row.name }),
                  refresh,
                });
              }}
            >
              {row.status === 1 ? t('app.disable') : t('app.enable')}
            </button>
          )}
          {row.status === 1 ? (
            <button type="button" className="button button-ghost" onClick={() => setEdited(row)}>
              {t('app.edit')}
            </button>
          ) : null}
          <button type="button" className="button button-ghost text-danger" onClick={() => setRemoving(row)}>
            {t('app.delete')}
          </button>
        </span>
      ),
    },
  ];

  return (
    <>
      <PageHead title={t('redemption.title')} count={list.data?.total}>
        <button type="button" className="button" onClick={copyPicked}>
          {t('redemption.copyPicked')}
        </button>
        <button type="button" data-key="n" className="button button-primary" onClick={() => setEdited('new')}>
          <Icon name="plus" />
          {t('redemption.add')}
        </button>
      </PageHead>
      <DataTable
        caption={t('redemption.title')}
        rows={rows}
        columns={columns}
        loading={list.isPending}
        selection={{ chosen: picked, onChange: setPicked }}
        storeKey="redemptions-table-columns"
        place="redemptions"
        bar={
          <input
            type="search"
            data-key="/"
            className="field h-7 w-56"
            placeholder={t('redemption.keyword')}
            aria-label={t('redemption.keyword')}
            value={keyword}
            onChange={(event) => url.set('q', event.target.value)}
          />
        }
        onOpen={(row) => (row.status === 1 ? setEdited(row) : undefined)}
        empty={
          keyword === '' ? (
            <Empty text={t('redemption.empty')} command="gateway redemption create --quota 5usd --count 10 --name gift">
              <button type="button" className="button" onClick={() => setEdited('new')}>
                {t('redemption.add')}
              </button>
            </Empty>
          ) : (
            <Empty text={t('redemption.none')}>
              <button type="button" className="button" onClick={() => url.set('q', '')}>
                {t('app.clearFilters')}
              </button>
            </Empty>
          )
        }
      />
      <Pager
        page={page}
        size={pageSize}
        total={list.data?.total ?? 0}
        onPage={(next) => url.set('p', String(next))}
        onSize={(size) => url.set('size', String(size))}
      />
      {edited === null ? null : (
        <RedemptionDrawer
          redemption={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={(codes) => {
            setEdited(null);
            toast.success(codes === null ? t('redemption.updatedOk') : t('redemption.createdOk'));
            if (codes !== null) void copyOrShow(codes.join('\n'));
            void refresh();
          }}
        />
      )}
      {removing === null ? null : (
        <Confirm
          title={t('redemption.deleteTitle', { name: removing.name })}
          text={t('redemption.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const { id } = removing;
            setRemoving(null);
            await attempt(() => call('redemption.delete', { id }));
            await refresh();
          }}
        />
      )}
    </>
  );
}
