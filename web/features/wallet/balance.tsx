/** What the reader has left, how long it lasts, and what was used. */

import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { monthAt, monthRange } from '../../../server/contract/statement.ts';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead, useRead } from '../../lib/read.ts';
import { chapterOf, useStatus } from '../../lib/status.ts';

const daySeconds = 86_400;
/** A longer forecast says nothing. */
const maxDays = 365;

/**
 * Whole days that the balance lasts at the month's pace; null = nothing was spent.
 * @param seconds of the month that are over; counted as a day at least.
 */
export const daysLeft = (balance: number, spent: number, seconds: number): number | null =>
  spent > 0 ? Math.max(0, Math.floor((balance * Math.max(seconds, daySeconds)) / daySeconds / spent)) : null;

export function Balance() {
  const { t } = useTranslation();
  const money = useMoney();
  const chapter = chapterOf(useStatus().data, 'billing');
  const self = useRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const from = monthRange(monthAt(Date.now()))?.from ?? 0;
  const month = useOptionalRead({
    queryKey: ['month-spend', from],
    queryFn: () =>
      call('traffic.self', { start_timestamp: from, end_timestamp: Math.floor(Date.now() / 1000), step: '1d' }),
  }).data;
  const spent = month?.total.charge;
  const lasts =
    self === undefined || spent === undefined ? null : daysLeft(self.quota, spent, Date.now() / 1000 - from);
  return (
    <section aria-label={t('wallet.balance')} className="@container">
      {self === undefined ? (
        <Waiting />
      ) : (
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 @lg:grid-cols-[2fr_1fr_1fr]">
          <div className="col-span-2 @lg:col-span-1">
            <dt className="text-[12px] text-ink-3">{t('wallet.balance')}</dt>
            <dd className="text-[36px] leading-11 font-semibold">{money(self.quota)}</dd>
            {lasts === null ? null : (
              <dd className="text-ink-2">
                {lasts > maxDays ? t('wallet.lastsLong') : t('wallet.lasts', { count: lasts })}
              </dd>
            )}
            {chapter === null ? null : (
              <dd>
                <a href={chapter} target="_blank" rel="noreferrer">
                  {t('wallet.docs')}
                </a>
              </dd>
            )}
          </div>
          <div>
            <dt className="text-[12px] text-ink-3">{t('wallet.month')}</dt>
            <dd className="text-[16px] leading-6 font-medium @lg:leading-11">{money(spent)}</dd>
            <dd>
              <Link href="/statement">{t('statement.title')}</Link>
            </dd>
          </div>
          <div>
            <dt className="text-[12px] text-ink-3">{t('wallet.usedInTotal')}</dt>
            <dd className="text-[16px] leading-6 font-medium @lg:leading-11">{money(self.used_quota)}</dd>
            <dd className="text-ink-2">
              {t('wallet.requests', { count: self.request_count, shown: grouped(self.request_count) })}
            </dd>
          </div>
        </dl>
      )}
    </section>
  );
}
