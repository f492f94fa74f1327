/** Prices in five views: the maps as text, models one by one, models without a price, prices that wait for a word, and earlier changes. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'wouter';
import { type OptionKey, optionRow } from '../../../../server/contract/options.ts';
import { type PriceChange, pricesDiffer } from '../../../../server/contract/pricing/diff.ts';
import { Changes } from '../../../components/prices/changes.tsx';
import { History } from '../../../components/prices/history.tsx';
import { Segment } from '../../../components/segment.tsx';
import { Select } from '../../../components/select.tsx';
import { call } from '../../../lib/api.ts';
import { attempt } from '../../../lib/attempt.ts';
import { useDirty } from '../../../lib/dirty-form.ts';
import { useNarrow } from '../../../lib/narrow.ts';
import { useUser } from '../../../lib/session.ts';
import { offerUndo } from '../../../lib/undo.ts';
import { Panel } from '../panel.tsx';
import type { Options } from '../use-options.ts';
import { ModelList } from './model-list.tsx';
import { editedMaps, type MapTexts } from './price-maps.ts';
import { Proposals } from './proposals.tsx';
import { UnsetModels } from './unset-models.tsx';

const views = ['model', 'visual', 'unset_models', 'proposals', 'history'] as const;

export interface PriceBlockProps {
  readonly keys: readonly OptionKey[];
  readonly options: Options;
  readonly onSaved: () => void;
}

type View = (typeof views)[number];

function ViewTabs({ view }: { readonly view: View }) {
  const { t } = useTranslation();
  const [, setQuery] = useSearchParams();
  const props = {
    label: t('settings.panel.pricing'),
    value: view,
    options: views.map((name): readonly [View, string] => [name, t(`prices.view.${name}`)]),
    onChange: (name: View) => setQuery({ tab: 'operation', block: name }, { replace: true }),
  };
  // Side by side they are wider than a phone.
  return useNarrow() ? <Select {...props} /> : <Segment {...props} />;
}

export function PriceBlock({ keys, options, onSaved }: PriceBlockProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const role = useUser()?.role ?? 0;
  const [query] = useSearchParams();
  const [draft, setDraft] = useState<MapTexts | null>(null);
  const [confirm, setConfirm] = useState<'save' | 'reset' | null>(null);
  const view = views.find((name) => name === query.get('block')) ?? 'model';
  const textOf = (key: OptionKey): string => options.stored.get(key)?.value ?? optionRow(key).fallback;
  const current: MapTexts = {
    ModelPrice: textOf('ModelPrice'),
    ModelRatio: textOf('ModelRatio'),
    CompletionRatio: textOf('CompletionRatio'),
  };
  const changes: readonly PriceChange[] =
    draft === null ? [] : editedMaps.flatMap((key) => pricesDiffer(key, current[key], draft[key]));
  useDirty(changes.length > 0);
  const toShipped = pricesDiffer('ModelRatio', current.ModelRatio, optionRow('ModelRatio').fallback);
  const mayReset = role >= optionRow('ModelRatio').role;
  const done = async () => {
    setConfirm(null);
    setDraft(null);
    onSaved();
    await client.invalidateQueries({ queryKey: ['ratio'] });
  };

  const store = async () => {
    if (draft === null) return;
    const keys = editedMaps.filter((key) => changes.some((change) => change.key === key));
    // One save is one version, to be put back as one.
    const save = (texts: MapTexts) =>
      call('ratio.apply', { values: Object.fromEntries(keys.map((key) => [key, texts[key]])), reason: 'set' });
    if (!(await attempt(() => save(draft)))) return;
    await done();
    offerUndo({
      back: () => save(current),
      done: t('settings.saved'),
      refresh: done,
    });
  };
  const putBack = async () => {
    if (await attempt(() => call('option.reset_ratios'), t('settings.saved'))) await done();
  };

  return (
    <section aria-label={t('settings.panel.pricing')} className="in-card rounded-3 border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2.5">
        <h2 className="font-semibold max-sm:sr-only">{t('settings.panel.pricing')}</h2>
        <ViewTabs view={view} />
        <span className="flex items-center gap-3 max-sm:contents sm:ml-auto">
          <Link href="/pricing" className="max-sm:hidden">
            {t('nav.pricing')}
          </Link>
          {view === 'model' ? (
            <button
              type="button"
              className="button"
              disabled={toShipped.length === 0 || !mayReset}
              onClick={() => setConfirm('reset')}
            >
              {t('prices.reset')}
            </button>
          ) : view === 'history' || view === 'proposals' ? null : (
            <button
              type="button"
              className={`button ${changes.length > 0 ? 'button-primary max-sm:flex-1' : 'max-sm:hidden'}`}
              disabled={changes.length === 0}
              onClick={() => setConfirm('save')}
            >
              {t('prices.save', { count: changes.length })}
            </button>
          )}
        </span>
      </header>
      {view !== 'model' ? null : <Panel title={t('prices.maps')} keys={keys} options={options} place="inside" />}
      {view === 'model' ? null : view === 'visual' ? (
        <ModelList texts={draft ?? current} onChange={setDraft} />
      ) : view === 'unset_models' ? (
        <UnsetModels texts={draft ?? current} onChange={setDraft} />
      ) : view === 'proposals' ? (
        <Proposals onSaved={onSaved} />
      ) : (
        <History onSaved={onSaved} />
      )}
      {confirm === 'save' && draft !== null ? (
        <Changes
          title={t('prices.saveTitle')}
          changes={changes}
          action={t('app.save')}
          onClose={() => setConfirm(null)}
          onConfirm={store}
        />
      ) : null}
      {confirm === 'reset' ? (
        <Changes
          title={t('prices.resetTitle')}
          changes={toShipped}
          action={t('prices.reset')}
          onClose={() => setConfirm(null)}
          onConfirm={putBack}
        />
      ) : null}
    </section>
  );
}
