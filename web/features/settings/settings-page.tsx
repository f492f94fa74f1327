/** All options, rendered from their catalogue: tabs, panels, search, what differs from its default. */

import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'wouter';
import { type OptionKey, optionKeys, optionRow } from '../../../server/contract/options.ts';
import { FailureNote } from '../../components/failure.tsx';
import { SearchField } from '../../components/filters.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useList } from '../../lib/read.ts';
import { AlertTest } from './extras/alert-test.tsx';
import { BackupNow } from './extras/backup-now.tsx';
import { ClearLogs } from './extras/clear-logs.tsx';
import { OidcDiscovery } from './extras/oidc-discovery.tsx';
import { SystemInfo } from './extras/system-info.tsx';
import { Panel } from './panel.tsx';
import { PriceBlock } from './prices/price-block.tsx';

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

interface TabsProps {
  /** null = what is shown is of all of them. */
  readonly tab: Tab | null;
  readonly onGo: (tab: Tab) => void;
}

function Tabs({ tab, onGo }: TabsProps) {
  const { t } = useTranslation();
  return (
    <div
      role="tablist"
      aria-label={t('settings.title')}
      className="flex gap-1 overflow-x-auto border-b border-line px-5"
    >
      {tabs.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === tab}
          className={`-mb-px border-b-2 px-3 py-2 whitespace-nowrap ${name === tab ? 'border-accent font-medium text-ink-1' : 'border-transparent text-ink-2 hover:text-ink-1'}`}
          onClick={() => onGo(name)}
        >
          {t(`settings.tab.${name}`)}
        </button>
      ))}
    </div>
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
  const look = (change: { readonly q?: string; readonly changed?: boolean }) => {
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
          className="w-56"
          label={t('settings.search')}
          value={search}
          onChange={(value) => look({ q: value })}
        />
        <button
          type="button"
          aria-pressed={onlyChanged}
          className={`button ${onlyChanged ? 'bg-accent-soft text-accent-text' : ''}`}
          onClick={() => look({ changed: !onlyChanged })}
        >
          {t('settings.onlyChanged')}
        </button>
      </PageHead>
      <Tabs tab={everywhere ? null : tab} onGo={go} />
      <div className="grid max-w-4xl gap-4 px-5 py-4">
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
                <PriceBlock
                  key={panel}
                  keys={keys}
                  stored={stored}
                  language={currentLanguage()}
                  onSaved={() => client.invalidateQueries({ queryKey: ['options'] })}
                />
              ) : (
                <Panel
                  key={`${panel}|${everywhere}`}
                  technical={everywhere}
                  title={t(`settings.panel.${panel as 'login'}`)}
                  keys={keys}
                  stored={stored}
                  language={currentLanguage()}
                  onSaved={() => client.invalidateQueries({ queryKey: ['options'] })}
                  extra={
                    panel === 'logs' ? (
                      <ClearLogs />
                    ) : panel === 'alertTargets' ? (
                      <AlertTest />
                    ) : panel === 'backups' ? (
                      <BackupNow />
                    ) : panel === 'oidc' ? (
                      <OidcDiscovery
                        stored={stored.get('oidc.well_known')?.value ?? ''}
                        onSaved={() => client.invalidateQueries({ queryKey: ['options'] })}
                      />
                    ) : undefined
                  }
                />
              ),
            )}
      </div>
    </>
  );
}
