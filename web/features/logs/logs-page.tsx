/** The usage log: sums, filters, rows that explain themselves, new ones as they come. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { logSorts } from '../../../server/contract/sorts.ts';
import { PageHead } from '../../components/page.tsx';
import { Pager, sizeIn } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { sortIn, useUrl } from '../../lib/url.ts';
import { useMoney } from '../../shell/money.ts';
import { LogBar } from './log-bar.tsx';
import { logColumns } from './log-columns.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { filtersIn, isBackwards } from './log-filters.ts';
import { ExportMenu, LogSums } from './log-head.tsx';
import { NoLogs } from './no-logs.tsx';
import { useLogs } from './use-logs.ts';

const liveMs = 3000;

/** The row whose id the address names, on this page or not. */
function useOpened(id: string, rows: readonly Log[], admin: boolean): Log | undefined {
  const here = rows.find((row) => String(row.id) === id);
  const last = useRef<Log | undefined>(undefined);
  const read = useAside({
    queryKey: ['logs', 'one', admin, id],
    queryFn: () => call(admin ? 'log.get' : 'log.self_get', { ref: id }),
    enabled: id !== '' && here === undefined,
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  const found = here ?? read;
  useEffect(() => {
    last.current = found;
  }, [found]);
  // A newer page may no longer hold the row that is being read.
  return id === '' ? undefined : (found ?? (String(last.current?.id) === id ? last.current : undefined));
}

export function LogsPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const money = useMoney();
  const url = useUrl();
  const { page } = url;
  const openId = url.get('open');
  const [held, setHeld] = useState(false);
  const size = url.get('size') === 'all' ? null : sizeIn(url.get('size'));
  const live = url.get('live') !== 'off' && size !== null && page === 1 && !held && openId === '';
  const filters = filtersIn(url, admin);
  const filtered = Object.values(filters).some((value) => value !== '' && value !== 0);
  const { rows, total, list, onEnd } = useLogs({
    admin,
    filters,
    sort: sortIn(url, logSorts),
    page,
    size,
    refetchInterval: live ? liveMs : false,
  });
  const columns = useMemo(() => logColumns(t, admin, money), [t, admin, money]);
  // Errors, top-ups and the rest spend nothing: sums of the requests would stand over rows that are none.
  const spends = filters.type === 0 || filters.type === 2;
  const stat = useAside({
    queryKey: ['log-stat', admin, filters],
    queryFn: () => call(admin ? 'log.stat' : 'log.self_stat', filters),
    refetchInterval: live ? liveMs : false,
    enabled: spends,
  }).data;
  const open = useOpened(openId, rows, admin);
  const { show } = url;
  const showRow = useRef(show);
  showRow.current = show;
  const onOpen = useCallback(({ id }: Log) => showRow.current(String(id)), []);
  const step = (by: number) => {
    const at = rows.findIndex(({ id }) => String(id) === openId);
    const next = at === -1 ? undefined : rows[at + by];
    if (next !== undefined) show(String(next.id), true);
  };
  return (
    <>
      <PageHead title={t('logs.title')} count={total}>
        {spends ? <LogSums stat={stat} /> : null}
        <ExportMenu admin={admin} filters={filters} />
      </PageHead>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: while the pointer is over the rows they hold still */}
      <div onMouseEnter={() => setHeld(true)} onMouseLeave={() => setHeld(false)}>
        <DataTable
          caption={t('logs.title')}
          rows={rows}
          columns={columns}
          list={list}
          onEnd={onEnd}
          onOpen={onOpen}
          storeKey="logs-table-columns"
          place="logs"
          bar={<LogBar url={url} admin={admin} type={filters.type} />}
          empty={<NoLogs filtered={filtered} url={url} backwards={isBackwards(filters)} />}
        />
      </div>
      <Pager
        page={page}
        size={size}
        total={total}
        onPage={(next) => url.set('p', String(next))}
        onSize={(next) => url.set('size', next === null ? 'all' : String(next))}
        endless={rows.length}
      />
      {open === undefined ? null : <LogDrawer log={open} onClose={url.close} onStep={step} />}
    </>
  );
}
