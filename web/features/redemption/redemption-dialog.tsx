/** What opens over the list of codes: the drawer, and the question before deleting. */
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Redemption } from '../../../server/contract/entities.ts';
import { Confirm } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { RedemptionDrawer } from './redemption-drawer.tsx';

export interface RedemptionDialogsProps {
  readonly edited: Redemption | 'new' | null;
  readonly onEdit: (edited: null) => void;
  readonly removing: Redemption | null;
  readonly onRemove: (removing: null) => void;
  readonly refresh: () => Promise<unknown>;
}

export function RedemptionDialogs({ edited, onEdit, removing, onRemove, refresh }: RedemptionDialogsProps) {
  const { t } = useTranslation();
  const details = useMoneyDetails();
  return (
    <>
      {edited === null || details === null ? null : (
        <RedemptionDrawer
          redemption={edited === 'new' ? null : edited}
          details={details}
          onClose={() => onEdit(null)}
          onSaved={(codes) => {
            onEdit(null);
            toast.success(codes === null ? t('redemption.updatedOk') : t('redemption.createdOk'));
            if (codes !== null) void copyOrShow(codes.join('\n'));
            void refresh();
          }}
        />
      )}
      {removing === null ? null : (
        <Confirm
          title={t('redemption.deleteTitle', { name: removing.name })}
          text={t('redemption.deleteText')}
          action={t('app.delete')}
          onClose={() => onRemove(null)}
          onConfirm={async () => {
            const { id } = removing;
            onRemove(null);
            await attempt(() => call('redemption.delete', { id }));
            await refresh();
          }}
        />
      )}
    </>
  );
}
