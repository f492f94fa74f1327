/** A key that leaked is replaced; everything else of the token stays. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { Confirm } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';

export interface RotationProps {
  readonly token: Token;
  readonly onRotated: (token: Token) => void;
}

export function Rotation({ token: { id, name }, onRotated }: RotationProps) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  return (
    <div className="mt-4 flex items-center gap-3 border-t border-line pt-4">
      <p className="flex-1 text-[12px] text-ink-2">{t('tokens.rotateHelp')}</p>
      <button type="button" className="button flex-none text-danger" onClick={() => setAsking(true)}>
        {t('tokens.rotate')}
      </button>
      {asking ? (
        <Confirm
          title={t('tokens.rotateTitle', { name })}
          text={t('tokens.rotateText')}
          action={t('tokens.rotate')}
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void attempt(async () => onRotated(await call('token.rotate', { id })));
          }}
        />
      ) : null}
    </div>
  );
}
