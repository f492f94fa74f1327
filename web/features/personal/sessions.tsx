/** Where the account is logged in: what is not known is ended here. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Card } from '../../components/card.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';

export function Sessions() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const read = useRead({ queryKey: ['sessions'], queryFn: () => call('session.list') }).data;
  const list = read ?? [];
  const [confirm, setConfirm] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: ['sessions'] });
  const end = async (id: string) => {
    await attempt(() => call('session.end', { id }), t('personal.sessionEnded'));
    await refresh();
  };
  return (
    <Card title={t('personal.sessions')}>
      <p className="mb-3 text-ink-2">{t('personal.sessionsHelp')}</p>
      {read === undefined ? <Waiting /> : null}
      <ul className="mb-3">
        {list.map((session) => {
          const browser = session.browser || t('personal.unknownBrowser');
          const name = session.ip === '' ? browser : `${browser}, ${session.ip}`;
          return (
            <li key={session.id} className="flex min-h-12 items-center gap-3 border-b border-line py-1">
              <span className="min-w-0 flex-1" title={session.user_agent}>
                <span className="font-medium text-ink-1">{browser}</span>{' '}
                {session.current ? (
                  <span className="rounded-1 bg-sunken px-1.5 text-[11px] text-ink-2">{t('personal.thisSession')}</span>
                ) : null}
                <span className="block text-[12px] break-words text-ink-3">
                  <span className="font-mono break-all">{session.ip}</span>
                  {session.ip === '' ? '' : ' · '}
                  {t('personal.loggedIn', { time: dateTime(session.created_time) })}
                  {' · '}
                  {t('personal.lastSeen', { time: dateTime(session.last_seen_time) })}
                </span>
              </span>
              {session.current ? null : (
                <button
                  type="button"
                  className="button button-ghost text-danger"
                  aria-label={t('personal.endSessionNamed', { name })}
                  onClick={() => void end(session.id)}
                >
                  {t('personal.endSession')}
                </button>
              )}
            </li>
          );
        })}
      </ul>
      <button type="button" className="button" disabled={list.length < 2} onClick={() => setConfirm(true)}>
        {t('personal.endOthers')}
      </button>
      {confirm ? (
        <Confirm
          title={t('personal.endOthers')}
          text={t('personal.endOthersText')}
          action={t('personal.endOthers')}
          onClose={() => setConfirm(false)}
          onConfirm={async () => {
            setConfirm(false);
            await attempt(async () => {
              const { ended } = await call('session.end_others');
              toast.success(t('personal.othersEnded', { count: ended }));
            });
            await refresh();
          }}
        />
      ) : null}
    </Card>
  );
}
