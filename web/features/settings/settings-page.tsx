/** All options, rendered from their catalogue: tabs, panels, search, what differs from its default; and the prices. */

import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, startTransition, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionKeys, optionRow } from '../../../server/contract/options.ts';
import { FailureNote } from '../../components/failure.tsx';
import { SearchField } from '../../components/filters.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { useUser } from '../../lib/session.ts';
import { docsFor, useStatus } from '../../lib/status.ts';
import { wordScore } from '../../lib/word-search.ts';
import { SystemInfo } from './extras/system-info.tsx';
import { needsMore, Panel, type PanelProps } from './panel.tsx';
import { anchorOf, type Place, Places, type Tab, tabs } from './places.tsx';
import { type Options, useOptions } from './use-options.ts';

const PriceBlock = lazy(async () => ({ default: (await import('./prices/price-block.tsx')).PriceBlock }));

type PanelKeys = readonly [panel: string, keys: readonly OptionKey[]];

/** Panels in the catalogue's order, each with its keys. @param together a switch stands with what it needs. */
function panelsOf(keys: readonly OptionKey[], together: boolean): ReadonlyMap<string, readonly OptionKey[]> {
  const panels = new Map<string, OptionKey[]>();
  for (const key of keys) {
    const { needs, panel: own } = optionRow(key);
    const panel = together && needs !== null ? optionRow(needs as OptionKey).panel : own;
    panels.set(panel, [...(panels.get(panel) ?? []), key]);
  }
  return panels;
}

interface CardOf {
  readonly first: PanelKeys;
  readonly rows: readonly PanelKeys[];
}

/** Panels that are switched on as a whole are lines of the card before them: the ways to log in, one below the other. */
function cardsOf(panels: Iterable<PanelKeys>, together: boolean): readonly CardOf[] {
  const cards: { first: PanelKeys; rows: PanelKeys[] }[] = [];
  for (const panel of panels) {
    const card = cards.at(-1);
    if (together && card !== undefined && panel[1].some(needsMore)) card.rows.push(panel);
    else cards.push({ first: panel, rows: [] });
  }
  return cards;
}

/** Which options are in sight: those of a tab, or those of all tabs that are searched for or changed. */
interface Filter {
  readonly tab: Tab;
  readonly needle: string;
  readonly onlyChanged: boolean;
}

function keysFor(
  { tab, needle, onlyChanged }: Filter,
  stored: Options['stored'],
  panelName: (panel: string) => string,
): readonly OptionKey[] {
  return optionKeys.filter((key) => {
    const { label, help, tab: place, panel, secret, fallback } = optionRow(key);
    if (place === 'legacy') return false;
    const option = stored.get(key);
    if (onlyChanged && !(secret ? option?.is_set === true : (option?.value ?? fallback) !== fallback)) return false;
    // Prices have a place of their own.
    if (needle === '') return onlyChanged || (place === tab && panel !== 'pricing');
    return wordScore(needle, `${key} ${label.zh} ${label.en} ${help.zh} ${help.en} ${panelName(panel)}`) > 0;
  });
}

/** So many options fill the window. */
const firstOptions = 12;

/** How many of the panels are mounted: those in the window at once, each further one when the browser has time. */
function useMounted(panels: ReadonlyMap<string, readonly OptionKey[]>): [count: number, all: () => void] {
  const sizes = [...panels.values()].map((keys) => keys.length);
  const first = sizes.findIndex((_, at) => sizes.slice(0, at + 1).reduce((sum, size) => sum + size, 0) >= firstOptions);
  const initial = first < 0 ? sizes.length : first + 1;
  const [state, setState] = useState({ panels, count: initial });
  const count = state.panels === panels ? state.count : initial;
  if (state.panels !== panels) setState({ panels, count: initial });
  useEffect(() => {
    if (count < panels.size) startTransition(() => setState({ panels, count: count + 1 }));
  }, [panels, count]);
  return [count, () => flushSync(() => setState({ panels, count: panels.size }))];
}

/** What is typed and not stored, on whichever tab; in sight wherever one reads. */
function ChangesBar({ options }: { readonly options: Options }) {
  const { t } = useTranslation();
  const { changed } = options;
  if (changed.length === 0) return null;
  const save = async () => {
    await options.save(changed);
    document.querySelector<HTMLElement>('main [aria-invalid="true"]')?.focus();
  };
  return (
    <section
      aria-label={t('settings.unsaved')}
      className="sticky bottom-0 z-10 mt-4 flex flex-wrap items-center gap-2 border-t border-line-strong bg-raised px-5 py-2.5"
    >
      <p role="status" className="min-w-0 flex-1 truncate max-sm:basis-full">
        <b className="font-semibold">{t('settings.changes', { count: changed.length })}</b>
        <span className="text-ink-2">
          {`: ${changed.map((key) => textIn(optionRow(key).label, currentLanguage())).join(' · ')}`}
        </span>
      </p>
      <button type="button" className="button max-sm:flex-1" onClick={options.discard}>
        {t('settings.discard')}
      </button>
      <button type="button" className="button button-primary max-sm:flex-1" onClick={() => void save()}>
        {t('settings.saveAll')}
      </button>
    </section>
  );
}

