/** What the reader has left, and what was used. */

import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';

/** @param note a sentence below. */
export function Balance({ note }: { readonly note?: string | undefined }) {
  const { t } = useTranslation();
  const money = useMoney();
  const self = useRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  return (
    <Card title={t('wallet.balance')}>
      {self === undefined ? (
        <Waiting />
      ) : (
        <>
          <p className="text-[28px] leading-9 font-semibold">{money(self.quota)}</p>
          <p className="mt-1 text-ink-2">
            {t('wallet.used', { usd: money(self.used_quota), count: grouped(self.request_count) })}
          </p>
          {note === undefined ? null : <p className="mt-3 text-[12px] text-ink-3">{note}</p>}
        </>
      )}
    </Card>
  );
}
