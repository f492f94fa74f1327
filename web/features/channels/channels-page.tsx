import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Channel } from '../../../server/contract/entities.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';
import { money } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { ChannelDrawer } from './channel-drawer.tsx';

const statusLooks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad' } as const;

/** Up to 1 s green, 3 s and 5 s in between, above red; the number is there for those who do not see colours. */
function responseLook(ms: number): string {
  if (ms <= 1000) return 'text-success';
  return ms <= 5000 ? 'text-warning' : 'text-danger';
}

export function ChannelsPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [keyword, setKeyword] = useState('');
  const [edited, setEdited] = useState<Channel | 'new' | null>(null);
  const [removing, setRemoving] = useState<Channel | null>(null);
  const [testing, setTesting] = useState<number | null>(null);
  const types =
    useQuery({ queryKey: ['channel-types'], queryFn: () => call('channel.types'), staleTime: Number.POSITIVE_INFINITY })
      .data ?? [];
  const list = useQuery({
    queryKey: ['channels', keyword],
    queryFn: () =>
      keyword === '' ? call('channel.list', { p: 0, page_size: 1000 }) : call('channel.search', { keyword }),
    placeholderData: keepPreviousData,
  });
  const refresh = () => client.invalidateQueries({ queryKey: ['channels'] });
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      toast.error(error instanceof Error ? error.message : String(error));
    }
    await refresh();
  };
  const test = (row: Channel) =>
    attempt(async () => {
      setTesting(row.id);
      try {
        const { success, message, time } = await call('channel.test', { id: row.id });
        if (success) toast.success(t('channels.testOk', { name: row.name, time: time.toFixed(2) }));
        else toast.error(message);
      } finally {
        setTesting(null);
      }
    });
  const typeName = (type: number): string =>
    types.find((one) => one.type === type)?.[currentLanguage()] ?? String(type);

  const columns: readonly Column<Channel>[] = [
    { id: 'id', header: 'ID', number: true, cell: (row) => row.id },
    {
      id: 'name',
      header: t('channels.name'),
      key: true,
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    { id: 'type', header: t('channels.type'), cell: (row) => typeName(row.type) },
    {
      id: 'status',
      header: t('channels.status'),
      key: true,
      cell: (row) => (
        <span className={statusLooks[row.status as 1 | 2 | 3]}>{t(`channels.s${row.status as 1 | 2 | 3}`)}</span>
      ),
    },
    { id: 'group', header: t('channels.group'), cell: (row) => row.group },
    {
      id: 'response',
      header: t('channels.response'),
      number: true,
      key: true,
      cell: (row) =>
        row.response_time === 0 ? (
          <span className="text-ink-3">{t('channels.untested')}</span>
        ) : (
          <span className={responseLook(row.response_time)}>{(row.response_time / 1000).toFixed(2)} s</span>
        ),
    },
    { id: 'used', header: t('channels.used'), number: true, cell: (row) => money(row.used_quota) },
    { id: 'priority', header: t('channels.priority'), number: true, cell: (row) => row.priority },
    { id: 'weight', header: t('channels.weight'), number: true, cell: (row) => row.weight },
    {
      id: 'actions',
      header: t('app.actions'),
      cell: (row) => (
        <span className="flex gap-1">
          <button type="button" className="button" disabled={testing !== null} onClick={() => test(row)}>
            {testing === row.id ? t('channels.testing') : t('channels.test')}
          </button>
          <button
            type="button"
            className="button button-ghost"
            onClick={() => attempt(() => call('channel.update', { id: row.id, status: row.status === 1 ? 2 : 1 }))}
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
      <PageHead title={t('channels.title')} count={list.data?.length}>
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
          {t('channels.add')}
        </button>
      </PageHead>
      <DataTable
        caption={t('channels.title')}
        rows={list.data ?? []}
        columns={columns}
        loading={list.isPending}
        onOpen={setEdited}
        empty={
          <>
            <p className="mb-2">{t('channels.empty')}</p>
            <code className="font-mono text-[12px] text-ink-3">
              gateway channel add --type practice --name try --key-stdin
            </code>
          </>
        }
      />
      {edited === null ? null : (
        <ChannelDrawer
          channel={edited === 'new' ? null : edited}
          types={types}
          onClose={() => setEdited(null)}
          onSaved={(fresh) => {
            setEdited(null);
            toast.success(fresh ? t('channels.createdOk') : t('channels.updatedOk'));
            void refresh();
          }}
        />
      )}
      {removing === null ? null : (
        <Confirm
          title={t('channels.deleteTitle', { name: removing.name })}
          text={t('channels.deleteText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={() => {
            const { id } = removing;
            setRemoving(null);
            void attempt(() => call('channel.delete', { id }));
          }}
        />
      )}
    </>
  );
}
