/** All options, rendered from their catalogue: tabs, panels, search, what differs from its default. */

import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { textIn } from '../../../server/contract/language.ts';
import { type OptionKey, optionKeys, optionRow } from '../../../server/contract/options.ts';
import { FailureNote } from '../../components/failure.tsx';
import { SearchField } from '../../components/filters.tsx';
import { PageHead } from '../../components/page.tsx';
import { Select } from '../../components/select.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { useList } from '../../lib/read.ts';
import { AlertTest } from './extras/alert-test.tsx';
import { BackupNow } from './extras/backup-now.tsx';
import { ClearLogs } from './extras/clear-logs.tsx';
import { OidcDiscovery } from './extras/oidc-discovery.tsx';
import { SystemInfo } from './extras/system-info.tsx';
import { Panel } from './panel.tsx';
import { PriceBlock } from './prices/price-block.tsx';
import { type Options, useOptions } from './use-options.ts';

const tabs = ['operation', 'ratelimit', 'models', 'system', 'other'] as const;
type Tab = (typeof tabs)[number];

/** Panels of a tab in the catalogue's order, each with its keys. */
function panelsOf(keys: readonly OptionKey[]): ReadonlyMap<string, readonly OptionKey[]> {
  const panels = new Map<string, OptionKey[]>();
  for (const key of keys) {
    const { panel } = optionRow(key);
    panels.set(panel, [...(panels.get(panel) ?? []), key]);
  }
  return panels;
}

const anchorOf = (panel: string): string => `settings-${panel}`;

interface IndexProps {
  /** null = what is shown is of all of them. */
  readonly tab: Tab | null;
  readonly panels: readonly string[];
  readonly onGo: (tab: Tab) => void;
}

/** At the left of the page; on a phone one list to choose from. */
function Index({ tab, panels, onGo }: IndexProps) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const names = tabs.map((name) => [name, t(`settings.tab.${name}`)] as const);
  if (narrow)
    return (
      <div className="px-5 pb-3">
        <Select<Tab | ''>
          className="field"
          label={t('settings.title')}
          value={tab ?? ''}
          options={tab === null ? [['', t('settings.everywhere')], ...names] : names}
          onChange={(name) => {
            if (name !== '') onGo(name);
          }}
        />
      </div>
    );
  return (
    <nav
      aria-label={t('settings.title')}
      className="sticky top-0 max-h-[calc(100dvh-48px)] w-44 flex-none self-start overflow-auto pt-1 pb-4 pl-3"
    >
      <ul>
        {names.map(([name, text]) => (
          <li key={name}>
            <button
              type="button"
              aria-current={name === tab ? 'page' : undefined}
              className={`flex min-h-7 w-full items-center rounded-2 px-2 text-left ${name === tab ? 'font-medium text-accent-text' : 'text-ink-2 hover:bg-hover'}`}
              onClick={() => onGo(name)}
            >
              {text}
            </button>
            {name === tab ? (
              <ul className="mb-2 ml-2 border-l border-line pl-1">
                {panels.map((panel) => (
                  <li key={panel}>
                    <a
                      href={`#${anchorOf(panel)}`}
                      className="flex min-h-6 items-center rounded-2 px-2 text-[12px] text-ink-2 hover:bg-hover"
                      onClick={(event) => {
                        event.preventDefault();
                        const place = document.getElementById(anchorOf(panel));
                        place?.scrollIntoView({ block: 'start' });
                        place?.querySelector<HTMLElement>('input, textarea, button')?.focus({ preventScroll: true });
                      }}
                    >
                      {t(`settings.panel.${panel as 'login'}`)}
                    </a>
                  </li>
                ))}
              </ul>
            ) : null}
          </li>
        ))}
      </ul>
    </nav>
  );
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
      className="sticky bottom-0 z-10 -mx-5 flex flex-wrap items-center gap-2 border-t border-line-strong bg-raised px-5 py-2.5"
    >
      <p role="status" className="min-w-0 flex-1 truncate max-sm:basis-full">
        <b className="font-semibold">{t('settings.changes', { count: changed.length })}</b>
        <span className="text-ink-2">
          {`: ${changed.map((key) => textIn(optionRow(key).label, currentLanguage())).join(' · ')}`}
        </span>
      </p>
      <button type="button" className="button" onClick={options.discard}>
        {t('settings.discard')}
      </button>
      <button type="button" className="button button-primary" onClick={() => void save()}>
        {t('settings.saveAll')}
      </button>
    </section>
  );
}

