/** How scheduled backups stand, and one at once. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { call } from '../../../lib/api.ts';
import { messageOf } from '../../../lib/attempt.ts';
import { dateTime } from '../../../lib/format.ts';
import { useOptionalRead } from '../../../lib/read.ts';
import { isRoot, useUser } from '../../../lib/session.ts';

export function BackupNow() {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const client = useQueryClient();
  const status = useOptionalRead({ queryKey: ['backups'], queryFn: () => call('backup.status'), enabled: root });
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => call('backup.run'),
    onSettled: () => client.invalidateQueries({ queryKey: ['backups'] }),
  });
  const last = status.data;
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-3">
      <button type="button" className="button" disabled={!root || isPending} onClick={() => mutate()}>
        {t('settings.backupNow')}
      </button>
      <div role="status" className="min-w-0 flex-1 break-all">
        {isPending ? <p>{t('settings.backupRunning')}</p> : null}
        {last === undefined || last.made_at === 0 ? null : (
          <p>{t('settings.backupLast', { time: dateTime(last.made_at), place: `${last.place} ${last.file}` })}</p>
        )}
        {error === null ? null : <p className="text-danger">{messageOf(error)}</p>}
        {error === null && last !== undefined && last.missing !== '' ? (
          <p className="text-danger">{t('settings.backupMissed', { reason: last.missing })}</p>
        ) : null}
      </div>
    </div>
  );
}
