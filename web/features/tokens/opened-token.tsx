/** The token whose address is open, or a new one; a key that was just made is shown once. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Token } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useAside } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';
import { useMoneyFacts } from '../../shell/money.ts';
import { KeyReveal } from './key-reveal.tsx';
import { TokenDrawer } from './token-drawer.tsx';

export function OpenedToken({ refresh }: { readonly refresh: () => Promise<unknown> }) {
  const { t } = useTranslation();
  const url = useUrl();
  const [revealed, setRevealed] = useState<Token | null>(null);
  const facts = useMoneyFacts();
  const openId = Number(url.get('open')) || 0;
  const opened = useAside({
    queryKey: ['tokens', 'one', openId],
    queryFn: () => call('token.get', { id: openId }),
    enabled: openId > 0,
  }).data;
  const isNew = url.get('open') === 'new' || url.get('new') !== '';
  const closeDrawer = url.close;
  return (
    <>
      {facts !== null && (isNew || opened !== undefined) ? (
        <TokenDrawer
          key={opened?.id ?? 0}
          token={isNew ? null : (opened ?? null)}
          facts={facts}
          onClose={closeDrawer}
          onSaved={(token, fresh) => {
            closeDrawer();
            toast.success(fresh ? t('tokens.createdOk') : t('tokens.updatedOk'));
            if (fresh) setRevealed(token);
            void refresh();
          }}
          onRotated={(token) => {
            closeDrawer();
            setRevealed(token);
            void refresh();
          }}
        />
      ) : null}
      {revealed === null ? null : <KeyReveal token={revealed} onClose={() => setRevealed(null)} onCopy={copyOrShow} />}
    </>
  );
}
