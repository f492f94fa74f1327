/** Passkeys of the account: add, rename, remove. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Card } from '../../components/card.tsx';
import { Confirm } from '../../components/overlay.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useRead } from '../../lib/read.ts';
import { addPasskey, canPasskey, wasCancelled } from '../account/passkey.ts';

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
    <Card title={t('personal.passkeys')}>
      {read === undefined ? (
        <Waiting />
      ) : list.length === 0 ? (
        <p className="mb-3 text-ink-2">{t('personal.noPasskeys')}</p>
      ) : null}
      <ul className="mb-3">
        {list.map((key) => (
          <li key={key.id} className="flex min-h-10 items-center gap-2 border-b border-line">
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
      {canPasskey() ? (
        <div className="flex gap-2">
          <input
            className="field w-44"
            placeholder={t('personal.passkeyName')}
            aria-label={t('personal.passkeyName')}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <button type="button" className="button h-8" onClick={add}>
            {t('personal.addPasskey')}
          </button>
        </div>
      ) : (
        <p className="text-ink-3">{t('personal.passkeyUnable')}</p>
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
    </Card>
  );
}
