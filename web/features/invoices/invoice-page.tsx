/** One invoice or credit note as it was made, to be printed. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Boundary } from '../../components/failure.tsx';
import { LinkSheet } from '../../components/link-sheet.tsx';
import { PageHead } from '../../components/page.tsx';
import { InvoicePaper } from '../../components/paper/invoice-paper.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { useRead } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';

function Document({ number }: { readonly number: string }) {
  const invoice = useRead({ queryKey: ['invoice', number], queryFn: () => call('invoice.get', { number }) }).data;
  return invoice === undefined ? <Waiting /> : <InvoicePaper invoice={invoice} />;
}

export function InvoicePage() {
  const { t } = useTranslation();
  const number = useUrl().get('number');
  const [sharing, setSharing] = useState(false);
  return (
    <>
      <PageHead title={number === '' ? t('invoices.title') : number}>
        <button type="button" className="button" onClick={() => setSharing(true)}>
          {t('links.share')}
        </button>
        <button type="button" className="button button-primary" onClick={() => window.print()}>
          {t('paper.print')}
        </button>
      </PageHead>
      <div className="px-5 pb-6">
        <Boundary key={number}>
          <Document number={number} />
        </Boundary>
      </div>
      {sharing ? <LinkSheet of={{ invoice: number }} title={number} onClose={() => setSharing(false)} /> : null}
    </>
  );
}
