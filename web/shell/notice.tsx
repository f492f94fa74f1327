/** The announcement: opens by itself once when it is new, afterwards from the bell. */

import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Frame } from '../components/frame.tsx';
import { Icon } from '../components/icon.tsx';
import { Sheet } from '../components/overlay.tsx';
import { call } from '../lib/api.ts';
import { storedName } from '../lib/base-path.ts';
import { useOptionalRead } from '../lib/read.ts';

const seenKey = storedName('notice');

export function NoticeButton() {
  const { t } = useTranslation();
  const notice =
    useOptionalRead({ queryKey: ['notice'], queryFn: () => call('status.notice'), staleTime: 60_000 }).data ?? '';
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (notice === '' || localStorage.getItem(seenKey) === notice) return;
    localStorage.setItem(seenKey, notice);
    setOpen(true);
  }, [notice]);
  if (notice === '') return null;
  return (
    <>
      <button type="button" className="button button-ghost" aria-label={t('app.notice')} onClick={() => setOpen(true)}>
        <Icon name="bell" />
      </button>
      {open ? (
        <Sheet title={t('app.notice')} onClose={() => setOpen(false)}>
          <Frame title={t('app.notice')} content={notice} />
        </Sheet>
      ) : null}
    </>
  );
}
