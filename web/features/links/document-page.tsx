/** What a link to a document opens: its paper, for whoever has the link. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Boundary } from '../../components/failure.tsx';
import { PageHead } from '../../components/page.tsx';
import { InvoicePaper } from '../../components/paper/invoice-paper.tsx';
import { StatementPaper } from '../../components/paper/statement-paper.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { day } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';

function Document({ secret }: { readonly secret: string }) {
  const { t, i18n } = useTranslation();
  const found = useRead({
    queryKey: ['document', secret],
    queryFn: () => call('link.open', { secret }),
    // Each time that it is read counts.
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  if (found === undefined) return <Waiting />;
  return (
    <>
      <p className="mb-3 text-ink-2">{t('links.until', { day: day(found.expires_time, i18n.language) })}</p>
      {found.invoice === null ? null : <InvoicePaper invoice={found.invoice} />}
      {found.statement === null ? null : <StatementPaper statement={found.statement} />}
    </>
  );
}

export function DocumentPage() {
  const { t } = useTranslation();
  const [secret] = useState(() => location.hash.slice(1));
  return (
    <>
      <PageHead title={t('links.document')}>
        <button type="button" className="button button-primary" onClick={() => window.print()}>
          {t('paper.print')}
        </button>
      </PageHead>
      <div className="px-5 pb-6">
        <Boundary>
          <Document secret={secret} />
        </Boundary>
      </div>
    </>
  );
}
