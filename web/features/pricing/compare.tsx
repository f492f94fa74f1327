/** Models side by side: the cheaper price and the larger context stand out. */

import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { textIn } from '../../../server/contract/language.ts';
import { Sheet } from '../../components/overlay.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { TrafficBars } from '../../components/traffic-bars.tsx';
import { dollarText, sizeText } from '../../lib/currency.ts';
import { grouped, percentText } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { modalityText } from './model-columns.tsx';
import { type ModelView, marginOf } from './model-rows.ts';

export function Compare({ onClose, ...props }: ComparisonProps & { readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Sheet title={t('pricing.compareTitle')} onClose={onClose}>
      <Comparison {...props} />
    </Sheet>
  );
}

interface ComparisonProps {
  readonly models: readonly ModelView[];
}

export function Comparison({ models }: ComparisonProps) {
  const { t } = useTranslation();
  const admin = models.some((one) => one.admin !== null);
  const line = (label: string, cell: (one: ModelView) => ReactNode) => (
    <tr key={label}>
      <th scope="row" className="text-left text-[12px] font-medium text-ink-3">
        {label}
      </th>
      {models.map((one) => (
        <td key={one.model} className="number">
          {cell(one)}
        </td>
      ))}
    </tr>
  );
  /** @param best which of the values is the better one. */
  const metric = (
    label: string,
    of: (one: ModelView) => number | null,
    text: (value: number | null) => string,
    best: (...values: number[]) => number,
  ) => {
    const known = models.flatMap((one) => of(one) ?? []);
    const bestValue = new Set(known).size > 1 ? best(...known) : null;
    return line(label, (one) =>
      of(one) !== null && of(one) === bestValue ? (
        <strong className="font-semibold text-success">{text(of(one))}</strong>
      ) : (
        text(of(one))
      ),
    );
  };
  return (
    <Scrolls className="-mx-5 overflow-x-auto" aria-label={t('pricing.compareTitle')}>
      <table className="sheet-table compact">
        <thead>
          <tr>
            <th scope="col">{t('pricing.model')}</th>
            {models.map((one) => (
              <th key={one.model} scope="col" className="number font-mono">
                {one.model}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {line(t('pricing.maker'), (one) => (one.maker === null ? '–' : textIn(one.maker, currentLanguage())))}
          {metric(t('pricing.in'), (one) => one.input, dollarText, Math.min)}
          {metric(t('pricing.out'), (one) => one.output, dollarText, Math.min)}
          {metric(t('pricing.cached'), (one) => one.cached, dollarText, Math.min)}
          {models.some((one) => one.perCall !== null)
            ? metric(t('pricing.perCall'), (one) => one.perCall, dollarText, Math.min)
            : null}
          {metric(t('pricing.context'), (one) => one.context, sizeText, Math.max)}
          {metric(t('pricing.longest'), (one) => one.longest, sizeText, Math.max)}
          {line(t('pricing.takes'), (one) => modalityText(t, one.takes))}
          {line(t('pricing.groups'), (one) => one.groups.join(', '))}
          {admin
            ? [
                metric(t('pricing.margin'), marginOf, (value) => (value === null ? '–' : percentText(value)), Math.max),
                line(t('pricing.channels'), (one) => one.admin?.channels.length ?? '–'),
                line(t('pricing.requests'), (one) => grouped(one.admin?.requests ?? 0)),
                line(t('pricing.day'), (one) => <TrafficBars bars={one.admin?.bars ?? []} />),
              ]
            : null}
        </tbody>
      </table>
    </Scrolls>
  );
}
