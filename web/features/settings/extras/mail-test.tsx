/** Sends a test email to the reader, and shows what the mail server said. */
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { call } from '../../../lib/api.ts';
import { messageOf } from '../../../lib/attempt.ts';
import { isRoot, useUser } from '../../../lib/session.ts';

export function MailTest({ unsaved }: { readonly unsaved: boolean }) {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const { mutate, data, error, isPending } = useMutation({ mutationFn: () => call('alert.mail_test') });
  const failure = error === null ? (data?.ok === false ? data.message : '') : messageOf(error);
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line px-4 py-3">
      <button type="button" className="button" disabled={!root || isPending} onClick={() => mutate()}>
        {t('settings.mailTest')}
      </button>
      <div role="status" className="min-w-0 flex-1 break-words">
        {failure === '' ? null : <p className="text-danger">{failure}</p>}
        {data?.ok === true && error === null ? <p>{t('settings.mailSent', { to: data.to })}</p> : null}
        {data === undefined && error === null && unsaved ? (
          <p className="text-ink-3">{t('settings.mailStored')}</p>
        ) : null}
      </div>
    </div>
  );
}
