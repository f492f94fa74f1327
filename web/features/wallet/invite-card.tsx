/** The link that invites others, and what it brought. */
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';
import { useMoney } from '../../shell/money.ts';

export interface InviteCardProps {
  readonly onTransferred: () => Promise<unknown>;
}

export function InviteCard({ onTransferred }: InviteCardProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const self = useRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const invitation = useRead({ queryKey: ['invitation'], queryFn: () => call('affiliate.code') }).data;
  const invite = `${location.origin}/register?aff=${invitation}`;
  if (self === undefined || invitation === undefined)
    return (
      <Card title={t('wallet.invite')}>
        <Waiting />
      </Card>
    );
  return (
    <Card title={t('wallet.invite')}>
      <p className="mb-2 text-ink-2">
        {t('wallet.invited', {
          count: self.aff_count,
          waiting: money(self.aff_quota),
          total: money(self.aff_history_quota),
        })}
      </p>
      <code className="mb-3 block rounded-2 bg-sunken p-2 font-mono text-[12px] break-all">{invite}</code>
      <div className="flex gap-2">
        <button type="button" className="button" onClick={() => copyOrShow(invite)}>
          {t('app.copy')}
        </button>
        <button
          type="button"
          className="button"
          disabled={self.aff_quota === 0}
          onClick={async () => {
            await attempt(() => call('affiliate.transfer', { quota: self.aff_quota }), t('wallet.transferred'));
            await onTransferred();
          }}
        >
          {t('wallet.transfer')}
        </button>
      </div>
    </Card>
  );
}
