/** Beside the title of the log: sums, and the log as a file. */

import { Menu, MenuButton, MenuItem, MenuItems } from '@headlessui/react';
import { useTranslation } from 'react-i18next';
import { attempt } from '../../lib/attempt.ts';
import { useMoney } from '../../shell/money.ts';
import { exportLogs } from './export.ts';
import type { LogFilters } from './use-logs.ts';

function Chip({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <span className="rounded-2 bg-sunken px-2 py-1 text-[12px] text-ink-2">
      {label} <b className="font-semibold text-ink-1">{value}</b>
    </span>
  );
}

export interface LogSumsProps {
  /** undefined = not known yet. */
  readonly stat: { readonly quota: number; readonly rpm: number; readonly tpm: number } | undefined;
}

export function LogSums({ stat }: LogSumsProps) {
  const { t } = useTranslation();
  const money = useMoney();
  return (
    <>
      <Chip label={t('logs.quota')} value={stat === undefined ? '–' : money(stat.quota)} />
      <Chip label="RPM" value={String(stat?.rpm ?? '–')} />
      <Chip label="TPM" value={String(stat?.tpm ?? '–')} />
    </>
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
              onClick={() => attempt(() => exportLogs(admin, { ...filters }, format))}
            >
              {format.toUpperCase()}
            </button>
          </MenuItem>
        ))}
      </MenuItems>
    </Menu>
  );
}
