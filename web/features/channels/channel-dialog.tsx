/** What opens over the list of channels: the drawers of a channel, of a tag and of a test, and the question before deleting. */
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { useLocation } from 'wouter';
import type { Channel } from '../../../server/contract/entities.ts';
import { type ChannelTraffic, stateOf } from '../../components/channel-traffic.ts';
import { Confirm } from '../../components/overlay.tsx';
import { call } from '../../lib/api.ts';
import type { ChannelActions } from './actions.ts';
import { ChannelDrawer } from './channel-drawer.tsx';
import type { ChannelType } from './channel-form.ts';
import { useDeleteText } from './delete-text.ts';
import { TagDrawer } from './tag-drawer.tsx';
import type { TagRow } from './tag-rows.ts';
import { TestDrawer } from './test-drawer.tsx';

export interface ChannelDialogsProps {
  readonly actions: ChannelActions;
  /** The channel that the address names; undefined = it names none. */
  readonly edited: Channel | undefined;
  readonly types: readonly ChannelType[];
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  readonly testing: Channel | null;
  readonly onTest: (channel: Channel | null) => void;
  readonly tag: TagRow | null;
  readonly onTag: (tag: TagRow | null) => void;
  readonly removing: Channel | null;
  readonly onRemove: (channel: Channel | null) => void;
}

export function ChannelDialogs({ actions, edited, types, traffic, ...open }: ChannelDialogsProps) {
  const { t } = useTranslation();
  const [path, navigate] = useLocation();
  const { testing, onTest, tag, onTag, removing, onRemove } = open;
  const deleteText = useDeleteText(removing === null ? [] : [removing.id], t('channels.deleteText'));
  const back = () => navigate(`/channel${location.search}`);
  return (
    <>
      {path === '/channel/add' || edited !== undefined ? (
        <ChannelDrawer
          key={path}
          channel={edited ?? null}
          types={types}
          state={edited === undefined ? 'idle' : stateOf(edited, traffic.get(edited.id))}
          onTest={(channel) => {
            back();
            onTest(channel);
          }}
          onClose={back}
          onSaved={(fresh) => {
            back();
            toast.success(fresh ? t('channels.createdOk') : t('channels.updatedOk'));
            void actions.refresh();
          }}
        />
      ) : null}
      {testing === null ? null : <TestDrawer channel={testing} actions={actions} onClose={() => onTest(null)} />}
      {tag === null ? null : <TagDrawer row={tag} actions={actions} onClose={() => onTag(null)} />}
      {removing === null ? null : (
        <Confirm
          title={t('channels.deleteTitle', { name: removing.name })}
          text={deleteText}
          action={t('app.delete')}
          onClose={() => onRemove(null)}
          onConfirm={() => {
            onRemove(null);
            void actions.run(
              () => call('channel.delete', { id: removing.id }),
              t('channels.deletedMany', { count: 1 }),
            );
          }}
        />
      )}
    </>
  );
}