export function SettingsPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [query, setQuery] = useSearchParams();
  const tab = tabs.find((name) => name === query.get('tab')) ?? 'operation';
  const search = query.get('q') ?? '';
  const details = useList({ queryKey: ['options'], queryFn: () => call('option.details') });
  const stored = new Map((details.data ?? []).map((option) => [option.key, option]));
  const reread = () => client.invalidateQueries({ queryKey: ['options'] });
  const options = useOptions(stored, () => void reread());
  const needle = search.trim().toLowerCase();
  const onlyChanged = query.get('changed') === 'true';
  const everywhere = needle !== '' || onlyChanged;
  const found = (key: OptionKey): boolean => {
    const { label, tab: place, secret, fallback } = optionRow(key);
    if (place === 'legacy') return false;
    const option = stored.get(key);
    const changed = secret ? option?.is_set === true : (option?.value ?? fallback) !== fallback;
    if (onlyChanged && !changed) return false;
    if (needle === '') return onlyChanged || place === tab;
    const { zh, en } = optionRow(key).help;
    const text = `${key} ${label.zh} ${label.en} ${zh} ${en}`.toLowerCase();
    return needle.split(/\s+/).every((word) => text.includes(word));
  };
  const setFilter = (change: { readonly q?: string; readonly changed?: boolean }) => {
    const next = { q: search, changed: onlyChanged, ...change };
    setQuery(
      { tab, ...(next.q === '' ? {} : { q: next.q }), ...(next.changed ? { changed: 'true' } : {}) },
      { replace: true },
    );
  };
  const panels = panelsOf(optionKeys.filter(found));
  const go = (name: Tab) => setQuery({ tab: name }, { replace: true });

  return (
    <>
      <PageHead title={t('settings.title')}>
        <SearchField
          slash
          className="w-56"
          label={t('settings.search')}
          value={search}
          onChange={(value) => setFilter({ q: value })}
        />
        <button
          type="button"
          aria-pressed={onlyChanged}
          className={`button ${onlyChanged ? 'bg-accent-soft text-accent-text' : ''}`}
          onClick={() => setFilter({ changed: !onlyChanged })}
        >
          {t('settings.onlyChanged')}
        </button>
      </PageHead>
      <div className="sm:flex">
        <Index tab={everywhere ? null : tab} panels={[...panels.keys()]} onGo={go} />
        <div className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)] content-start gap-4 px-5">
          {details.failure === null ? null : (
            <FailureNote failure={details.failure} title={t('settings.refreshFailed')} />
          )}
          {details.pending ? <Waiting /> : null}
          {details.data !== undefined && panels.size === 0 ? <p className="text-ink-2">{t('settings.none')}</p> : null}
          {tab === 'other' && !everywhere ? <SystemInfo /> : null}
          {details.data === undefined
            ? null
            : [...panels].map(([panel, keys]) =>
                panel === 'pricing' && !everywhere ? (
                  <PriceBlock key={panel} id={anchorOf(panel)} keys={keys} options={options} onSaved={reread} />
                ) : (
                  <Panel
                    key={`${panel}|${everywhere}`}
                    id={anchorOf(panel)}
                    showKey={everywhere}
                    title={t(`settings.panel.${panel as 'login'}`)}
                    keys={keys}
                    options={options}
                    extra={
                      panel === 'logs' ? (
                        <ClearLogs />
                      ) : panel === 'alertTargets' ? (
                        <AlertTest />
                      ) : panel === 'backups' ? (
                        <BackupNow />
                      ) : panel === 'oidc' ? (
                        <OidcDiscovery stored={stored.get('oidc.well_known')?.value ?? ''} onSaved={reread} />
                      ) : undefined
                    }
                  />
                ),
              )}
          <ChangesBar options={options} />
        </div>
      </div>
    </>
  );
}
