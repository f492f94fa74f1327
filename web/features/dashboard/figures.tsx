/** Numbers of the window. */
import { useTranslation } from 'react-i18next';
import type { User } from '../../../server/contract/entities.ts';
import { money } from '../../lib/format.ts';
import { compact } from './compact.ts';
import { type granularities, type UsageRow, windows } from './series.ts';

export interface FiguresProps {
  readonly rows: readonly UsageRow[];
  readonly granularity: (typeof granularities)[number];
  /** undefined = not known yet, like the next. */
  readonly self: User | undefined;
  /** What went beyond balances. */
  readonly beyond: number | undefined;
  /** Says how long the balance lasts. */
  readonly runs: boolean;
}

export function Figures({ rows, granularity, self, beyond, runs }: FiguresProps) {
  const { t } = useTranslation();
  const sum = (of: 'quota' | 'count' | 'token_used') => rows.reduce((total, row) => total + row[of], 0);
  const [spent, requests, tokens] = [sum('quota'), sum('count'), sum('token_used')];
  const minutes = windows[granularity] / 60;
  const days = windows[granularity] / 86_400;
  const runway = self !== undefined && spent > 0 && runs ? Math.floor(self.quota / (spent / days)) : null;
  const figures: readonly (readonly [string, string, string])[] = [
    [
      t('dashboard.spent'),
      money(spent),
      beyond === undefined || beyond === 0
        ? t('dashboard.perDay', { value: money(Math.round(spent / days)) })
        : t('dashboard.overrun', { value: money(beyond) }),
    ],
    [t('dashboard.requests'), compact.format(requests), `${(requests / minutes).toFixed(3)} RPM`],
    [t('dashboard.tokens'), compact.format(tokens), `${(tokens / minutes).toFixed(1)} TPM`],
    [
      t('dashboard.balance'),
      money(self?.quota ?? 0),
      runway === null
        ? t('dashboard.used', { value: money(self?.used_quota ?? 0) })
        : t('dashboard.lasts', { count: runway }),
    ],
  ];

  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-3 border-y border-line py-3 lg:grid-cols-4">
      {figures.map(([label, value, note]) => (
        <div key={label}>
          <dt className="text-[12px] text-ink-3">{label}</dt>
          <dd className="text-[26px] leading-8 font-semibold">{value}</dd>
          <dd className="text-[12px] text-ink-3">{note}</dd>
        </div>
      ))}
    </dl>
  );
}
