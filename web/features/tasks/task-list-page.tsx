/** Drawings and tasks: the same page with other columns. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { Drawer } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, sizeIn } from '../../components/pager.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { SavedFilters } from '../../components/table/saved-filters.tsx';
import { useList } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';

export interface TaskRow {
  readonly id: number;
}

export interface TaskListPageProps<Row extends TaskRow> {
  readonly title: string;
  readonly idLabel: string;
  readonly columns: (admin: boolean) => readonly Column<Row>[];
  /** @param from @param to epoch seconds, 0 = open. @param page 0-based. */
  readonly load: (
    admin: boolean,
    filter: { readonly id: string; readonly channel: number; readonly from: number; readonly to: number },
    page: number,
    pageSize: number,
  ) => Promise<readonly Row[]>;
  readonly detail: (row: Row) => { readonly title: string; readonly body: React.ReactNode };
  readonly banner?: React.ReactNode;
  readonly place: 'drawings' | 'tasks';
  /** Window shown at first, as the inputs spell it; '' = open. */
  readonly window: { readonly from: string; readonly to: string };
}

const seconds = (text: string): number => (text === '' ? 0 : Math.floor(new Date(text).getTime() / 1000));

const two = (value: number): string => String(value).padStart(2, '0');
/** As a datetime-local input spells it. */
export const spelled = (at: Date): string =>
  `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;

export function TaskListPage<Row extends TaskRow>({
  title,
  idLabel,
  columns,
  load,
  detail,
  banner,
  window,
  place,
}: TaskListPageProps<Row>) {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const client = useQueryClient();
  const [query, setQuery] = useSearchParams();
  const [open, setOpen] = useState<Row | null>(null);
  const page = Math.max(1, Number(query.get('p') ?? 1) || 1);
  const size = sizeIn(query.get('size') ?? '');
  const [id, channel] = [query.get('id') ?? '', query.get('channel') ?? ''];
  const [from, to] = [query.get('from') ?? window.from, query.get('to') ?? window.to];
  const noChannel = channel !== '' && !/^\d{1,15}$/.test(channel);
  const backwards = from !== '' && to !== '' && seconds(from) > seconds(to);
  const set = (name: string, value: string) =>
    setQuery(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === '' && name !== 'from' && name !== 'to') next.delete(name);
        else next.set(name, value);
        if (name !== 'p') next.delete('p');
        return next;
      },
      { replace: true },
    );
  const list = useList({
    queryKey: ['tasks', title, admin, id, channel, from, to, page, size],
    queryFn: async () =>
      // What cannot be an id finds nothing, and the page says so.
      noChannel
        ? []
        : load(admin, { id, channel: Number(channel) || 0, from: seconds(from), to: seconds(to) }, page - 1, size),
    refetchInterval: 10_000,
  });
  const field = (name: string, label: string, value: string, type = 'text') => (
    <input
      type={type}
      className={`field ${type === 'text' ? 'w-40' : 'w-52'}`}
      placeholder={label}
      aria-label={label}
      value={value}
      onChange={(event) => set(name, event.target.value)}
    />
  );
  const shown = open === null ? null : detail(open);
  return (
    <>
      <PageHead title={title} />
      {admin ? banner : null}
      <div className="flex flex-wrap gap-2 px-5 pb-3">
        {admin ? field('channel', t('tasks.channel'), channel) : null}
        {field('id', idLabel, id)}
        {field('from', t('tasks.from'), from, 'datetime-local')}
        {field('to', t('tasks.to'), to, 'datetime-local')}
        <button
          type="button"
          className="button"
          onClick={() => void client.invalidateQueries({ queryKey: ['tasks', title] })}
        >
          {t('tasks.query')}
        </button>
        <span className="ml-auto">
          <SavedFilters place={place} />
        </span>
      </div>
      <DataTable
        caption={title}
        rows={list.data ?? []}
        columns={columns(admin)}
        list={list}
        onOpen={setOpen}
        empty={
          <Empty
            text={t(noChannel ? 'tasks.channelNumber' : backwards ? 'logs.backwards' : 'tasks.empty')}
            command={`gateway ${place === 'tasks' ? 'task' : 'drawing'} list`}
          />
        }
      />
      <Pager
        page={page}
        size={size}
        total={list.data === undefined ? undefined : null}
        count={list.data?.length ?? 0}
        onPage={(to) => set('p', String(to))}
        onSize={(to) => set('size', String(to))}
      />
      {shown === null ? null : (
        <Drawer title={shown.title} onClose={() => setOpen(null)}>
          {shown.body}
        </Drawer>
      )}
    </>
  );
}
