/** What each model, user or channel brought in, and what it cost where cost prices are known. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { money } from '../../lib/format.ts';

const kinds = ['model', 'user', 'channel'] as const;
const most = 20;

export interface BreakdownProps {
  readonly range: { readonly start_timestamp: number; readonly end_timestamp: number };
  readonly username: string;
}

export function Breakdown({ range, username }: BreakdownProps) {
  const { t } = useTranslation();
  const [by, setBy] = useState<(typeof kinds)[number]>('model');
  const rows = useQuery({
    queryKey: ['breakdown', by, range, username],
    queryFn: () => call('log.breakdown', { ...range, username, by }),
    placeholderData: keepPreviousData,
  }).data;
  return (
    <section aria-label={t('dashboard.margin')} className="rounded-3 border border-line">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <h2 className="flex-1 font-semibold">{t('dashboard.margin')}</h2>
        <Segment
          label={t('dashboard.per')}
          value={by}
          options={kinds.map((kind) => [kind, t(`dashboard.${kind}`)])}
          onChange={setBy}
        />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section className="overflow-auto" tabIndex={0} aria-label={t(`dashboard.${by}`)}>
        <table className="sheet-table">
          <thead>
            <tr>
              <th scope="col">{t(`dashboard.${by}`)}</th>
              <th scope="col" className="number">
                {t('dashboard.requests')}
              </th>
              <th scope="col" className="number max-sm:hidden">
                {t('dashboard.tokens')}
              </th>
              <th scope="col" className="number">
                {t('dashboard.spent')}
              </th>
              <th scope="col" className="number max-sm:hidden">
                {t('dashboard.cost')}
              </th>
              <th scope="col" className="number max-sm:hidden">
                {t('dashboard.profit')}
              </th>
            </tr>
          </thead>
          <tbody>
            {(rows ?? []).slice(0, most).map(({ name, requests, tokens, quota, cost }) => (
              <tr key={name}>
                <td className="max-w-60 truncate">{name || '–'}</td>
                <td className="number">{requests}</td>
                <td className="number max-sm:hidden">{tokens}</td>
                <td className="number">{money(quota)}</td>
                <td className="number text-ink-2 max-sm:hidden">{cost === null ? '–' : money(cost)}</td>
                <td className={`number max-sm:hidden ${cost !== null && cost > quota ? 'text-danger' : ''}`}>
                  {cost === null ? '–' : money(quota - cost)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows?.length === 0 ? <p className="px-4 py-5 text-ink-2">{t('dashboard.empty')}</p> : null}
    </section>
  );
}
