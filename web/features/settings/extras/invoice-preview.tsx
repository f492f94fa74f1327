/** An invoice as it would look with what is typed in the panel. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Invoice, taxParts } from '../../../../server/contract/invoice.ts';
import { InvoicePaper } from '../../../components/paper/invoice-paper.tsx';
import { useMoneyDetails } from '../../../lib/money.ts';
import type { Options } from '../use-options.ts';

const gross = 7300;
const dollars = 10;
const maxRate = 100;

/** @param text as it is typed. */
const rateOf = (text: string): number => {
  const rate = Number(text.trim() || '0');
  return rate >= 0 && rate <= maxRate ? rate : 0;
};

export function InvoicePreview({ options }: { readonly options: Pick<Options, 'valueFor'> }) {
  const { t } = useTranslation();
  const [shown, setShown] = useState(false);
  const typed = (key: Parameters<Options['valueFor']>[0]): string => options.valueFor(key).trim();
  const unit = useMoneyDetails()?.quotaPerUnit ?? 1;
  const rate = rateOf(typed('invoice.tax_rate'));
  const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);
  const invoice = (): Invoice => ({
    ...{ kind: 'invoice', number: `INV-${today.slice(0, 4)}-000001`, issued_at: 0, date: today, corrects: '' },
    ...{ trade_no: 'USR1NO1a2b3c', method: 'stripe', currency: 'usd', minor: 100, gross },
    seller: {
      name: typed('invoice.seller_name'),
      address: typed('invoice.seller_details'),
      tax_id: typed('invoice.seller_tax_id'),
    },
    buyer: {
      name: t('invoices.sampleBuyer'),
      address: t('invoices.sampleAddress'),
      ...{ tax_id: '', user_id: 0, username: '' },
    },
    ...(rate === 0 ? { net: gross, tax: 0 } : taxParts(gross, rate)),
    tax_name: rate === 0 ? '' : typed('invoice.tax_name'),
    tax_rate: rate === 0 ? '' : String(rate),
    ...{ quota: dollars * unit, quota_per_unit: unit, in_currency: true, note: typed('invoice.note') },
  });
  return (
    <div className="border-t border-line px-4 py-3">
      <button type="button" className="button" aria-expanded={shown} onClick={() => setShown(!shown)}>
        {t(shown ? 'invoices.previewHide' : 'invoices.preview')}
      </button>
      {shown ? (
        <>
          <p className="my-3 text-ink-2">{t('invoices.previewText')}</p>
          <InvoicePaper invoice={invoice()} />
        </>
      ) : null}
    </div>
  );
}
