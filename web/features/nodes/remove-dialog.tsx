/** Before a node is taken off the list: what is given up with it, and whether that can wait. */
import { useTranslation } from 'react-i18next';
import { Confirm } from '../../components/overlay.tsx';
import { duration } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import type { NodeRow } from './node-columns.tsx';

export interface RemoveDialogProps {
  readonly node: NodeRow;
  readonly onClose: () => void;
  /** @param later when what it left open is settled. */
  readonly onRemove: (later: boolean) => void;
}

export function RemoveDialog({ node, onClose, onRemove }: RemoveDialogProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const { name, open, leased_quota, settles_seconds, waiting, owes, forgotten } = node;
  const time = duration(Math.round(settles_seconds ?? 0));
  const mayWait = (settles_seconds ?? 0) > 0 && !forgotten;
  const losses = [
    ...(open > 0 ? [t('nodes.losesOpen', { count: open, amount: money(leased_quota) })] : []),
    ...(waiting === null ? [t('nodes.losesUnknown')] : []),
    ...(waiting !== null && waiting > 0 ? [t('nodes.losesUnsent', { count: waiting })] : []),
    ...(waiting === 0 ? [t('nodes.losesNothing')] : []),
  ];
  return (
    <Confirm
      title={t('nodes.forgetTitle', { name })}
      text={
        <>
          {owes ? <p className="mb-2">{t('nodes.owes')}</p> : null}
          <ul className="mb-2 grid list-disc gap-1 pl-5">
            {losses.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          {mayWait ? <p>{t('nodes.mayWait', { time })}</p> : null}
        </>
      }
      action={t('nodes.forgetNow')}
      other={mayWait ? { action: t('nodes.forgetLater', { time }), onChoose: () => onRemove(true) } : undefined}
      onClose={onClose}
      onConfirm={() => onRemove(false)}
    />
  );
}
