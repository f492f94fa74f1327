import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation } from 'wouter';
import type { Token } from '../../../server/contract/entities.ts';
import { shownKey } from '../../../server/contract/token-key.ts';
import { Empty } from '../../components/empty.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import { BulkBar } from '../../components/table/bulk-bar.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { dateTime, money } from '../../lib/format.ts';
import { undoable } from '../../lib/undo.ts';
import { useUrl } from '../../lib/url.ts';
import { KeyReveal } from './key-reveal.tsx';
import { TokenDrawer } from './token-drawer.tsx';

const statusLooks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad', 4: 'status status-bad' } as const;

export function TokensPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const url = useUrl();
  const [, navigate] = useLocation();
  const { page } = url;
  const [keyword, key] = [url.get('q'), url.get('key')];
  const pageSize = Number(url.get('size')) || rememberedSize();
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const [removingMany, setRemovingMany] = useState(false);
  const [removing, setRemoving] = useState<Token | null>(null);
  const [revealed, setRevealed] = useState<Token | null>(null);
  const searching = keyword !== '' || key !== '';
  const list = useQuery({
    queryKey: ['tokens', page, pageSize, keyword, key],
    queryFn: () =>
      searching ? call('token.search', { keyword, token: key }) : call('token.list', { p: page - 1, size: pageSize }),
    placeholderData: keepPreviousData,
  });
  const rows = list.data ?? [];
  const openId = Number(url.get('open')) || 0;
  const opened = useQuery({
    queryKey: ['tokens', 'one', openId],
    queryFn: () => call('token.get', { id: openId }),
    enabled: openId > 0,
  }).data;
  const isNew = url.get('open') === 'new' || url.get('new') !== '';
  const edit = (row: Token) => url.set('open', String(row.id));
  const closeDrawer = () => {
    url.set('new', '');
    url.set('open', '');
  };
  const refresh = () => client.invalidateQueries({ queryKey: ['tokens'] });
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
      await refresh();
    } catch (error) {
      toast.error(error instanceof Error ? error.message : String(error));
    }
  };
  const copyChosen = () => {
    const keys = rows.filter(({ id }) => chosen.has(id)).map((row) => `${row.name}    ${shownKey(row.key)}`);
    if (keys.length === 0) return toast.error(t('tokens.pickOne'));
    void copyOrShow(keys.join('\n'));
  };

  const columns: readonly Column<Token>[] = [
    {
      id: 'name',
      header: t('tokens.name'),
      key: true,
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    {
      id: 'status',
      header: t('tokens.status'),
      key: true,
      cell: (row) => (
        <span className={statusLooks[row.status as 1 | 2 | 3 | 4]}>
          {t(`tokens.s${row.status as 1 | 2 | 3 | 4}`)}
          {row.model_limits_enabled ? <span className="text-ink-3">{t('tokens.limited')}</span> : null}
        </span>
      ),
    },
    {
      id: 'remaining',
      header: t('tokens.remaining'),
      number: true,
      key: true,
      cell: (row) => (row.unlimited_quota ? t('tokens.unlimited') : money(row.remain_quota)),
    },
    {
      id: 'used',
      header: t('tokens.used'),
      number: true,
      sort: (row) => row.used_quota,
      cell: (row) => money(row.used_quota),
    },
    {
      id: 'created',
      header: t('tokens.created'),
      sort: (row) => row.created_time,
      cell: (row) => dateTime(row.created_time),
    },
    {
      id: 'expires',
      header: t('tokens.expires'),
      cell: (row) => (row.expired_time === -1 ? t('tokens.never') : dateTime(row.expired_time)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => (
        <span className="flex gap-1">
          <button type="button" className="button" onClick={() => copyOrShow(shownKey(row.key))}>
            <Icon name="copy" />
            {t('app.copy')}
          </button>
          <button
            type="button"
            className="button button-ghost"
            onClick={() => {
              const put = (status: number) => call('token.update', { id: row.id, status_only: true, status });
              void undoable({
                work: () => put(row.status === 1 ? 2 : 1),
                back: () => put(row.status === 1 ? 1 : 2),
                done: t('app.changed', { name: row.name }),
                refresh,
              });
            }}
          >
            {row.status === 1 ? t('app.disable') : t('app.enable')}
          </button>
          <button type="button" className="button button-ghost" onClick={() => edit(row)}>
            {t('app.edit')}
          </button>
          <button type="button" className="button button-ghost text-danger" onClick={() => setRemoving(row)}>
            {t('app.delete')}
          </button>
        </span>
      ),
    },
  ];

  return (
    <>
      <PageHead title={t('tokens.title')}>
        <button type="button" className="button" onClick={copyChosen}>
          {t('tokens.copyChosen')}
        </button>
        <button type="button" data-key="n" className="button button-primary" onClick={() => url.set('open', 'new')}>
          <Icon name="plus" />
          {t('tokens.add')}
        </button>
      </PageHead>
      <p className="mx-5 mb-3 rounded-2 bg-warning-soft px-3 py-2 text-warning">{t('tokens.banner')}</p>
      <DataTable
        caption={t('tokens.title')}
        rows={rows}
        columns={columns}
        loading={list.isPending}
        onOpen={edit}
        selection={{ chosen, onChange: setChosen }}
        storeKey="tokens-table-columns"
        place="tokens"
        bar={
          <>
            <input
              type="search"
              data-key="/"
              className="field h-7 w-44"
              placeholder={t('tokens.keyword')}
              aria-label={t('tokens.keyword')}
              value={keyword}
              onChange={(event) => url.set('q', event.target.value)}
            />
            <input
              type="search"
              className="field h-7 w-52"
              placeholder={t('tokens.byKey')}
              aria-label={t('tokens.byKey')}
              autoComplete="off"
              value={key}
              onChange={(event) => url.set('key', event.target.value)}
            />
          </>
        }
        empty={
          searching ? (
            <Empty text={t('tokens.none')}>
              <button type="button" className="button" onClick={() => navigate('/token')}>
                {t('app.clearFilters')}
              </button>
            </Empty>
          ) : (
            <Empty text={t('tokens.empty')} command="gateway token create --name my-key -q">
              <button type="button" className="button" onClick={() => url.set('open', 'new')}>
                {t('tokens.add')}
              </button>
            </Empty>
          )
        }
      />
      {searching ? null : (
        <Pager
          page={page}
          size={pageSize}
          total={null}
          count={rows.length}
          onPage={(next) => url.set('p', String(next))}
          onSize={(size) => url.set('size', String(size))}
        />
      )}
      <BulkBar selection={{ chosen, onChange: setChosen }} matching={new Set(rows.map(({ id }) => id))}>
        <button type="button" className="button button-ghost" onClick={copyChosen}>
          {t('tokens.copyChosen')}
        </button>
        <button type="button" className="button button-ghost text-danger" onClick={() => setRemovingMany(true)}>
          {t('app.delete')}
        </button>
      </BulkBar>
      {removingMany ? (
        <Confirm
          title={t('tokens.deleteManyTitle', { count: chosen.size })}
          text={t('tokens.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemovingMany(false)}
          onConfirm={() => {
            setRemovingMany(false);
            void attempt(() => call('token.delete_many', { ids: [...chosen] })).then(() => setChosen(new Set()));
          }}
        />
      ) : null}
      {isNew || opened !== undefined ? (
        <TokenDrawer
          key={opened?.id ?? 0}
          token={isNew ? null : (opened ?? null)}
          onClose={closeDrawer}
          onSaved={(token, fresh) => {
            closeDrawer();
            toast.success(fresh ? t('tokens.createdOk') : t('tokens.updatedOk'));
            if (fresh) setRevealed(token);
            void refresh();
          }}
        />
      ) : null}
      {removing === null ? null : (
        <Confirm
          title={t('tokens.deleteTitle', { name: removing.name })}
          text={t('tokens.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={() => {
            const { id } = removing;
            setRemoving(null);
            void attempt(() => call('token.delete', { id }));
          }}
        />
      )}
      {revealed === null ? null : <KeyReveal token={revealed} onClose={() => setRevealed(null)} onCopy={copyOrShow} />}
    </>
  );
}
