/** Every change of the price maps, newest first: who, when, what; the way back. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useList, useOptionalRead } from '../../lib/read.ts';
import { FailureNote } from '../failure.tsx';
import { Pager } from '../pager.tsx';
import { Scrolls } from '../scrolls.tsx';
import { Waiting } from '../waiting.tsx';
import { Changes } from './changes.tsx';

const pageSize = 10;

export function History({ onSaved }: { readonly onSaved: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [page, setPage] = useState(1);
  const [open, setOpen] = useState<number | null>(null);
  const list = useList({
    queryKey: ['ratio', 'history', page],
    queryFn: () => call('ratio.history', { p: page, page_size: pageSize }),
  });
  const changes = useOptionalRead({
    queryKey: ['ratio', 'changes', open],
    queryFn: () => call('ratio.changes', { id: open ?? 0 }),
    enabled: open !== null,
  });
  const rows = list.data?.items ?? [];
  const reasonOf = (reason: string): string => {
    const [word = '', version = ''] = reason.split(' ');
    return t(`prices.reason.${word as 'set'}`, { version, defaultValue: reason });
  };
  const rollBack = async () => {
    if (open === null) return;
    const done = await attempt(() => call('ratio.rollback', { version: open }), t('settings.saved'));
    setOpen(null);
    if (!done) return;
    onSaved();
    await client.invalidateQueries({ queryKey: ['ratio'] });
  };

  if (list.pending) return <Waiting />;
  if (list.failure === null && rows.length === 0)
    return (
      <p className="px-4 py-6 text-ink-2">
        {t('prices.noHistory')} <code className="font-mono text-[12px] text-ink-3">{'gateway ratios history'}</code>
      </p>
    );
  return (
    <>
      {list.failure === null ? null : <FailureNote failure={list.failure} />}
      <Scrolls className="@container overflow-auto" aria-label={t('prices.view.history')}>
        <table className="sheet-table">
          <thead>
            <tr>
              <th scope="col">{t('prices.when')}</th>
              <th scope="col">{t('prices.who')}</th>
              <th scope="col">{t('prices.how')}</th>
              <th scope="col" className="@max-md:hidden">
                {t('prices.what')}
              </th>
              <th scope="col" className="@max-xl:hidden">
                {t('prices.maps')}
              </th>
              <th scope="col">{t('app.actions')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <td className="whitespace-nowrap">{dateTime(row.created_time)}</td>
                <td>{row.actor}</td>
                <td>{reasonOf(row.reason)}</td>
                <td className="max-w-80 @max-md:hidden">
                  {row.changes.map(({ key, name, before, after }) => (
                    <span key={`${key}/${name}`} className="block truncate" title={name || key}>
                      {name || key}{' '}
                      <span className="text-ink-3 tabular-nums">
                        {before ?? '–'} → {after ?? '–'}
                      </span>
                    </span>
                  ))}
                  {row.count > row.changes.length ? (
                    <span className="text-ink-3">{t('prices.more', { count: row.count - row.changes.length })}</span>
                  ) : null}
                </td>
                <td className="text-ink-3 @max-xl:hidden">{row.keys.join(', ')}</td>
                <td>
                  <button
                    type="button"
                    className="button"
                    aria-label={t('prices.showOne', { version: row.id })}
                    onClick={() => setOpen(row.id)}
                  >
                    {t('prices.show')}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
      <Pager page={page} size={pageSize} total={list.data?.total} onPage={setPage} />
      {open === null || changes.data === undefined ? null : (
        <Changes
          title={t('prices.versionTitle', { version: open })}
          changes={changes.data}
          action={t('prices.rollBack')}
          past
          onConfirm={rollBack}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  );
}
