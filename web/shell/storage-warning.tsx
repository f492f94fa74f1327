/** Paid requests are refused, or bills are not written as they should be: said on every page, to administrators. */

import { useTranslation } from 'react-i18next';
import { reasonIn } from '../../server/contract/storage-reasons.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { useOptionalRead } from '../lib/read.ts';
import { statusQuery } from '../lib/status.ts';

const pollMs = 15_000;

export function StorageWarning() {
  const { t } = useTranslation();
  const storage = useOptionalRead({ ...statusQuery, refetchInterval: pollMs }).data?.storage;
  if (storage === undefined) return null;
  const { ok, late, refused } = storage;
  const reason = reasonIn(storage.reason, currentLanguage());
  const text = !ok
    ? t('app.storage.stopped', { reason })
    : reason !== ''
      ? t('app.storage.damaged', { reason })
      : late + refused > 0
        ? t('app.storage.unbilled', { late, refused })
        : null;
  if (text === null) return null;
  return (
    <span
      role="status"
      title={text}
      className="min-w-0 truncate rounded-1 bg-danger-soft px-1.5 text-[11px] text-danger"
    >
      {text}
    </span>
  );
}
