/** One invoice or credit note as it was made, to be printed. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Boundary } from '../../components/failure.tsx';
import { LinkSheet } from '../../components/link-sheet.tsx';
import { Missing } from '../../components/missing.tsx';
import { PageHead } from '../../components/page.tsx';
import { InvoicePaper } from '../../components/paper/invoice-paper.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { useRead } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { useUrl } from '../../lib/url.ts';

function Document({ number }: { readonly number: string }) {
  const invoice = useRead({ queryKey: ['invoice', number], queryFn: () => call('invoice.get', { number }) }).data;
  return invoice === undefined ? <Waiting /> : <InvoicePaper invoice={invoice} />;
}

/** In place of an invoice that the address does not name, or that is not there. */
function MissingInvoice({ number, text }: { readonly number: string; readonly text: string }) {
  const { t } = useTranslation();
  const all = isAdmin(useUser()) ? '/orders?view=invoices' : '/topup?view=invoices';
  return <Missing title={number || t('invoices.title')} text={text} href={all} all={t('invoices.all')} />;
}

export function InvoicePage() {
  const { t } = useTranslation();
  const number = useUrl().get('number');
  // Without one the server would list them all.
  return number === '' ? (
    <MissingInvoice number="" text={t('invoices.unnamed')} />
  ) : (
    <Boundary key={number} missing={(text) => <MissingInvoice number={number} text={text} />}>
      <NamedInvoice number={number} />
    </Boundary>
  );
}

function NamedInvoice({ number }: { readonly number: string }) {
  const { t } = useTranslation();
  const [sharing, setSharing] = useState(false);
  return (
    <>
      <PageHead title={number}>
        <button type="button" className="button" onClick={() => setSharing(true)}>
          {t('links.share')}
        </button>
        <button type="button" className="button button-primary" onClick={() => window.print()}>
          {t('paper.print')}
        </button>
      </PageHead>
      <div className="px-5 pb-6">
        <Document number={number} />
      </div>
      {sharing ? <LinkSheet of={{ invoice: number }} title={number} onClose={() => setSharing(false)} /> : null}
    </>
  );
}
