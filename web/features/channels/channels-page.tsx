/** Upstream channels: filters, table or tags, drawers. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Channel } from '../../../server/contract/entities.ts';
import { AddButton } from '../../components/add-button.tsx';
import { type FilterState, stateOf } from '../../components/channel-traffic.ts';
import { ListPage } from '../../components/list-page.tsx';
import { Missing } from '../../components/missing.tsx';
import { useSelection } from '../../components/table/selection.ts';
import { call } from '../../lib/api.ts';
import { useChannelActions } from './actions.ts';
import { ChannelBulk } from './channel-bulk.tsx';
import { ChannelDialogs } from './channel-dialog.tsx';
import { ChannelFilters } from './channel-filters.tsx';
import { ChannelTable } from './channel-table.tsx';
import { PageMenu } from './page-menu.tsx';
import type { TagRow } from './tag-rows.ts';
import { TagTable } from './tag-table.tsx';
import { useChannels } from './use-channels.ts';

export function ChannelsPage() {
  const { t } = useTranslation();
  const actions = useChannelActions();
  const state = useChannels();
  const [path, navigate] = useLocation();
  const [removing, setRemoving] = useState<Channel | null>(null);
  const [testing, setTesting] = useState<Channel | null>(null);
  const [tag, setTag] = useState<TagRow | null>(null);
  const { channels } = state;
  const [selected, setSelected] = useSelection(state.scope);
  const selection = { selected, onChange: setSelected };
  const bar = <ChannelFilters state={state} />;
  const ofState = (filter: FilterState) =>
    (state.all ?? []).filter((one) => stateOf(one, state.traffic.get(one.id)) === filter).length;
  const [failing, slow] = [ofState('failing') + ofState('auto'), ofState('slow')];
  const count = [
    String(channels.length),
    ...(failing === 0 ? [] : [t('channels.countFailing', { count: failing })]),
    ...(slow === 0 ? [] : [t('channels.countSlow', { count: slow })]),
  ].join(' · ');
  const blank = !state.filtered && state.all?.length === 0;
  const editing = Number(/^\/channel\/edit\/(\d+)$/.exec(path)?.[1] ?? 0);
  const edited = state.all?.find(({ id }) => id === editing);
  if (editing > 0 && state.all !== undefined && edited === undefined)
    return (
      <Missing
        title={`${t('logs.channel')} #${editing}`}
        text={t('channels.lost')}
        href="/channel"
        all={t('channels.everyOne')}
      />
    );
  return (
    <ListPage
      title={t('channels.title')}
      count={state.all === undefined ? undefined : count}
      actions={
        <>
          {blank ? null : (
            <button
              type="button"
              className="button max-sm:hidden"
              onClick={() => actions.run(() => call('channel.test_all'), t('channels.testAllOk'))}
            >
              {t('channels.testAllShort')}
            </button>
          )}
          <PageMenu actions={actions} />
          <AddButton label={t('channels.add')} onClick={() => navigate(`/channel/add${location.search}`)} />
        </>
      }
      over={
        <>
          <ChannelBulk channels={channels} selection={selection} actions={actions} />
          <ChannelDialogs
            {...{ actions, edited, testing, tag, removing }}
            types={state.types}
            traffic={state.traffic}
            onTest={setTesting}
            onTag={setTag}
            onRemove={setRemoving}
          />
        </>
      }
    >
      {state.tagMode ? (
        <>
          {blank ? null : <div className="flex flex-wrap items-center gap-2 px-5 pb-3">{bar}</div>}
          <TagTable
            channels={channels}
            traffic={state.traffic}
            list={state.list}
            filtered={state.filtered}
            actions={actions}
            onEdit={setTag}
            onOpen={(row) => navigate(`/channel?tag=${encodeURIComponent(row.tag)}`)}
          />
        </>
      ) : (
        <ChannelTable {...{ state, actions, selection, bar }} onTest={setTesting} onRemove={setRemoving} />
      )}
    </ListPage>
  );
}
