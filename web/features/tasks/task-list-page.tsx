/** Drawings and tasks: the same page with other columns. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { Empty } from '../../components/empty.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { Icon } from '../../components/icon.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { sizeIn } from '../../components/pager.tsx';
import { RangeControl, useRange } from '../../components/range-control.tsx';
import type { Column } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { currentLanguage } from '../../lib/i18n.ts';
import { useNarrow } from '../../lib/narrow.ts';
import type { DefaultRange } from '../../lib/range.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';

export interface TaskRow {
  readonly id: number;
  /** '' = none. */
  readonly fail_reason: string;
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
  ) => Promise<{ readonly items: readonly Row[]; readonly total: number }>;
  readonly detail: (row: Row) => { readonly title: string; readonly body: React.ReactNode };
  readonly banner?: React.ReactNode;
  readonly place: 'drawings' | 'tasks';
  /** Shown at first. */
  readonly initial: DefaultRange;
}

export function TaskListPage<Row extends TaskRow>({
  title,
  idLabel,
  columns,
  load,
  detail,
  banner,
  initial,
  place,
}: TaskListPageProps<Row>) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const admin = isAdmin(useUser());
  const client = useQueryClient();
  const url = useUrl();
  const { page } = url;
  const { from, to } = useRange(initial);
  const [open, setOpen] = useState<Row | null>(null);
  const size = sizeIn(url.get('size'));
  const [id, channel] = [url.get('id'), url.get('channel')];
  const noChannel = channel !== '' && !/^\d{1,15}$/.test(channel);
  const backwards = from !== 0 && to !== 0 && from > to;
  const list = useList({
    queryKey: ['tasks', title, admin, id, channel, from, to, page, size],
    queryFn: async () =>
      // What cannot be an id finds nothing, and the page says so.
      noChannel
        ? { items: [], total: 0 }
        : load(admin, { id, channel: Number(channel) || 0, from, to }, page - 1, size),
    refetchInterval: 10_000,
  });
  const total = list.data?.total;
  const noneInTime = total === 0 && id === '' && channel === '' && !backwards;
  // Where this time has none, another may: only then all time is read.
  const ever = useOptionalRead({
    queryKey: ['tasks', title, admin, 'ever'],
    queryFn: async () => (await load(admin, { id: '', channel: 0, from: 0, to: 0 }, 0, 1)).total,
    enabled: noneInTime,
  }).data;
  const never = noneInTime && ever === 0;
  // A page that has no bar in the end does not read what stands in it.
  const hasBar = total !== undefined && !(noneInTime && (ever ?? 0) === 0);
  const selected = open === null ? null : detail(open);
  return (
    <ListPage
      title={title}
      count={total}
      pager={{
        page,
        size,
        total,
        onPage: (next) => url.set('p', String(next)),
        onSize: (next) => url.set('size', String(next)),
      }}
      over={
        selected === null ? null : (
          <Sheet title={selected.title} onClose={() => setOpen(null)}>
            {selected.body}
          </Sheet>
        )
      }
    >
      {admin ? banner : null}
      <DataTable
        caption={title}
        rows={list.data?.items ?? []}
        columns={columns(admin)}
        list={list}
        onOpen={setOpen}
        note={narrow ? ({ fail_reason: reason }) => storedIn(reason, currentLanguage()) || null : undefined}
        storeKey={`${place}-table-columns`}
        place={hasBar ? place : undefined}
        blank={never}
        bar={
          <FilterBar
            filters={[
              ...(admin ? [{ name: 'channel', label: t('tasks.channel') }] : []),
              { name: 'id', label: idLabel },
            ]}
          >
            <RangeControl initial={initial} />
            <button
              type="button"
              className="button button-ghost button-icon max-sm:w-9"
              aria-label={t('tasks.query')}
              title={t('tasks.query')}
              onClick={() => void client.invalidateQueries({ queryKey: ['tasks', title] })}
            >
              <Icon name="refresh" />
            </button>
          </FilterBar>
        }
        empty={
          never ? (
            <Empty text={t(place === 'drawings' ? 'tasks.noDrawings' : 'tasks.noTasks')} />
          ) : (
            <Empty text={t(noChannel ? 'tasks.channelNumber' : backwards ? 'logs.backwards' : 'tasks.empty')}>
              {ever === undefined || ever === 0 ? null : (
                <button type="button" className="button" onClick={() => url.put({ range: 'all', from: '', to: '' })}>
                  {t('logs.allTime')}
                </button>
              )}
            </Empty>
          )
        }
      />
    </ListPage>
  );
}
