/** Beside the title of the log: sums, whether new rows come by themselves, and the log as a file. */

import { Menu, MenuButton, MenuItem, MenuItems } from '@headlessui/react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { attempt } from '../../lib/attempt.ts';
import { download } from '../../lib/download.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import type { Counts } from './use-counts.ts';
import type { LogFilters } from './use-logs.ts';

/** Downloads the rows of the present filter. */
async function exportLogs(
  admin: boolean,
  filters: Readonly<Record<string, string | number>>,
  format: 'csv' | 'jsonl',
): Promise<void> {
  const present = Object.entries(filters).filter(([, value]) => value !== '' && value !== 0);
  const query = new URLSearchParams([['format', format], ...present.map(([name, value]) => [name, String(value)])]);
  await download(`/api/log/${admin ? '' : 'self/'}export?${query}`, `logs.${format}`);
}

export interface LogTotalsProps {
  /** undefined = not known yet. */
  readonly counts: Counts | undefined;
  /** undefined = not known yet, or the rows spend nothing. */
  readonly stat: OutputOf<EndpointOf<'log.self_stat'>> | undefined;
}

/** How many requests, or rows where these are none, what they cost, how many failed, and what comes in now. */
export function LogTotals({ counts, stat }: LogTotalsProps) {
  const { t } = useTranslation();
  const money = useMoney();
  if (counts === undefined) return null;
  // Requests are counted as the overview counts them; rows are more than these.
  const { total, errors } = stat === undefined ? counts : { total: stat.requests, errors: stat.errors };
  const { sampled } = counts;
  const share = total === 0 ? 0 : (errors / total) * 100;
  const totals: readonly (readonly [string, string])[] =
    stat === undefined
      ? []
      : [
          [t('logs.quota'), money(stat.quota, 'cents')],
          ...(stat.rpm === 0
            ? [['RPM · TPM', t('logs.noneNow')] as const]
            : [['RPM', grouped(stat.rpm)] as const, ['TPM', grouped(stat.tpm)] as const]),
        ];
  return (
    <span className="mr-auto flex flex-wrap gap-x-3 text-ink-3 max-sm:order-1 max-sm:basis-full">
      <span>
        {stat === undefined && sampled ? '≈ ' : ''}
        {t(stat === undefined ? 'logs.rows' : 'logs.requests', { count: total, shown: grouped(total) })}
      </span>
      {errors === 0 ? null : <span>{t('logs.failedShare', { share: share.toFixed(share < 10 ? 1 : 0) })}</span>}
      {stat === undefined || stat.refused === 0 ? null : (
        <span title={t('logs.refusedHelp')}>{t('logs.refusedCount', { shown: grouped(stat.refused) })}</span>
      )}
      {totals.map(([name, value]) => (
        <span key={name} className={name.endsWith('PM') ? 'max-sm:hidden' : ''}>
          <span>{name}</span> <span className="text-ink-1">{value}</span>
        </span>
      ))}
    </span>
  );
}

export function LiveButton({ on, onChange }: { readonly on: boolean; readonly onChange: (on: boolean) => void }) {
  const { t } = useTranslation();
  return (
    <button type="button" className="button" aria-pressed={on} onClick={() => onChange(!on)}>
      <span className={`size-2 rounded-full ${on ? 'bg-success-solid' : 'border border-ink-3'}`} aria-hidden="true" />
      {t('logs.live')}
    </button>
  );
}

export function ExportMenu({ admin, filters }: { readonly admin: boolean; readonly filters: LogFilters }) {
  const { t } = useTranslation();
  return (
    <Menu>
      <MenuButton className="button">{t('logs.export')}</MenuButton>
      <MenuItems anchor="bottom end" className="menu w-32">
        {(['csv', 'jsonl'] as const).map((format) => (
          <MenuItem key={format}>
            <button
              type="button"
              className="menu-item"
              onClick={() => attempt(() => exportLogs(admin, { ...filters, status: filters.status.join() }, format))}
            >
              {format.toUpperCase()}
            </button>
          </MenuItem>
        ))}
      </MenuItems>
    </Menu>
  );
}
