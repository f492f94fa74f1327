/** An invoice or a credit note on paper. */
import { useTranslation } from 'react-i18next';
import type { Invoice } from '../../../server/contract/invoice.ts';
import { amountText } from '../../../server/contract/invoice-text.ts';
import { withThousands } from '../../lib/format.ts';
import { amountIn } from '../../lib/money.ts';
import { methodName } from '../../lib/payment-method.ts';
import { Paper, PartyBlock, printed, Sums } from './paper.tsx';

export function InvoicePaper({ invoice }: { readonly invoice: Invoice }) {
  const { t } = useTranslation();
  const { kind, seller, buyer, minor, currency, tax_rate: rate } = invoice;
  const isNote = kind === 'credit_note';
  const money = (amount: number): string =>
    printed(`${withThousands(amountText(amount, minor))} ${currency.toUpperCase()}`);
  const credit = amountIn(
    Math.abs(invoice.quota),
    { inCurrency: invoice.in_currency, quotaPerUnit: invoice.quota_per_unit },
    'short',
  );
  return (
    <Paper
      title={t(isNote ? 'paper.creditNote' : 'paper.invoice')}
      name={`${invoice.number} · ${seller.name}`}
      from={<PartyBlock label={t('paper.seller')} party={seller} />}
      to={<PartyBlock label={t('paper.buyer')} party={{ ...buyer, name: buyer.name || buyer.username }} />}
      facts={[
        [t('paper.number'), invoice.number],
        ...(isNote ? [[t('paper.corrects'), invoice.corrects] as const] : []),
        [t('paper.date'), invoice.date],
        [t('paper.order'), invoice.trade_no],
      ]}
    >
      <table className="paper-amounts">
        <caption className="sr-only">{t(isNote ? 'paper.creditNote' : 'paper.invoice')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('paper.description')}</th>
            <th scope="col" className="number">
              {t('paper.amount')}
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>
              {t(isNote ? 'paper.creditTaken' : 'paper.credit', { credit })}
              <span className="paper-small">
                {t(isNote ? 'paper.wasPaidBy' : 'paper.paidBy', { method: methodName(t, invoice.method) })}
              </span>
            </td>
            <td className="number">{money(invoice.gross)}</td>
          </tr>
        </tbody>
        <Sums
          span={1}
          rows={[
            ...(rate === ''
              ? []
              : ([
                  [t('paper.net'), money(invoice.net)],
                  [t('paper.tax', { name: invoice.tax_name, rate }), money(invoice.tax)],
                ] as const)),
            [t(isNote ? 'paper.givenBack' : 'paper.paid'), money(invoice.gross)],
          ]}
        />
      </table>
      {invoice.note === '' ? null : <p className="paper-note whitespace-pre-line">{invoice.note}</p>}
    </Paper>
  );
}
