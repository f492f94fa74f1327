/** What each model, user or channel brought in, and what it cost where cost prices are known. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { formOfColumn } from '../../../server/contract/pricing/format.ts';
import { FailureNote } from '../../components/failure.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { Segment } from '../../components/segment.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { percentText } from '../../lib/format.ts';
import { useMoney, useMoneyDetails } from '../../lib/money.ts';
import { useList } from '../../lib/read.ts';

const kinds = ['model', 'user', 'channel'] as const;
/** The button below the table shows more. */
const maxRows = 20;

interface Row {
  readonly name: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  /** null = some of it went through a channel without a cost price. */
  readonly cost: number | null;
}

export interface BreakdownProps {
  readonly range: { readonly start_timestamp: number; readonly end_timestamp: number };
  readonly username: string;
}

interface CellsProps {
  readonly row: Row;
  readonly money: (quota: number) => string;
}

function Cells({ row: { name, requests, tokens, quota, cost }, money }: CellsProps) {
  const lost = cost !== null && cost > quota;
  return (
    <>
      <td className="max-w-60 truncate">{name || '–'}</td>
      <td className="number">{requests}</td>
      <td className="number max-sm:hidden">{tokens}</td>
      <td className="number">{money(quota)}</td>
      <td className="number text-ink-2 max-sm:hidden">{cost === null ? '–' : money(cost)}</td>
      <td className={`number max-sm:hidden ${lost ? 'text-danger' : ''}`}>
        {cost === null ? '–' : money(quota - cost)}
      </td>
      <td className={`number ${lost ? 'text-danger' : 'text-ink-2'}`}>
        {cost === null || quota === 0 ? '–' : percentText((quota - cost) / quota)}
      </td>
    </>
  );
}

function Heads({ by }: { readonly by: (typeof kinds)[number] }) {
  const { t } = useTranslation();
  return (
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
        <th scope="col" className="number">
          {t('dashboard.share')}
        </th>
      </tr>
    </thead>
  );
}

const sum = (list: readonly Row[], of: (row: Row) => number): number => list.reduce((total, row) => total + of(row), 0);

export function Breakdown({ range, username }: BreakdownProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const details = useMoneyDetails();
  const [by, setBy] = useState<(typeof kinds)[number]>('model');
  const [all, setAll] = useState(false);
  const list = useList({
    queryKey: ['breakdown', by, range, username],
    queryFn: () => call('log.breakdown', { ...range, username, by }),
  });
  const rows = list.data;
  const visible = all ? rows : rows?.slice(0, maxRows);
  const left = (rows?.length ?? 0) - (visible?.length ?? 0);
  const priced = (rows ?? []).filter(({ cost }) => cost !== null);
  const total: Row | null =
    rows === undefined || rows.length < 2
      ? null
      : {
          name: t('dashboard.total'),
          requests: sum(rows, ({ requests }) => requests),
          tokens: sum(rows, ({ tokens }) => tokens),
          quota: sum(rows, ({ quota }) => quota),
          // Only what has a cost price can be set against its income.
          cost: priced.length === rows.length ? sum(priced, ({ cost }) => cost ?? 0) : null,
        };
  const form =
    details === null
      ? 'cents'
      : formOfColumn(
          (rows ?? []).flatMap((row) => [row.quota, row.cost ?? 0]),
          details,
        );
  const line = (row: Row) => <Cells row={row} money={(quota) => money(quota, form)} />;
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
      {list.failure === null ? null : (
        <div className="p-3">
          <FailureNote failure={list.failure} />
        </div>
      )}
      <Scrolls className="in-card overflow-auto" aria-label={t(`dashboard.${by}`)}>
        <table className="sheet-table">
          <Heads by={by} />
          <tbody>
            {(visible ?? []).map((row) => (
              <tr key={row.name}>{line(row)}</tr>
            ))}
          </tbody>
          {total === null ? null : (
            <tfoot>
              <tr className="font-medium">{line(total)}</tr>
            </tfoot>
          )}
        </table>
        {list.pending ? <Waiting /> : null}
      </Scrolls>
      {left > 0 ? (
        <button type="button" className="button m-3" onClick={() => setAll(true)}>
          {t('dashboard.more', { count: left })}
        </button>
      ) : null}
      {rows?.length === 0 ? <p className="px-4 py-5 text-ink-2">{t('dashboard.empty')}</p> : null}
      {rows !== undefined && priced.length < rows.length ? (
        <p className="px-4 py-2 text-[12px] text-ink-3">
          {t('dashboard.noCost')}{' '}
          <Link href="/setting?q=ChannelCostRatio" className="underline">
            {t('dashboard.setCost')}
          </Link>
        </p>
      ) : null}
    </section>
  );
}
