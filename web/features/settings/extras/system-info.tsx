/** Version, start, and whether there is a newer release. */
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Frame } from '../../../components/frame.tsx';
import { call } from '../../../lib/api.ts';
import { messageOf } from '../../../lib/attempt.ts';
import { dateTime } from '../../../lib/format.ts';
import { useStatus } from '../../../lib/status.ts';

export function SystemInfo() {
  const { t } = useTranslation();
  const status = useStatus().data as { version?: string; start_time?: number } | undefined;
  const { mutate, data, error, isPending } = useMutation({ mutationFn: () => call('update.check') });
  return (
    <section aria-labelledby="system-info" className="rounded-3 border border-line bg-surface">
      <header className="flex items-center gap-2 border-b border-line px-4 py-2.5">
        <h2 id="system-info" className="flex-1 font-semibold">
          {t('settings.system')}
        </h2>
        <button type="button" className="button" disabled={isPending} onClick={() => mutate()}>
          {t('settings.checkUpdate')}
        </button>
      </header>
      <dl className="grid grid-cols-[96px_1fr] gap-y-1 px-4 py-3">
        <dt className="text-ink-3">{t('settings.version')}</dt>
        <dd>{status?.version}</dd>
        <dt className="text-ink-3">{t('settings.started')}</dt>
        <dd>{dateTime(status?.start_time ?? 0)}</dd>
      </dl>
      <div role="status">
        {error === null ? null : <p className="px-4 pb-3 text-danger">{messageOf(error)}</p>}
        {data === undefined ? null : (
          <p className="px-4 pb-3">
            {data.newer ? t('settings.newer', { version: data.latest }) : t('settings.newest')}
          </p>
        )}
      </div>
      {data?.newer && data.notes !== '' ? (
        <div className="border-t border-line px-4 py-3">
          <Frame title={data.latest} content={data.notes} />
        </div>
      ) : null}
    </section>
  );
}
