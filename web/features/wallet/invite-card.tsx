/** The link that invites others, and what it brought. */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../server/contract/entities.ts';
import { Card } from '../../components/card.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { money } from '../../lib/format.ts';

export interface InviteCardProps {
  /** undefined = not known yet. */
  readonly self: User | undefined;
  readonly onTransferred: () => Promise<unknown>;
}

export function InviteCard({ self, onTransferred }: InviteCardProps) {
  const { t } = useTranslation();
  const invitation = useQuery({ queryKey: ['invitation'], queryFn: () => call('affiliate.code') }).data;
  const invite = `${location.origin}/register?aff=${invitation ?? ''}`;
  return (
    <Card title={t('wallet.invite')}>
      <p className="mb-2 text-ink-2">
        {t('wallet.invited', {
          count: self?.aff_count ?? 0,
          waiting: money(self?.aff_quota ?? 0),
          total: money(self?.aff_history_quota ?? 0),
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
          disabled={(self?.aff_quota ?? 0) === 0}
          onClick={async () => {
            await attempt(() => call('affiliate.transfer', { quota: self?.aff_quota ?? 0 }), t('wallet.transferred'));
            await onTransferred();
          }}
        >
          {t('wallet.transfer')}
        </button>
      </div>
    </Card>
  );
}
