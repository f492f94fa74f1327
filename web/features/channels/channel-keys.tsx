/** The keys of a channel with several: how each is doing, its own test and its own switch. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { dateTime } from '../../lib/format.ts';
import { useOptionalRead } from '../../lib/read.ts';

type Key = OutputOf<EndpointOf<'channel.keys'>>[number];

const statusClasses: Readonly<Record<Key['status'], string>> = {
  in_use: 'status',
  waiting: 'status status-wait',
  refused: 'status status-bad',
  off: 'status status-off',
};
const refreshMs = 10_000;

function KeyRow({ channelId, one, onChanged }: { channelId: number; one: Key; onChanged: () => Promise<void> }) {
  const { t } = useTranslation();
  const [busy, setBusy] = useState(false);
  const [tested, setTested] = useState<{ readonly ok: boolean; readonly words: string } | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    await work();
    await onChanged();
    setBusy(false);
  };
  const test = async () => {
    try {
      const { success, message, time } = await call('channel.key_test', { id: channelId, key_id: one.key_id });
      setTested({ ok: success, words: success ? t('channels.keyTestOk', { time: time.toFixed(2) }) : message });
    } catch (failure) {
      setTested({ ok: false, words: messageOf(failure) });
    }
  };
  const isOff = one.status === 'off';
  const flip = () =>
    attempt(() => call('channel.key_update', { id: channelId, key_id: one.key_id, status: isOff ? 'in_use' : 'off' }));
  const until = (ms: number) => dateTime(Math.round((Date.now() + ms) / 1000));
  const lines = [
    ...(one.wait_ms > 0 ? [t('channels.keyUntil', { time: until(one.wait_ms) })] : []),
    ...one.waiting_models.map(({ model, wait_ms: ms }) => t('channels.keyUntilAt', { model, time: until(ms) })),
    one.used_time === 0 ? t('channels.keyUnused') : t('channels.keyUsed', { time: dateTime(one.used_time) }),
  ];
  return (
    <li className="grid gap-1 border-t border-line py-2 first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <code className="text-ink-1" title={one.key_id}>
          {one.hint}
        </code>
        <span className={`text-[12px] ${statusClasses[one.status]}`}>{t(`channels.keyStatus.${one.status}`)}</span>
        <span className="ml-auto flex gap-2">
          <button
            type="button"
            className="button h-8 max-sm:h-11"
            aria-label={t('channels.keyTest', { hint: one.hint })}
            aria-disabled={busy}
            onClick={() => void run(test)}
          >
            {t('channels.test')}
          </button>
          <button
            type="button"
            className="button h-8 max-sm:h-11"
            aria-label={t(isOff ? 'channels.keyEnable' : 'channels.keyDisable', { hint: one.hint })}
            aria-disabled={busy}
            onClick={() => void run(flip)}
          >
            {t(isOff ? 'app.enable' : 'app.disable')}
          </button>
        </span>
      </div>
      <p className="text-[12px] break-words text-ink-3">{lines.join(' · ')}</p>
      {one.error === '' ? null : (
        <p className="text-[12px] break-words text-ink-2">
          {t('channels.keyError', { time: dateTime(one.error_time), words: one.error })}
        </p>
      )}
      <p role="status" className={`text-[12px] break-words ${tested?.ok === false ? 'text-danger' : 'text-ink-2'}`}>
        {tested?.words}
      </p>
    </li>
  );
}

export function ChannelKeys({ channelId }: { readonly channelId: number }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const queryKey = ['channel-keys', channelId];
  const queryFn = () => call('channel.keys', { id: channelId });
  const keys = useOptionalRead({ queryKey, queryFn, refetchInterval: refreshMs }).data ?? [];
  if (keys.length < 2) return null;
  return (
    <section className="mb-4 rounded-2 border border-line px-3 pt-2" aria-label={t('channels.keys')}>
      <h2 className="text-[12px] leading-4 font-medium text-ink-2">{t('channels.keys')}</h2>
      <ul>
        {keys.map((one) => (
          <KeyRow
            key={one.key_id}
            channelId={channelId}
            one={one}
            onChanged={() => client.invalidateQueries({ queryKey })}
          />
        ))}
      </ul>
    </section>
  );
}
