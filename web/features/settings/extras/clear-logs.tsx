/** Deletes usage logs before a chosen time, after asking. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../../components/form.tsx';
import { Confirm } from '../../../components/overlay.tsx';
import { call } from '../../../lib/api.ts';
import { attempt } from '../../../lib/attempt.ts';
import { dateTime } from '../../../lib/format.ts';
import { isRoot, useUser } from '../../../lib/session.ts';

const monthSeconds = 30 * 86_400;
/** What a datetime-local input wants. */
const inputValue = (seconds: number): string => dateTime(seconds).slice(0, 16).replace(' ', 'T');

export function ClearLogs() {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const [until, setUntil] = useState(() => inputValue(Math.floor(Date.now() / 1000) - monthSeconds));
  const [confirm, setConfirm] = useState(false);
  const seconds = Math.floor(new Date(until).getTime() / 1000);
  const clear = async () => {
    setConfirm(false);
    await attempt(async () => {
      const removed = await call('log.prune', { target_timestamp: seconds });
      toast.success(t('settings.logsCleared', { count: removed }));
    });
  };
  return (
    <div className="flex flex-wrap items-end gap-x-3 border-t border-line px-4 pt-3">
      <Field label={t('settings.clearUntil')}>
        {(ids) => (
          <input
            {...ids}
            type="datetime-local"
            className="field"
            value={until}
            onChange={(event) => setUntil(event.target.value)}
          />
        )}
      </Field>
      <button
        type="button"
        className="button mb-4 h-8 text-danger"
        disabled={!root}
        onClick={() => (Number.isNaN(seconds) ? toast.error(t('settings.timeNeeded')) : setConfirm(true))}
      >
        {t('settings.clearLogs')}
      </button>
      {confirm ? (
        <Confirm
          title={t('settings.clearLogs')}
          text={t('settings.clearText', { time: dateTime(seconds) })}
          action={t('settings.clearLogs')}
          onConfirm={clear}
          onClose={() => setConfirm(false)}
        />
      ) : null}
    </div>
  );
}
