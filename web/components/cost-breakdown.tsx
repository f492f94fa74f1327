/** What a request cost, line by line. */

import { useTranslation } from 'react-i18next';
import { type BillLine, recompute } from '../../server/contract/pricing/charge.ts';
import { priceOfRatio } from '../../server/contract/pricing/format.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import { dollarText } from '../lib/currency.ts';
import { grouped } from '../lib/format.ts';
import { useMoney } from '../lib/money.ts';

const labels = {
  input: 'logs.input',
  cache_read: 'logs.cacheRead',
  cache_write: 'logs.cacheWrite',
  cache_write_1h: 'logs.cacheWrite1h',
  cache_write_12h: 'logs.cacheWrite12h',
  output: 'logs.output',
  call: 'logs.call',
} as const satisfies Record<BillLine['kind'], string>;

/** What a line comes to at its price; the ratios below the lines hold for all of them. @returns quota, with a fraction. */
const amountOf = ({ kind, tokens, ratio, modelRatio }: BillLine, prices: Prices): number =>
  kind === 'call' ? tokens * ratio * prices.quotaPerUnit : tokens * ratio * (modelRatio ?? prices.modelRatio);

/** Beyond what sums of doubles are off by. */
const tiny = 1e-6;

/**
 * Whole quota for each line. Sums are rounded, not lines, so that the lines add up.
 * @param carried what earlier requests left of a unit, counted with the first line; absent = the sum was rounded half up.
 */
function amountsOf(lines: readonly BillLine[], prices: Prices, carried: number | undefined): readonly number[] {
  let [sum, before] = [carried ?? 0, 0];
  return lines.map((line) => {
    sum += amountOf(line, prices);
    const amount = (carried === undefined ? Math.round(sum) : Math.floor(sum + tiny)) - before;
    before += amount;
    return amount;
  });
}

export function CostBreakdown({ details }: { readonly details: Readonly<Record<string, unknown>> }) {
  const { t } = useTranslation();
  const money = useMoney();
  const bill = recompute(details);
  if (bill === null) return null;
  const amounts = amountsOf(bill.lines, bill.prices, bill.carried);
  const { modelPrice, modelRatio, channel } = bill.prices;
  const { groupRatio = bill.prices.groupRatio, factor = 1 } = channel ?? {};
  const { carried = 0 } = bill;
  // What is in the price of each line already, or changes nothing, is no step of the sum.
  const notes = [
    ...(modelPrice === null ? [t('logs.priceMade', { ratio: modelRatio, unit: priceOfRatio(1) })] : []),
    ...(groupRatio === 1 ? [`${t('logs.groupRatio')} × 1`] : []),
  ];
  const ratio = (name: string, times: number) => (
    <tr key={name}>
      <td colSpan={2}>{name}</td>
      <td>× {times}</td>
      <td />
    </tr>
  );
  return (
    <section className="mb-6">
      <h2 className="mb-2 font-semibold">{t('logs.bill')}</h2>
      <table className="bill">
        <thead>
          <tr>
            <td />
            <th scope="col">{t('logs.tokens')}</th>
            <th scope="col">{t('logs.price')}</th>
            <th scope="col">{t('logs.amount')}</th>
          </tr>
        </thead>
        <tbody>
          {bill.lines.map((line, at) => (
            <tr key={`${line.kind} ${line.detail ?? ''}`}>
              <td>
                {t(labels[line.kind])}
                {line.detail === undefined ? '' : ` (${line.detail})`}
              </td>
              <td>{grouped(line.tokens)}</td>
              <td>
                {line.kind === 'call' || modelPrice !== null ? (
                  `× ${line.kind === 'call' ? `$${line.ratio}` : line.ratio}`
                ) : (
                  <>
                    <span className="mr-2 text-ink-3">
                      × {line.ratio}
                      {line.modelRatio === undefined ? '' : ` (${t('logs.modelRatio')} ${line.modelRatio})`}
                    </span>
                    {t('logs.perMillion', {
                      price: `$${dollarText(priceOfRatio((line.modelRatio ?? modelRatio) * line.ratio))}`,
                    })}
                  </>
                )}
              </td>
              <td>{money(amounts[at], 'exact')}</td>
            </tr>
          ))}
          {(bill.prices.surcharges ?? []).map(({ name, ratio: times }) => ratio(name, times))}
          {groupRatio === 1 ? null : ratio(t('logs.groupRatio'), groupRatio)}
          {factor === 1 ? null : ratio(t('logs.channelFactor'), factor)}
          {carried === 0 ? null : (
            <tr>
              <td colSpan={2}>{t('logs.carried')}</td>
              <td>+ {carried}</td>
              <td />
            </tr>
          )}
          <tr className="total">
            <td>{t('logs.total')}</td>
            <td colSpan={3}>
              {t('logs.quotaOf', { quota: grouped(bill.quota) })} = {money(bill.quota, 'exact')}
            </td>
          </tr>
        </tbody>
      </table>
      {notes.length === 0 ? null : <p className="mt-2 text-[12px] text-ink-3">{notes.join(' · ')}</p>}
    </section>
  );
}
