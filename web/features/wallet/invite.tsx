/** The link that invites others, and what it brought. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { MoneyDetails } from '../../../server/contract/pricing/format.ts';
import { moneyIn, moneyOf, valueIn } from '../../components/amount.ts';
import { MoneyField } from '../../components/amount-fields.tsx';
import { CheckedForm } from '../../components/checked-form.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoney, useMoneyDetails } from '../../lib/money.ts';
import { useRead } from '../../lib/read.ts';

interface TransferProps {
  /** Quota that waits. */
  readonly available: number;
  readonly details: MoneyDetails;
  readonly onTransferred: () => Promise<unknown>;
}

/** @param available quota that waits. */
export const transferBounds = (available: number, { quotaPerUnit }: MoneyDetails) => ({
  min: quotaPerUnit,
  max: available,
});

/** What was earned becomes balance, all of it or a part of at least one unit of currency. */
function Transfer({ available, details, onTransferred }: TransferProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const [amount, setAmount] = useState(() => moneyIn(available, details));
  const least = details.quotaPerUnit;
  if (available < least)
    return <p className="text-[12px] text-ink-3">{t('wallet.transferLeast', { least: money(least) })}</p>;
  const bounds = transferBounds(available, details);
  return (
    <CheckedForm
      onSubmit={async () => {
        const quota = valueIn(moneyOf(amount, details, bounds));
        if (await attempt(() => call('affiliate.transfer', { quota }), t('wallet.transferred'))) await onTransferred();
      }}
    >
      <div className="flex flex-wrap items-start gap-x-2 [&>button]:mt-5 [&>button]:h-8 max-sm:[&>button]:mt-0 [&>div]:w-56 max-sm:[&>div]:w-full">
        <MoneyField
          label={t('wallet.transferAmount')}
          help={t('wallet.transferLeast', { least: money(least) })}
          bounds={bounds}
          value={amount}
          onChange={setAmount}
        />
        <button type="submit" className="button">
          {t('wallet.transfer')}
        </button>
      </div>
    </CheckedForm>
  );
}

export interface InviteProps {
  readonly onTransferred: () => Promise<unknown>;
}

export function Invite({ onTransferred }: InviteProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const details = useMoneyDetails();
  const self = useRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const invitation = useRead({ queryKey: ['invitation'], queryFn: () => call('affiliate.code') }).data;
  const invite = `${siteAddress()}/register?aff=${invitation}`;
  return (
    <section
      aria-label={t('wallet.invite')}
      className="mx-5 mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-3 border border-line bg-surface px-4 py-2"
    >
      <h2 className="font-semibold">{t('wallet.invite')}</h2>
      {self === undefined || invitation === undefined ? (
        <Waiting />
      ) : (
        <>
          <p className="mr-auto text-ink-2">
            {t('wallet.invited', {
              count: self.aff_count,
              waiting: money(self.aff_quota),
              total: money(self.aff_history_quota),
            })}
          </p>
          <p className="flex min-w-0 items-center gap-2 max-sm:basis-full">
            <code
              className="min-w-0 flex-1 truncate rounded-2 bg-sunken px-2 py-1 font-mono text-[12px] max-sm:py-2"
              title={invite}
            >
              {/* Its end names the inviter: without the scheme it fits. */}
              {invite.replace(/^https?:\/\//, '')}
            </code>
            <button type="button" className="button" onClick={() => copyOrShow(invite)}>
              {t('app.copy')}
            </button>
          </p>
          {details === null || self.aff_quota === 0 ? null : (
            <div className="basis-full border-t border-line pt-2">
              <Transfer
                key={self.aff_quota}
                available={self.aff_quota}
                details={details}
                onTransferred={onTransferred}
              />
            </div>
          )}
        </>
      )}
    </section>
  );
}
