/** What the rows are, and how many of each; a click narrows the list, another one widens it again. */

import { useTranslation } from 'react-i18next';
import { grouped } from '../../lib/format.ts';
import type { Url } from '../../lib/url.ts';
import { addressOf, nameOf, statusesIn } from './log-filters.ts';
import type { Counts } from './use-counts.ts';

const labels = {
  status: 'logs.ended',
  error: 'logs.error',
  model: 'logs.model',
  user: 'logs.user',
  token: 'logs.token',
  channel: 'logs.channel',
  group: 'logs.group',
} as const;
const order = ['status', 'error', 'model', 'user', 'channel', 'token', 'group'] as const;
/** Values in sight; the chips offer the others. */
const maxValues = { status: 7, error: 4, model: 6, user: 4, channel: 4, token: 4, group: 3 } as const;

export function FilterSidebar({ counts, url }: { readonly counts: Counts; readonly url: Url }) {
  const { t } = useTranslation();
  const about = counts.sampled ? '≈ ' : '';
  const toggle = (by: (typeof order)[number], value: string) => {
    const given = addressOf(by, value);
    if (by !== 'status') return url.set(by, url.get(by) === given ? '' : given);
    const now = statusesIn(url.get('status'));
    url.set('status', (now.some((one) => one === value) ? now.filter((one) => one !== value) : [...now, value]).join());
  };
  const isOn = (by: (typeof order)[number], value: string): boolean =>
    by === 'status' ? statusesIn(url.get(by)).some((one) => one === value) : url.get(by) === addressOf(by, value);
  return (
    <nav aria-label={t('logs.facets')} className="w-[186px] py-3 pr-3 pl-5">
      {order.map((by) => {
        const facet = counts.facets.find((one) => one.by === by);
        if (facet === undefined || facet.values.length === 0) return null;
        const rest = facet.values.slice(maxValues[by]);
        const left = {
          values: facet.more.values + rest.length,
          count: facet.more.count + rest.reduce((sum, { count }) => sum + count, 0),
        };
        return (
          <section key={by} className="mb-3.5" aria-label={t(labels[by])}>
            <h2 className="mb-0.5 text-[12px] font-medium text-ink-3">{t(labels[by])}</h2>
            {facet.values.slice(0, maxValues[by]).map((one) => {
              const on = isOn(by, one.value);
              return (
                <button
                  key={one.value}
                  type="button"
                  aria-pressed={on}
                  className={`flex h-6 w-full items-center gap-1.5 text-left hover:text-accent-text ${on ? 'font-medium text-accent-text' : 'text-ink-2'}`}
                  onClick={() => toggle(by, one.value)}
                >
                  <span
                    className={`min-w-0 flex-1 truncate ${by === 'model' ? 'font-mono text-[12px]' : ''}`}
                    title={by === 'error' ? `${nameOf(t, by, one)}: ${one.value}` : nameOf(t, by, one)}
                  >
                    {nameOf(t, by, one)}
                  </span>
                  <span className="font-normal text-ink-3">
                    {about}
                    {grouped(one.count)}
                  </span>
                </button>
              );
            })}
            {left.values === 0 ? null : (
              <p className="flex h-6 items-center text-ink-3">
                <span className="flex-1">{t('logs.more', { count: left.values })}</span>
                {about}
                {grouped(left.count)}
              </p>
            )}
          </section>
        );
      })}
      {counts.sampled ? <p className="text-[11px] leading-4 text-ink-3">{t('logs.sampled')}</p> : null}
    </nav>
  );
}
