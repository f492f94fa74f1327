import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Token } from '../../../server/contract/entities.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';
import { copyText, dateTime, money } from '../../lib/format.ts';
import { CopyFailed, KeyReveal } from './key-reveal.tsx';
import { TokenDrawer } from './token-drawer.tsx';

const pageSize = 20;
const statusLooks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad', 4: 'status status-bad' } as const;

export function TokensPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [page, setPage] = useState(0);
  const [keyword, setKeyword] = useState('');
  const [edited, setEdited] = useState<Token | 'new' | null>(null);
  const [removing, setRemoving] = useState<Token | null>(null);
  const [revealed, setRevealed] = useState<string | null>(null);
  const [uncopied, setUncopied] = useState<string | null>(null);
  const list = useQuery({
    queryKey: ['tokens', page, keyword],
    queryFn: () =>
      keyword === '' ? call('token.list', { p: page, size: pageSize }) : call('token.search', { keyword }),
    placeholderData: keepPreviousData,
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['tokens'] });
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
      await refresh();
    } catch (error) {
      toast.error(error instanceof Error ? error.message : String(error));
    }
  };
  const copy = async (key: string) => {
    if (await copyText(key)) toast.success(t('app.copied'));
    else setUncopied(key);
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
    { id: 'used', header: t('tokens.used'), number: true, cell: (row) => money(row.used_quota) },
    { id: 'created', header: t('tokens.created'), cell: (row) => dateTime(row.created_time) },
    {
      id: 'expires',
      header: t('tokens.expires'),
      cell: (row) => (row.expired_time === -1 ? t('tokens.never') : dateTime(row.expired_time)),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      cell: (row) => (
        <span className="flex gap-1">
          <button type="button" className="button" onClick={() => copy(row.key)}>
            <Icon name="copy" />
            {t('app.copy')}
          </button>
          <button
            type="button"
            className="button button-ghost"
            onClick={() =>
              attempt(() => call('token.update', { id: row.id, status_only: true, status: row.status === 1 ? 2 : 1 }))
            }
          >
            {row.status === 1 ? t('app.disable') : t('app.enable')}
          </button>
          <button type="button" className="button button-ghost" onClick={() => setEdited(row)}>
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
        <input
          type="search"
          className="field w-44"
          placeholder={t('app.search')}
          aria-label={t('app.search')}
          value={keyword}
          onChange={(event) => setKeyword(event.target.value)}
        />
        <button type="button" className="button button-primary" onClick={() => setEdited('new')}>
          <Icon name="plus" />
          {t('tokens.add')}
        </button>
      </PageHead>
      <p className="mx-5 mb-3 rounded-2 bg-warning-soft px-3 py-2 text-warning">{t('tokens.banner')}</p>
      <DataTable
        caption={t('tokens.title')}
        rows={list.data ?? []}
        columns={columns}
        loading={list.isPending}
        onOpen={setEdited}
        empty={
          <>
            <p className="mb-2">{t('tokens.empty')}</p>
            <code className="font-mono text-[12px] text-ink-3">gateway token create --name my-key -q</code>
          </>
        }
      />
      {keyword === '' && (page > 0 || (list.data?.length ?? 0) === pageSize) ? (
        <div className="flex gap-2 px-5 py-3">
          <button type="button" className="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
            {t('app.previous')}
          </button>
          <button
            type="button"
            className="button"
            disabled={(list.data?.length ?? 0) < pageSize}
            onClick={() => setPage(page + 1)}
          >
            {t('app.next')}
          </button>
        </div>
      ) : null}
      {edited === null ? null : (
        <TokenDrawer
          token={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={(token, fresh) => {
            setEdited(null);
            toast.success(fresh ? t('tokens.createdOk') : t('tokens.updatedOk'));
            if (fresh) setRevealed(token.key);
            void refresh();
          }}
        />
      )}
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
      {revealed === null ? null : (
        <KeyReveal token={revealed} onClose={() => setRevealed(null)} onCopy={() => copy(revealed)} />
      )}
      {uncopied === null ? null : <CopyFailed text={uncopied} onClose={() => setUncopied(null)} />}
    </>
  );
}
