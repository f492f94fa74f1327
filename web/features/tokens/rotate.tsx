/** A key that leaked or moves is replaced; everything else of the token stays, and the old key may work on for a while. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { Confirm } from '../../components/overlay.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';

const gracePeriods = ['0', '1', '24', '168'] as const;

export interface RotationProps {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onRotated: (token: Token) => void;
}

export function Rotation({ token: { id, name }, onClose, onRotated }: RotationProps) {
  const { t } = useTranslation();
  const [grace, setGrace] = useState<(typeof gracePeriods)[number]>('0');
  return (
    <Confirm
      title={t('tokens.rotateTitle', { name })}
      text={
        <>
          <p className="mb-3">{t('tokens.rotateHelp')}</p>
          <p className="mb-1 text-[12px] font-medium text-ink-2">{t('tokens.graceLabel')}</p>
          <Segment
            label={t('tokens.graceLabel')}
            value={grace}
            options={gracePeriods.map((hours) => [hours, t(`tokens.grace.${hours}`)])}
            onChange={setGrace}
          />
          <p className="mt-3">{grace === '0' ? t('tokens.rotateText') : t('tokens.graceText')}</p>
        </>
      }
      action={t('tokens.rotate')}
      onClose={onClose}
      onConfirm={() => {
        onClose();
        void attempt(async () => onRotated(await call('token.rotate', { id, grace_hours: Number(grace) })));
      }}
    />
  );
}
