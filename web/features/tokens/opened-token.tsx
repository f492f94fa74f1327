/** The token whose address is open, or a new one; a key that was just made is shown once. */

import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import type { Token } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';
import { NewKey } from './new-key.tsx';
import { TokenDrawer } from './token-drawer.tsx';

export interface OpenedTokenProps {
  readonly refresh: () => Promise<unknown>;
  /** A key that was just made, by the form or by a rotation. */
  readonly newToken: Token | null;
  readonly onNewToken: (token: Token | null) => void;
  readonly onShare: (token: Token) => void;
}

export function OpenedToken({ refresh, newToken, onNewToken, onShare }: OpenedTokenProps) {
  const { t } = useTranslation();
  const url = useUrl();
  const details = useMoneyDetails();
  const openId = Number(url.get('open')) || 0;
  const opened = useOptionalRead({
    queryKey: ['tokens', 'one', openId],
    queryFn: () => call('token.get', { id: openId }),
    enabled: openId > 0,
  }).data;
  const isNew = url.get('open') === 'new' || url.get('new') !== '';
  const closeDrawer = url.close;
  return (
    <>
      {details !== null && (isNew || opened !== undefined) ? (
        <TokenDrawer
          key={opened?.id ?? 0}
          token={isNew ? null : (opened ?? null)}
          details={details}
          onClose={closeDrawer}
          onSaved={(token, fresh) => {
            closeDrawer();
            toast.success(fresh ? t('tokens.createdOk') : t('tokens.updatedOk'));
            if (fresh) onNewToken(token);
            void refresh();
          }}
        />
      ) : null}
      {newToken === null ? null : (
        <NewKey
          token={newToken}
          onClose={() => onNewToken(null)}
          onCopy={copyOrShow}
          onShare={() => {
            onNewToken(null);
            onShare(newToken);
          }}
        />
      )}
    </>
  );
}
