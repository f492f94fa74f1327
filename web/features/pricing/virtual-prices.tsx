/** Virtual models that the reader may ask for, with the price of each target: charged is the one that serves. */
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { TargetPrice } from '../../components/prices/target-price.tsx';
import type { PriceList } from './price-rows.ts';

export function VirtualPrices({ chains }: { readonly chains: NonNullable<PriceList['virtual_models']> }) {
  const { t } = useTranslation();
  return (
    <div className="px-5 pt-5 pb-6">
      <Card title={t('pricing.virtual')}>
        <p className="mb-2 text-[12px] leading-4 text-ink-3">{t('pricing.virtualHelp')}</p>
        <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2 xl:grid-cols-3">
          {chains.map(({ name, targets }) => (
            <li key={name} className="min-w-0">
              <h3 className="font-medium break-words text-ink-1">{name}</h3>
              <ol>
                {targets.map(({ model, group, price }, at) => (
                  <li
                    // biome-ignore lint/suspicious/noArrayIndexKey: a model may be a target twice
                    key={at}
                    className="flex flex-wrap items-baseline gap-x-2 py-0.5"
                  >
                    <span className="text-ink-3 tabular-nums">{at + 1}</span>
                    <span className="mr-auto min-w-0 break-words">{model}</span>
                    <span className="text-[12px] text-ink-3">{group}</span>
                    <TargetPrice price={price} />
                  </li>
                ))}
              </ol>
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}
