/** The usage log: sums, filters, rows that explain themselves, new ones as they come. */

import { Menu, MenuButton, MenuItem, MenuItems } from '@headlessui/react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import type { Log } from '../../../server/contract/entities.ts';
import { Empty } from '../../components/empty.tsx';
import { PageHead } from '../../components/page.tsx';
import { Pager, rememberedSize } from '../../components/pager.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { money } from '../../lib/format.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { exportLogs } from './export.ts';
import { logColumns } from './log-columns.tsx';
import { LogDrawer } from './log-drawer.tsx';
import { type LogFilters, useLogs } from './use-logs.ts';

const kinds = [1, 2, 3, 4, 5] as const;
const liveMs = 3000;

const secondsOf = (text: string): number => (text === '' ? 0 : Math.floor(new Date(text).getTime() / 1000) || 0);

export function LogsPage() {
  const { t } = useTranslation();
  const admin = isAdmin(useUser());
  const url = useUrl();
  const { page } = url;
  const [, navigate] = useLocation();
  const [open, setOpen] = useState<Log | null>(null);
  const [held, setHeld] = useState(false);
  const size = url.get('size') === 'all' ? null : Number(url.get('size')) || rememberedSize();
  const live = url.get('live') !== 'off' && size !== null && page === 1 && !held && open === null;
  const filters: LogFilters = {
    type: Number(url.get('type')) || 0,
    model_name: url.get('model'),
    token_name: url.get('token'),
    group: url.get('group'),
    request_id: url.get('request'),
    start_timestamp: secondsOf(url.get('from')),
    end_timestamp: secondsOf(url.get('to')),
    ...(admin ? { username: url.get('user'), channel: Number(url.get('channel')) || 0 } : {}),
  };
  const filtered = Object.values(filters).some((value) => value !== '' && value !== 0);
  const { rows, total, loading, onEnd } = useLogs({
    admin,
    filters,
    page,
    size,
    refetchInterval: live ? liveMs : false,
  });
  const columns = useMemo(() => logColumns(t, admin), [t, admin]);
  const stat = useQuery({
    queryKey: ['log-stat', admin, filters],
    queryFn: () => call(admin ? 'log.stat' : 'log.self_stat', filters),
    refetchInterval: live ? liveMs : false,
  }).data;
  const field = (name: string, label: string, type = 'search') => (
    <input
      type={type}
      className={`field h-7 ${type === 'search' ? 'w-32' : 'w-44'}`}
      placeholder={label}
      aria-label={label}
      value={url.get(name)}
      onChange={(event) => url.set(name, event.target.value)}
    />
  );
  const bar = (
    <>
      <select
        className="field h-7 w-auto"
        aria-label={t('logs.type')}
        value={filters.type}
        onChange={(event) => url.set('type', event.target.value === '0' ? '' : event.target.value)}
      >
        <option value={0}>{t('logs.all')}</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {t(`logs.t${kind}`)}
          </option>
        ))}
      </select>
      {field('model', t('logs.model'))}
      {field('token', t('logs.token'))}
      {admin ? field('user', t('logs.user')) : null}
      {admin ? field('channel', t('logs.channelId')) : null}
      {field('group', t('logs.group'))}
      {field('request', t('logs.requestId'))}
      {field('from', t('logs.from'), 'datetime-local')}
      {field('to', t('logs.to'), 'datetime-local')}
      <label className="flex items-center gap-1.5 text-[12px] text-ink-2">
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={url.get('live') !== 'off'}
          onChange={(event) => url.set('live', event.target.checked ? '' : 'off')}
        />
        {t('logs.live')}
      </label>
    </>
  );
  const chip = (label: string, value: string) => (
    <span className="rounded-2 bg-sunken px-2 py-1 text-[12px] text-ink-2">
      {label} <b className="font-semibold text-ink-1">{value}</b>
    </span>
  );

  return (
    <>
      <PageHead title={t('logs.title')} count={total}>
        {chip(t('logs.quota'), money(stat?.quota ?? 0))}
        {chip('RPM', String(stat?.rpm ?? 0))}
        {chip('TPM', String(stat?.tpm ?? 0))}
        <Menu>
          <MenuButton className="button">{t('logs.export')}</MenuButton>
          <MenuItems anchor="bottom end" className="menu w-32">
            {(['csv', 'jsonl'] as const).map((format) => (
              <MenuItem key={format}>
                <button
                  type="button"
                  className="menu-item"
                  onClick={() => attempt(() => exportLogs(admin, { ...filters }, format))}
                >
                  {format.toUpperCase()}
                </button>
              </MenuItem>
            ))}
          </MenuItems>
        </Menu>
      </PageHead>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: while the pointer is over the rows they hold still */}
      <div onMouseEnter={() => setHeld(true)} onMouseLeave={() => setHeld(false)}>
        <DataTable
          caption={t('logs.title')}
          rows={rows}
          columns={columns}
          loading={loading}
          onEnd={onEnd}
          onOpen={setOpen}
          storeKey="logs-table-columns"
          place="logs"
          bar={bar}
          empty={
            filtered ? (
              <Empty text={t('logs.none')}>
                <button type="button" className="button" onClick={() => navigate('/log')}>
                  {t('app.clearFilters')}
                </button>
              </Empty>
            ) : (
              <Empty text={t('logs.empty')} command="gateway logs tail">
                <Link href="/playground" className="button">
                  {t('logs.tryOne')}
                </Link>
              </Empty>
            )
          }
        />
      </div>
      <Pager
        page={page}
        size={size}
        total={total ?? 0}
        onPage={(next) => url.set('p', String(next))}
        onSize={(next) => url.set('size', next === null ? 'all' : String(next))}
        endless={rows.length}
      />
      {open === null ? null : <LogDrawer log={open} onClose={() => setOpen(null)} />}
    </>
  );
}
