/** Models and their prices: what each takes and costs in the group the reader looks at; a page for each. */
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SearchField } from '../../components/filters.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { History } from '../../components/prices/history.tsx';
import { Segment } from '../../components/segment.tsx';
import { sizeText } from '../../lib/currency.ts';
import { useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';
import { MissingPrice, priceOf, suggestedIn } from './missing-price.tsx';
import { ModelPage } from './model-page.tsx';
import { contextSizes, filtered, isPriced, modalities, outputLimits } from './model-rows.ts';
import { ModelsView } from './models-view.tsx';
import { RatiosView } from './ratios-view.tsx';
import { PriceSimulation } from './simulate.tsx';
import { type Models, useModels, usePricing } from './use-models.ts';
import { VirtualPrices } from './virtual-prices.tsx';

/** The model an address is of; '' = the list. */
function modelIn(path: string): string {
  const rest = path.replace(/^\/pricing\/?/, '');
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

function Bar({ models }: { readonly models: Models }) {
  const { t } = useTranslation();
  const url = useUrl();
  const ratios = url.get('view') === 'ratios';
  const makers = [...new Set(models.views.flatMap(({ maker }) => maker?.en ?? []))].sort();
  const groups = Object.entries(models.list?.group_ratio ?? {});
  const search = (
    <SearchField
      slash
      className="h-7 w-52"
      label={t('pricing.search')}
      value={url.get('q')}
      onChange={(value) => url.set('q', value)}
    />
  );
  return (
    <>
      {ratios ? (
        search
      ) : (
        <FilterBar
          filters={[
            {
              name: 'takes',
              label: t('pricing.takes'),
              options: modalities.map((one) => [one, t(`pricing.take.${one}`)] as const),
            },
            { name: 'out', label: t('pricing.out'), options: outputLimits.map((one) => [one, `≤ $${one}`] as const) },
            {
              name: 'context',
              label: t('pricing.context'),
              options: contextSizes.map((one) => [one, `≥ ${sizeText(Number(one))}`] as const),
            },
            { name: 'maker', label: t('pricing.maker'), options: makers.map((one) => [one, one] as const) },
            {
              name: 'group',
              label: t('pricing.group'),
              options: groups.map(([name, ratio]) => [name, `${name} ×${ratio}`] as const),
            },
          ]}
        >
          {search}
        </FilterBar>
      )}
      <Segment
        label={t('pricing.viewAs')}
        value={ratios ? 'ratios' : ''}
        options={[
          ['', t('pricing.perMillion')],
          ['ratios', t('pricing.asRatios')],
        ]}
        onChange={(view) => url.set('view', view)}
      />
    </>
  );
}

/** Which group's prices are shown. */
function OwnGroup({ models, ratios }: { readonly models: Models; readonly ratios: boolean }) {
  const { t } = useTranslation();
  const user = useUser();
  const ratioOf = (name: string): number => models.list?.group_ratio[name] ?? 1;
  const own = user?.group || 'default';
  // Dollars are what a visitor would pay: nothing to be warned of.
  if (user === null && !ratios)
    return (
      <p className="mx-5 mb-3 flex flex-wrap items-center gap-x-3 text-ink-2">
        {t('pricing.asVisitor')}
        <Link href="/login" className="underline">
          {t('pricing.logIn')}
        </Link>
      </p>
    );
  return (
    <p
      className={`mx-5 mb-3 rounded-2 px-3 py-1.5 text-[12px] ${user === null ? 'bg-warning-soft text-warning' : 'bg-success-soft text-success'}`}
    >
      {user === null
        ? t('pricing.anonymous', { ratio: ratioOf('default') })
        : t('pricing.own', { group: own, ratio: ratioOf(own) })}
    </p>
  );
}

function PriceListPage({ models }: { readonly models: Models }) {
  const { t } = useTranslation();
  const url = useUrl();
  const pricing = usePricing();
  const [open, setOpen] = useState<'history' | 'simulate' | null>(null);
  const ratios = url.get('view') === 'ratios';
  const { get } = url;
  const rows = useMemo(() => filtered(models.views, { get }), [models.views, get]);
  const unpriced = models.all.filter((one) => !isPriced(one));
  const suggested = models.mayPrice ? suggestedIn(models.all) : [];
  const apply = (some: typeof suggested) =>
    pricing.store(Object.fromEntries(some.map((one) => [one.model, priceOf(one)])));
  const count = (
    <>
      {ratios ? (models.list?.data.length ?? 0) : rows.length}
      {unpriced.length === 0 ? null : (
        <span className="max-sm:hidden">{` · ${t('pricing.countUnpriced', { count: unpriced.length })}`}</span>
      )}
    </>
  );
  const chains = models.list?.virtual_models ?? [];
  const bar = <Bar models={models} />;
  return (
    // A visitor's page has no sidebar: its columns stay near each other, in line with the home page, and its table ends where the page does.
    <div className={useUser() === null ? 'mx-auto max-w-7xl sm:[&_section:has(>.sheet-table)]:mx-5' : undefined}>
      <PageHead title={t('nav.pricing')} count={models.pending || models.failure !== null ? undefined : count}>
        {models.admin ? (
          <>
            <button type="button" className="button" onClick={() => setOpen('history')}>
              {t('pricing.history')}
            </button>
            <button type="button" className="button" onClick={() => setOpen('simulate')}>
              {t('pricing.simulateOpen')}
            </button>
          </>
        ) : null}
        {suggested.length === 0 ? null : (
          <button type="button" className="button button-primary max-sm:hidden" onClick={() => void apply(suggested)}>
            {t('pricing.applyAll', { count: suggested.length })}
          </button>
        )}
      </PageHead>
      {models.admin && !ratios ? <MissingPrice models={models.all} onApply={(some) => void apply(some)} /> : null}
      {models.admin && !ratios ? null : <OwnGroup models={models} ratios={ratios} />}
      {ratios ? <RatiosView models={models} bar={bar} /> : <ModelsView models={models} rows={rows} bar={bar} />}
      {chains.length === 0 || ratios ? null : <VirtualPrices chains={chains} />}
      {open === 'history' ? (
        <Sheet title={t('pricing.history')} onClose={() => setOpen(null)}>
          <div className="-mx-5 -my-4">
            <History onSaved={() => void pricing.refresh()} />
          </div>
        </Sheet>
      ) : null}
      {open === 'simulate' ? (
        <PriceSimulation
          models={rows.flatMap(({ admin }) => admin ?? [])}
          onClose={() => setOpen(null)}
          onApply={async (prices) => {
            if (await pricing.store(prices)) setOpen(null);
          }}
        />
      ) : null}
    </div>
  );
}

export function PricingPage() {
  const [path] = useLocation();
  const url = useUrl();
  const models = useModels(url.get('group'));
  const model = modelIn(path);
  return model === '' ? <PriceListPage models={models} /> : <ModelPage key={model} model={model} models={models} />;
}
