/** The usage log: sums, filters, rows that explain themselves, new ones as they come. */

import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Log } from '../../../server/contract/entities.ts';
import { PageHead } from '../../components/page.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { useAside } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { useMoney } from '../../shell/money.ts';
import { LogBar } from './log-bar.tsx';
import { logColumns } from './log-columns.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { filtersIn } from './log-filters.ts';
import { ExportMenu, LogSums } from './log-head.tsx';
import { NoLogs } from './no-logs.tsx';
import { useLogs } from './use-logs.ts';

const liveMs = 3000;

export function LogsPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const money = useMoney();
  const url = useUrl();
  const { page } = url;
  const [open, setOpen] = useState<Log | null>(null);
  const [held, setHeld] = useState(false);
  const size = url.get('size') === 'all' ? null : Number(url.get('size')) || rememberedSize();
  const live = url.get('live') !== 'off' && size !== null && page === 1 && !held && open === null;
  const filters = filtersIn(url, admin);
  const filtered = Object.values(filters).some((value) => value !== '' && value !== 0);
  const { rows, total, list, onEnd } = useLogs({
    admin,
    filters,
    page,
    size,
    refetchInterval: live ? liveMs : false,
  });
  const columns = useMemo(() => logColumns(t, admin, money), [t, admin, money]);
  const stat = useAside({
    queryKey: ['log-stat', admin, filters],
    queryFn: () => call(admin ? 'log.stat' : 'log.self_stat', filters),
    refetchInterval: live ? liveMs : false,
  }).data;
  return (
    <>
      <PageHead title={t('logs.title')} count={total}>
        <LogSums stat={stat} />
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
          onOpen={setOpen}
          storeKey="logs-table-columns"
          place="logs"
          bar={<LogBar url={url} admin={admin} type={filters.type} />}
          empty={<NoLogs filtered={filtered} />}
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
      {open === null ? null : <LogDrawer log={open} onClose={() => setOpen(null)} />}
    </>
  );
}
