/** The usage log: how many, when, of what; rows that explain themselves, new ones as they come. */

import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { logSorts } from '../../../server/contract/sort.ts';
import { FailureNote } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, sizeIn } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { useMoney } from '../../lib/money.ts';
import { useWide } from '../../lib/narrow.ts';
import { rangeQuery } from '../../lib/range.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { sortIn, useUrl } from '../../lib/url.ts';
import { ConversationPanel } from './conversation-panel.tsx';
import { FilterSidebar } from './filter-sidebar.tsx';
import { LogBar } from './log-bar.tsx';
import { logColumns, maxDurationOf } from './log-columns.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { filtersIn, isBackwards } from './log-filters.ts';
import { ExportMenu, LiveButton, LogTotals } from './log-head.tsx';
import { NoLogs } from './no-logs.tsx';
import { useCounts } from './use-counts.ts';
import { useLogs } from './use-logs.ts';

const Histogram = lazy(async () => ({ default: (await import('./histogram.tsx')).Histogram }));

const liveMs = 3000;
/** Counts cost the server more than a page of rows. */
const countsMs = 15_000;
/** Of the histogram and its times. */
const histogramHeight = 72;

/** The row whose id, or whose request's id, the address names, on this page or not. */
function useOpened(id: string, rows: readonly Log[], admin: boolean) {
  const isIt = (row: Log | undefined): row is Log =>
    row !== undefined && (String(row.id) === id || row.request_id === id);
  const here = rows.find(isIt);
  const last = useRef<Log | undefined>(undefined);
  const { data: read, failure } = useList({
    queryKey: ['logs', 'one', admin, id],
    queryFn: () => call(admin ? 'log.get' : 'log.self_get', { ref: id }),
    enabled: id !== '' && here === undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const found = here ?? read;
  useEffect(() => {
    last.current = found;
  }, [found]);
  // A newer page may no longer hold the row that is being read.
  const open = id === '' ? undefined : (found ?? (isIt(last.current) ? last.current : undefined));
  return { open, failure: id === '' || open !== undefined ? null : failure };
}

export function LogsPage() {
  const { t } = useTranslation();
  const user = useUser();
  const admin = isAdmin(user);
  const money = useMoney();
  const url = useUrl();
  const wide = useWide();
  const { page } = url;
  const openId = url.get('open');
  const [held, setHeld] = useState(false);
  const size = url.get('size') === 'all' ? null : sizeIn(url.get('size'));
  const follows = url.get('live') !== 'off';
  const live = follows && size !== null && page === 1 && !held && openId === '';
  const filters = filtersIn(url, admin);
  const { start_timestamp: _from, end_timestamp: _to, ...others } = filters;
  const narrowed = Object.values(others).some(
    (value) => value !== '' && value !== 0 && !(Array.isArray(value) && value.length === 0),
  );
  const filtered = narrowed || url.get('range') !== 'all';
  const { rows, total, list, onEnd } = useLogs({
    admin,
    filters,
    sort: sortIn(url, logSorts),
    page,
    size,
    refetchInterval: live ? liveMs : false,
  });
  const counts = useCounts({ admin, filters, refetchInterval: live ? countsMs : false });
  const maxMs = maxDurationOf(rows);
  const id = user?.id ?? 0;
  const columns = useMemo(() => logColumns({ t, money, reader: { id, admin }, maxMs }), [t, admin, id, money, maxMs]);
  // Rows of errors and top-ups spend nothing: sums of requests above them would not be their sums.
  const spends =
    (filters.type === 0 || filters.type === 2) &&
    (filters.status.length === 0 || filters.status.some((one) => one === 'succeeded' || one === 'retried'));
  const stat = useOptionalRead({
    queryKey: ['log-stat', admin, filters],
    queryFn: () => call(admin ? 'log.stat' : 'log.self_stat', filters),
    refetchInterval: live ? liveMs : false,
    enabled: spends,
  }).data;
  const { open, failure } = useOpened(openId, rows, admin);
  const { show, put } = url;
  // Beside an open row another one takes its place: closing leads to the list, not through all that were read.
  const showRow = useRef((_row: string) => undefined as unknown);
  showRow.current = (row) => show(row, openId !== '');
  const onOpen = useCallback(({ id: row }: Log) => void showRow.current(String(row)), []);
  const at = rows.findIndex((row) => row.id === open?.id);
  const step = (by: number) => {
    const next = at === -1 ? undefined : rows[at + by];
    if (next !== undefined) show(String(next.id), true);
  };
  return (
    <>
      <PageHead title={t('logs.title')}>
        <LogTotals counts={counts} stat={spends ? stat : undefined} />
        <LiveButton on={follows} onChange={(on) => url.set('live', on ? '' : 'off')} />
        <ExportMenu admin={admin} filters={filters} />
      </PageHead>
      {failure === null ? null : (
        <div className="px-5 pb-3">
          <FailureNote failure={failure} title={t('logs.noSuchRow', { id: openId })} />
        </div>
      )}
      {filters.session === undefined ? null : (
        <ConversationPanel session={filters.session} admin={admin} username={filters.username ?? ''} />
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: while the pointer is over the rows they hold still */}
      <div onMouseEnter={() => setHeld(true)} onMouseLeave={() => setHeld(false)}>
        <DataTable
          dense
          caption={t('logs.title')}
          rows={rows}
          columns={columns}
          list={list}
          onEnd={onEnd}
          onOpen={onOpen}
          current={open?.id}
          storeKey="logs-table-columns"
          place="logs"
          bar={<LogBar url={url} admin={admin} counts={counts} />}
          header={
            // Of nothing there is nothing to draw; the list says so in words.
            counts?.total === 0 ? null : (
              <div style={{ height: histogramHeight }}>
                {counts === undefined ? null : (
                  <Suspense>
                    <Histogram counts={counts} onRange={(from, to) => put(rangeQuery({ span: 'custom', from, to }))} />
                  </Suspense>
                )}
              </div>
            )
          }
          sidebar={
            wide && counts !== undefined && counts.total > 0 ? <FilterSidebar counts={counts} url={url} /> : undefined
          }
          empty={<NoLogs filtered={filtered} narrowed={narrowed} url={url} backwards={isBackwards(filters)} />}
        />
      </div>
      <Pager
        page={page}
        size={size}
        total={total}
        onPage={(next) => url.set('p', String(next))}
        onSize={(next) => url.set('size', next === null ? 'all' : String(next))}
        loaded={rows.length}
      />
      {open === undefined ? null : (
        <LogDrawer
          log={open}
          onClose={url.close}
          onStep={step}
          hasNext={at !== -1 && at < rows.length - 1}
          hasPrevious={at > 0}
          list={{ filters, range: { range: url.get('range'), from: url.get('from'), to: url.get('to') } }}
        />
      )}
    </>
  );
}