export function SettingsPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const docs = docsFor(useUser(), useStatus().data);
  const [query, setQuery] = useSearchParams();
  const tab = tabs.find((name) => name === query.get('tab')) ?? 'operation';
  const search = query.get('q') ?? '';
  const details = useList({ queryKey: ['options'], queryFn: () => call('option.details') });
  const list = details.data;
  const stored = useMemo(() => new Map((list ?? []).map((option) => [option.key, option])), [list]);
  const reread = useCallback(() => void client.invalidateQueries({ queryKey: ['options'] }), [client]);
  const options = useOptions(stored, reread);
  const onlyChanged = query.get('changed') === 'true';
  // What is typed is shown at once, what it finds when there is time.
  const needle = useDeferredValue(search.trim().toLowerCase());
  const everywhere = needle !== '' || onlyChanged;
  const prices = !everywhere && tab === 'operation' && query.has('block');
  const panels = useMemo(
    () =>
      panelsOf(
        prices ? [] : keysFor({ tab, needle, onlyChanged }, stored, (panel) => t(`settings.panel.${panel as 'login'}`)),
        !everywhere,
      ),
    [prices, tab, needle, onlyChanged, everywhere, stored, t],
  );
  const [mounted, mountAll] = useMounted(panels);
  const priceKeys = useMemo(() => optionKeys.filter((key) => optionRow(key).panel === 'pricing'), []);
  const setFilter = (change: { readonly q?: string; readonly changed?: boolean }) => {
    const next = { q: search, changed: onlyChanged, ...change };
    setQuery(
      { tab, ...(next.q === '' ? {} : { q: next.q }), ...(next.changed ? { changed: 'true' } : {}) },
      { replace: true },
    );
  };
  const go = (place: Place) =>
    setQuery(place === 'prices' ? { tab: 'operation', block: 'visual' } : { tab: place }, { replace: true });
  const jump = (panel: string) => {
    mountAll();
    const section = document.getElementById(anchorOf(panel));
    section?.scrollIntoView({ block: 'start' });
    section?.querySelector<HTMLElement>('input, textarea, button')?.focus({ preventScroll: true });
  };

  const panelOf = ([panel, keys]: PanelKeys, place: PanelProps['place']) => (
    <Panel
      key={panel}
      id={anchorOf(panel)}
      place={place}
      showKey={everywhere}
      title={t(`settings.panel.${panel as 'login'}`)}
      keys={keys}
      options={options}
      onSaved={reread}
    />
  );

  return (
    <>
      <PageHead title={t('settings.title')}>
        <SearchField
          slash
          className={`h-7 w-80 max-lg:w-56 ${prices ? 'max-sm:hidden' : ''}`}
          label={t('settings.search')}
          value={search}
          onChange={(value) => setFilter({ q: value })}
        />
        <button
          type="button"
          aria-pressed={onlyChanged}
          className={`button max-sm:hidden ${onlyChanged ? 'bg-accent-soft text-accent-text' : ''}`}
          onClick={() => setFilter({ changed: !onlyChanged })}
        >
          {t('settings.onlyChanged')}
        </button>
      </PageHead>
      <div className="xl:flex">
        <Places
          place={everywhere ? null : prices ? 'prices' : tab}
          panels={cardsOf(panels, !everywhere).map(({ first: [panel] }) => panel)}
          onlyChanged={onlyChanged}
          onGo={go}
          onOnlyChanged={() => setFilter({ changed: true })}
          onJump={jump}
        />
        <div className="min-w-0 flex-1">
          <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-4 px-5">
            {details.failure === null ? null : (
              <FailureNote failure={details.failure} title={t('settings.refreshFailed')} />
            )}
            {details.pending ? <Waiting /> : null}
            {list !== undefined && panels.size === 0 && !prices ? (
              <p className="text-ink-2">
                {t('settings.none')} {docs === null ? null : <a href={docs}>{t('settings.askDocs')}</a>}
              </p>
            ) : null}
            {tab === 'other' && !everywhere ? <SystemInfo /> : null}
            {list !== undefined && prices ? (
              <Suspense fallback={<Waiting />}>
                <PriceBlock keys={priceKeys} options={options} onSaved={reread} />
              </Suspense>
            ) : null}
            {list === undefined
              ? null
              : cardsOf([...panels].slice(0, mounted), !everywhere).map(({ first, rows }) =>
                  rows.length === 0 ? (
                    panelOf(first, 'card')
                  ) : (
                    <div key={first[0]} className="rounded-3 border border-line bg-surface">
                      {panelOf(first, 'inside')}
                      {rows.map((row) => panelOf(row, 'row'))}
                    </div>
                  ),
                )}
          </div>
          <ChangesBar options={options} />
        </div>
      </div>
    </>
  );
}
