/** What is done to channels, each change with its way back. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { call } from '../../lib/api.ts';
import { attempt, messageOf } from '../../lib/attempt.ts';
import { runUndoable } from '../../lib/undo.ts';

export function useChannelActions() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const refresh = async () => {
    await client.invalidateQueries({ queryKey: ['channels'] });
    void client.invalidateQueries({ queryKey: ['channel-traffic'] });
  };
  const run = async (work: () => Promise<unknown>, done?: string) => {
    const ok = await attempt(work, done);
    await refresh();
    return ok;
  };
  const change = (work: () => Promise<unknown>, back: () => Promise<unknown>, done: string) =>
    runUndoable({ work, back, done, refresh });
  const ids = (channels: readonly Channel[]) => channels.map(({ id }) => id);
  /** One call per value the channels had before. */
  const eachBefore = async <Value>(
    channels: readonly Channel[],
    before: (channel: Channel) => Value,
    restore: (some: number[], value: Value) => Promise<unknown>,
  ) => {
    const groups = Map.groupBy(channels, before);
    for (const [value, some] of groups) await restore(ids(some), value);
  };

  return {
    refresh,
    run,
    setStatus: (channels: readonly Channel[], status: number) =>
      change(
        () => call('channel.status_many', { ids: ids(channels), status }),
        () =>
          eachBefore(
            channels,
            (channel) => channel.status,
            // What disabled itself comes back as disabled by hand.
            (some, before) => call('channel.status_many', { ids: some, status: before === 1 ? 1 : 2 }),
          ),
        t(status === 1 ? 'channels.enabledMany' : 'channels.disabledMany', { count: channels.length }),
      ),
    setTag: (channels: readonly Channel[], tag: string) =>
      change(
        () => call('channel.tag_many', { ids: ids(channels), tag }),
        () =>
          eachBefore(
            channels,
            (channel) => channel.tag,
            (some, before) =>
              call('channel.tag_many', before === '' ? { ids: some, dissolve: true } : { ids: some, tag: before }),
          ),
        t('channels.taggedMany', { count: channels.length, tag }),
      ),
    setNumber: (channel: Channel, field: 'priority' | 'weight', value: number) =>
      change(
        () => call('channel.update', { id: channel.id, [field]: value }),
        () => call('channel.update', { id: channel.id, [field]: channel[field] }),
        t('channels.changedOne', { name: channel.name }),
      ),
    copy: (channel: Channel) =>
      run(async () => {
        await call('channel.copy', { id: channel.id }).catch((error: unknown) => {
          throw new Error(t('channels.copyFailed', { reason: messageOf(error) }));
        });
      }, t('channels.copied')),
    remove: (channels: readonly Channel[]) =>
      run(
        () => call('channel.delete_many', { ids: ids(channels) }),
        t('channels.deletedMany', { count: channels.length }),
      ),
    balance: (channel: Channel) =>
      run(() => call('channel.balance', { id: channel.id }), t('channels.balanceOk', { name: channel.name })),
  };
}

export type ChannelActions = ReturnType<typeof useChannelActions>;
