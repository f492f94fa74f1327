/** What a request cost, line by line. */

import { useTranslation } from 'react-i18next';
import { type BillLine, recompute } from '../../../server/contract/pricing/charge.ts';
import { priceOfRatio } from '../../../server/contract/pricing/format.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../shell/money.ts';

const labels = {
  input: 'logs.input',
  cache_read: 'logs.cacheRead',
  cache_write: 'logs.cacheWrite',
  cache_write_1h: 'logs.cacheWrite1h',
  output: 'logs.output',
  call: 'logs.call',
} as const satisfies Record<BillLine['kind'], string>;

export function CostBreakdown({ details }: { readonly details: Readonly<Record<string, unknown>> }) {
  const { t } = useTranslation();
  const money = useMoney();
  const bill = recompute(details);
  if (bill === null) return null;
  return (
    <section className="mb-6">
      <h2 className="mb-2 font-semibold">{t('logs.bill')}</h2>
      <table className="bill">
        <tbody>
          {bill.lines.map((line) => (
            <tr key={`${line.kind} ${line.detail ?? ''}`}>
              <td>
                {t(labels[line.kind])}
                {line.detail === undefined ? '' : ` (${line.detail})`}
              </td>
              <td>
                {grouped(line.tokens)} × {line.kind === 'call' ? `$${line.ratio}` : line.ratio}
                {line.modelRatio === undefined ? '' : ` (${t('logs.modelRatio')} ${line.modelRatio})`}
                {line.kind === 'call' || bill.prices.modelPrice !== null ? null : (
                  <span className="ml-2 text-ink-3">
                    {t('logs.perMillion', {
                      price: `$${priceOfRatio((line.modelRatio ?? bill.prices.modelRatio) * line.ratio)}`,
                    })}
                  </span>
                )}
              </td>
            </tr>
          ))}
          {bill.prices.modelPrice === null ? (
            <tr>
              <td>{t('logs.modelRatio')}</td>
              <td>× {bill.prices.modelRatio}</td>
            </tr>
          ) : null}
          {(bill.prices.surcharges ?? []).map(({ name, ratio }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>× {ratio}</td>
            </tr>
          ))}
          <tr>
            <td>{t('logs.groupRatio')}</td>
            <td>× {bill.prices.groupRatio}</td>
          </tr>
          <tr className="total">
            <td>{t('logs.total')}</td>
            <td>
              {grouped(bill.quota)} = {money(bill.quota, 'exact')}
            </td>
          </tr>
        </tbody>
      </table>
    </section>
  );
}
