/** Passkeys of the account: add, rename, remove. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { addPasskey, canPasskey, wasCancelled } from '../../components/login/passkey.ts';
import { Confirm } from '../../components/overlay.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';
import { ActionLine } from './action-line.tsx';

export function Passkeys() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const read = useRead({ queryKey: ['passkeys'], queryFn: () => call('passkey.list') }).data;
  const list = read ?? [];
  const [name, setName] = useState('');
  const [removing, setRemoving] = useState<number | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['passkeys'] });
  const add = async () => {
    try {
      await addPasskey(name);
      setName('');
      toast.success(t('personal.passkeyAdded'));
      await refresh();
    } catch (error) {
      if (!wasCancelled(error)) toast.error(messageOf(error));
    }
  };
  return (
    <ActionLine
      title={t('personal.passkeys')}
      text={
        read === undefined ? <Waiting inLine /> : canPasskey() ? t('personal.noPasskeys') : t('personal.passkeyUnable')
      }
    >
      {canPasskey() ? (
        <div className="flex min-w-0 gap-2 max-sm:basis-full">
          <input
            className="field h-7! w-40 min-w-0 max-sm:h-9! max-sm:w-full max-sm:flex-1"
            placeholder={t('personal.passkeyName')}
            aria-label={t('personal.passkeyName')}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="button" className="button" onClick={add}>
            {t('personal.addPasskey')}
          </button>
        </div>
      ) : null}
      {list.length === 0 ? null : (
        <ul className="basis-full">
          {list.map((key) => (
            <li key={key.id} className="flex min-h-10 items-center gap-2 border-t border-line">
              <input
                className="field w-44 border-transparent"
                aria-label={t('personal.passkeyName')}
                defaultValue={key.name}
                onBlur={(event) => {
                  const next = event.target.value.trim();
                  if (next !== '' && next !== key.name)
                    void attempt(() => call('passkey.rename', { id: key.id, name: next }), t('settings.saved')).then(
                      refresh,
                    );
                }}
              />
              <span className="flex-1 truncate text-[12px] text-ink-3">
                {key.last_used_time === 0
                  ? t('personal.neverUsed')
                  : t('personal.lastUsed', { time: dateTime(key.last_used_time) })}
              </span>
              <button type="button" className="button button-ghost text-danger" onClick={() => setRemoving(key.id)}>
                {t('app.delete')}
              </button>
            </li>
          ))}
        </ul>
      )}
      {removing === null ? null : (
        <Confirm
          title={t('personal.removePasskey')}
          text={t('personal.removePasskeyText')}
          action={t('app.delete')}
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await attempt(() => call('passkey.delete', { id: removing }));
            setRemoving(null);
            await refresh();
          }}
        />
      )}
    </ActionLine>
  );
}
