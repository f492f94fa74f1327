/** Sends a test to every alert target, and shows the result of each. */
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { call } from '../../../lib/api.ts';
import { messageOf } from '../../../lib/attempt.ts';
import { isRoot, useUser } from '../../../lib/session.ts';

export function AlertTest() {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const { mutate, data, error, isPending } = useMutation({ mutationFn: () => call('alert.test') });
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-3">
      <button type="button" className="button" disabled={!root || isPending} onClick={() => mutate()}>
        {t('settings.alertTest')}
      </button>
      <div role="status" className="min-w-0 flex-1">
        {error === null ? null : <p className="text-danger">{messageOf(error)}</p>}
        {data?.map(({ target, ok, message }) => (
          <p key={target} className={ok ? '' : 'text-danger'}>
            {ok ? t('settings.alertArrived', { target }) : message}
          </p>
        ))}
      </div>
    </div>
  );
}
