/** How much of their prompts requests found in their provider's cache, and what misses cost. Read when it is opened: it goes through the log. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import {
  type CacheRateBy,
  cacheRateKinds,
  hitRateOf,
  ownCacheRateKinds,
  type CacheRates as Rates,
} from '../../../server/contract/cache-rates.ts';
import { FailureNote } from '../../components/failure.tsx';
import { Segment } from '../../components/segment.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useList } from '../../lib/read.ts';

/** The button below the table shows more. */
const maxRows = 10;

interface RangeOf {
  readonly from: number;
  /** The first second behind it. */
  readonly to: number;
}

export interface CacheRatesProps extends RangeOf {
  readonly admin: boolean;
}

/** The requests of a row. */
function hrefOf(by: CacheRateBy, { id, name }: Rates[number], { from, to }: RangeOf): string | null {
  const at = { from: String(from), to: String(to - 1), type: '2' };
  if (by === 'channel') return id === 0 ? null : `/log?${new URLSearchParams({ ...at, channel: String(id) })}`;
  if (name === '') return null;
  if (by === 'key') return `/log?${new URLSearchParams({ ...at, token: name })}`;
  if (by === 'agent') return `/log?${new URLSearchParams({ ...at, agent: name })}`;
  if (by === 'model') return `/log?${new URLSearchParams({ ...at, model: `=${name}` })}`;
  const day = Date.parse(name) / 1000;
  return `/log?${new URLSearchParams({ type: '2', from: String(day), to: String(day + 86_399) })}`;
}

const percent = (row: Rates[number]): string => {
  const rate = hitRateOf(row);
  return rate === null ? '–' : `${row.sampled ? '≈ ' : ''}${(rate * 100).toFixed(1)} %`;
};

function Rows({ by, rows, range }: { readonly by: CacheRateBy; readonly rows: Rates; readonly range: RangeOf }) {
  const { t } = useTranslation();
  const money = useMoney();
  return (
    <table className="sheet-table">
      <caption className="sr-only">{t('dashboard.cacheRates')}</caption>
      <thead>
        <tr>
          <th scope="col">{t(`dashboard.cacheBy.${by}`)}</th>
          <th scope="col" className="number">
            {t('dashboard.cacheRate')}
          </th>
          <th scope="col" className="number max-sm:hidden">
            {t('dashboard.requests')}
          </th>
          <th scope="col" className="number max-sm:hidden">
            {t('dashboard.cacheInput')}
          </th>
          <th scope="col" className="number max-sm:hidden">
            {t('dashboard.cacheMissed')}
          </th>
          <th scope="col" className="number">
            {t('dashboard.cacheLost')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const href = hrefOf(by, row, range);
          const name = row.name || (row.id === 0 ? t('dashboard.cacheUnnamed') : `#${row.id}`);
          return (
            <tr key={`${row.id} ${row.name}`}>
              <td className="max-w-60 truncate max-sm:max-w-32" title={name}>
                {href === null ? name : <Link href={href}>{name}</Link>}
              </td>
              <td className="number">{percent(row)}</td>
              <td className="number max-sm:hidden">{grouped(row.requests)}</td>
              <td className="number max-sm:hidden">{grouped(row.input_tokens)}</td>
              <td className="number max-sm:hidden">{grouped(row.missed)}</td>
              <td className="number">{money(row.lost)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Opened({ admin, from, to }: CacheRatesProps) {
  const { t } = useTranslation();
  const [by, setBy] = useState<CacheRateBy>(admin ? 'channel' : 'key');
  const [all, setAll] = useState(false);
  const filter = { start_timestamp: from, end_timestamp: to - 1 };
  const list = useList({
    queryKey: ['cache-rates', admin, by, from, to],
    queryFn: () =>
      by === 'channel' || admin ? call('log.cache', { ...filter, by }) : call('log.self_cache', { ...filter, by }),
  });
  const rows = list.data ?? [];
  const visible = all || by === 'day' ? rows : rows.slice(0, maxRows);
  return (
    <>
      <div className="px-4 py-2">
        <Segment
          label={t('dashboard.per')}
          value={by}
          options={(admin ? cacheRateKinds : ownCacheRateKinds).map((kind) => [kind, t(`dashboard.cacheBy.${kind}`)])}
          onChange={setBy}
        />
      </div>
      {list.failure === null ? null : (
        <div className="p-3">
          <FailureNote failure={list.failure} />
        </div>
      )}
      {list.pending ? <Waiting /> : null}
      {visible.length === 0 ? null : (
        <div className="in-card">
          <Rows by={by} rows={visible} range={{ from, to }} />
        </div>
      )}
      {list.data?.length === 0 ? <p className="px-4 py-5 text-ink-2">{t('dashboard.empty')}</p> : null}
      {rows.length > visible.length ? (
        <button type="button" className="button m-3" onClick={() => setAll(true)}>
          {t('dashboard.more', { count: rows.length - visible.length })}
        </button>
      ) : null}
      <p className="px-4 py-2 text-[12px] text-ink-3">
        {t('dashboard.cacheHelp')}
        {rows.some(({ sampled }) => sampled) ? ` ${t('dashboard.cacheSampled')}` : null}
      </p>
    </>
  );
}

export function CacheRates(props: CacheRatesProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <section aria-label={t('dashboard.cacheRates')} className="rounded-3 border border-line">
      <header className="flex items-center gap-2 px-4 py-2">
        <h2 className="flex-1 font-semibold">{t('dashboard.cacheRates')}</h2>
        <button type="button" className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? t('dashboard.cacheHide') : t('dashboard.cacheShow')}
        </button>
      </header>
      {open ? <Opened {...props} /> : null}
    </section>
  );
}
