/** Numbers of the window; what is not known is a dash. */
import { useTranslation } from 'react-i18next';
import { FailureNote } from '../../components/failure.tsx';
import { call } from '../../lib/api.ts';
import { type List, useAside } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';
import { compact } from './compact.ts';
import { type granularities, type UsageRow, windows } from './series.ts';
import type { Window } from './use-usage.ts';

export interface FiguresProps {
  readonly usage: List<readonly UsageRow[]>;
  readonly window: Window;
  readonly granularity: (typeof granularities)[number];
}

export function Figures({ usage, window: { admin, from, to, username }, granularity }: FiguresProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const self = useAside({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const beyond = useAside({
    queryKey: ['overrun', from, to, username],
    queryFn: () => call('log.stat', { start_timestamp: from, end_timestamp: to, username }),
    enabled: admin,
    refetchInterval: 60_000,
  }).data?.overrun;
  const sum = (of: 'quota' | 'count' | 'token_used') => usage.data?.reduce((total, row) => total + row[of], 0);
  const [spent, requests, tokens] = [sum('quota'), sum('count'), sum('token_used')];
  const minutes = windows[granularity] / 60;
  const days = windows[granularity] / 86_400;
  const count = (value: number | undefined) => (value === undefined ? '–' : compact.format(value));
  const rate = (value: number | undefined, decimals: number, unit: string) =>
    value === undefined ? '' : `${(value / minutes).toFixed(decimals)} ${unit}`;
  const runway =
    self !== undefined && spent !== undefined && spent > 0 && !admin ? Math.floor(self.quota / (spent / days)) : null;
  const figures: readonly (readonly [string, string, string])[] = [
    [
      t('dashboard.spent'),
      money(spent),
      beyond === undefined || beyond === 0
        ? t('dashboard.perDay', { value: money(spent === undefined ? spent : Math.round(spent / days)) })
        : t('dashboard.overrun', { value: money(beyond) }),
    ],
    [t('dashboard.requests'), count(requests), rate(requests, 3, 'RPM')],
    [t('dashboard.tokens'), count(tokens), rate(tokens, 1, 'TPM')],
    [
      t('dashboard.balance'),
      money(self?.quota),
      runway === null
        ? t('dashboard.used', { value: money(self?.used_quota) })
        : t('dashboard.lasts', { count: runway }),
    ],
  ];

  return (
    <>
      {usage.failure === null ? null : <FailureNote failure={usage.failure} />}
      <dl
        aria-busy={usage.pending}
        className="grid grid-cols-2 gap-x-6 gap-y-3 border-y border-line py-3 lg:grid-cols-4"
      >
        {figures.map(([label, value, note]) => (
          <div key={label}>
            <dt className="text-[12px] text-ink-3">{label}</dt>
            <dd className="text-[26px] leading-8 font-semibold">{value}</dd>
            <dd className="text-[12px] text-ink-3">{note}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
