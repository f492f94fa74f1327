import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import type { Log } from '../../../server/contract/entities.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';
import { dateTime, money } from '../../lib/format.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { LogDrawer } from './log-drawer.tsx';

const pageSize = 50;
const kinds = [1, 2, 3, 4, 5] as const;

/** Under 101 s green, under 300 s orange, else red. */
const timeLook = (seconds: number): string =>
  seconds < 101 ? 'text-success' : seconds < 300 ? 'text-warning' : 'text-danger';

export function LogsPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const [query, setQuery] = useSearchParams();
  const [open, setOpen] = useState<Log | null>(null);
  const page = Math.max(1, Number(query.get('p') ?? 1) || 1);
  const type = Number(query.get('type') ?? 0) || 0;
  const filters = { type, model_name: query.get('model') ?? '', token_name: query.get('token') ?? '' };
  const filtered = type !== 0 || filters.model_name !== '' || filters.token_name !== '';
  const set = (name: string, value: string) =>
    setQuery(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === '' || value === '0') next.delete(name);
        else next.set(name, value);
        if (name !== 'p') next.delete('p');
        return next;
      },
      { replace: true },
    );
  const list = useQuery({
    queryKey: ['logs', admin, page, filters],
    queryFn: () => call(admin ? 'log.list' : 'log.self', { p: page, page_size: pageSize, ...filters }),
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 ? 5000 : false,
  });
  const stat = useQuery({
    queryKey: ['log-stat', admin, filters],
    queryFn: () => call(admin ? 'log.stat' : 'log.self_stat', filters),
    refetchInterval: 5000,
  }).data;

  const columns: readonly Column<Log>[] = [
    { id: 'time', header: t('logs.time'), key: true, cell: (row) => dateTime(row.created_at) },
    ...(admin
      ? [
          {
            id: 'channel',
            header: t('logs.channel'),
            cell: (row: Log) => (row.channel === 0 ? '' : `${row.channel} ${row.channel_name}`),
          },
          { id: 'user', header: t('logs.user'), cell: (row: Log) => row.username },
        ]
      : []),
    { id: 'token', header: t('logs.token'), cell: (row) => row.token_name },
    {
      id: 'type',
      header: t('logs.type'),
      cell: (row) => (
        <span className={row.type === 5 ? 'text-danger' : 'text-ink-2'}>
          {t(`logs.t${row.type as 1 | 2 | 3 | 4 | 5}`)}
        </span>
      ),
    },
    {
      id: 'model',
      header: t('logs.model'),
      key: true,
      cell: (row) => <span className="font-medium text-ink-1">{row.model_name}</span>,
    },
    {
      id: 'seconds',
      header: t('logs.seconds'),
      cell: (row) => (
        <>
          <span className={timeLook(row.use_time)}>{row.use_time} s</span>{' '}
          <span className="text-ink-3">{row.is_stream ? t('logs.stream') : t('logs.whole')}</span>
        </>
      ),
    },
    { id: 'prompt', header: t('logs.prompt'), number: true, cell: (row) => row.prompt_tokens },
    { id: 'completion', header: t('logs.completion'), number: true, cell: (row) => row.completion_tokens },
    { id: 'cost', header: t('logs.cost'), number: true, key: true, cell: (row) => money(row.quota) },
  ];

  return (
    <>
      <PageHead title={t('logs.title')} count={list.data?.total}>
        <span className="rounded-2 bg-sunken px-2 py-1 text-[12px]">
          {t('logs.quota')} <b className="font-semibold">{money(stat?.quota ?? 0)}</b>
        </span>
        <span className="rounded-2 bg-sunken px-2 py-1 text-[12px]">RPM {stat?.rpm ?? 0}</span>
        <span className="rounded-2 bg-sunken px-2 py-1 text-[12px]">TPM {stat?.tpm ?? 0}</span>
      </PageHead>
      <div className="flex flex-wrap gap-2 px-5 pb-3">
        <select
          className="field w-32"
          aria-label={t('logs.type')}
          value={type}
          onChange={(event) => set('type', event.target.value)}
        >
          <option value={0}>{t('logs.all')}</option>
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {t(`logs.t${kind}`)}
            </option>
          ))}
        </select>
        <input
          className="field w-44"
          placeholder={t('logs.model')}
          aria-label={t('logs.model')}
          value={filters.model_name}
          onChange={(event) => set('model', event.target.value)}
        />
        <input
          className="field w-44"
          placeholder={t('logs.token')}
          aria-label={t('logs.token')}
          value={filters.token_name}
          onChange={(event) => set('token', event.target.value)}
        />
      </div>
      <DataTable
        caption={t('logs.title')}
        rows={list.data?.items ?? []}
        columns={columns}
        loading={list.isPending}
        onOpen={setOpen}
        empty={<p>{filtered ? t('logs.none') : t('logs.empty')}</p>}
      />
      {page > 1 || (list.data?.total ?? 0) > pageSize ? (
        <div className="flex gap-2 px-5 py-3">
          <button type="button" className="button" disabled={page === 1} onClick={() => set('p', String(page - 1))}>
            {t('app.previous')}
          </button>
          <button
            type="button"
            className="button"
            disabled={(list.data?.items.length ?? 0) < pageSize}
            onClick={() => set('p', String(page + 1))}
          >
            {t('app.next')}
          </button>
        </div>
      ) : null}
      {open === null ? null : <LogDrawer log={open} onClose={() => setOpen(null)} />}
    </>
  );
}
