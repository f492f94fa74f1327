/** Filters of this table that the reader keeps: applied with a click, wherever one logs in. */

import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import type { FilterPlace } from '../../../server/contract/endpoints/access-token.ts';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { filterOf } from '../../lib/url.ts';
import { Icon } from '../icon.tsx';
import { Popover } from '../popover.tsx';

export function SavedFilters({ place }: { readonly place: FilterPlace }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [query, setQuery] = useSearchParams();
  const [name, setName] = useState('');
  const kept =
    useOptionalRead({ queryKey: ['filters', place], queryFn: () => call('filter.list', { place }) }).data ?? [];
  const current = filterOf(query);
  const change = async (work: () => Promise<unknown>) => {
    if (!(await attempt(work))) return false;
    await client.invalidateQueries({ queryKey: ['filters', place] });
    return true;
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (await change(() => call('filter.save', { place, name, query: current }))) setName('');
  };
  return (
    <Popover
      buttonClass="button max-sm:hidden"
      button={
        <>
          <Icon name="book" />
          <span className="max-lg:sr-only">{t('table.saved')}</span> {kept.length === 0 ? null : kept.length}
        </>
      }
      className="grid w-64 gap-2 p-3"
    >
      {(close) => (
        <>
          {kept.length === 0 ? <p className="text-[12px] text-ink-3">{t('table.noneSaved')}</p> : null}
          <ul className="max-h-72 overflow-auto">
            {kept.map((one) => (
              <li key={one.id} className="flex items-center gap-1">
                <button
                  type="button"
                  className={`h-7 min-w-0 flex-1 truncate rounded-2 px-2 text-left hover:bg-hover ${one.query === current ? 'font-medium text-accent-text' : ''}`}
                  onClick={() => {
                    setQuery(new URLSearchParams(one.query));
                    close();
                  }}
                >
                  {one.name}
                </button>
                <button
                  type="button"
                  className="button button-ghost button-icon"
                  aria-label={t('table.forget', { name: one.name })}
                  onClick={() => change(() => call('filter.delete', { id: one.id }))}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
          <form onSubmit={save} className="flex gap-2">
            <input
              className="field h-7"
              aria-label={t('table.filterName')}
              placeholder={t('table.filterName')}
              maxLength={40}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <button type="submit" className="button" disabled={name.trim() === '' || current === ''}>
              {t('app.save')}
            </button>
          </form>
          <button type="button" className="button" onClick={() => copyOrShow(location.href)}>
            {t('table.copyLink')}
          </button>
        </>
      )}
    </Popover>
  );
}
