/** Channels one by one. */

import { type ReactNode, useCallback, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Channel } from '../../../server/contract/entities.ts';
import { sharedFailure } from '../../components/channel-traffic.ts';
import { Empty } from '../../components/empty.tsx';
import type { Selection } from '../../components/table/column.ts';
import { DataTable } from '../../components/table/data-table.tsx';
import { failureWords } from '../../lib/failure-words.ts';
import { useMoney } from '../../lib/money.ts';
import type { ChannelActions } from './actions.ts';
import { channelColumns } from './channel-columns.tsx';
import { ChannelNote } from './channel-note.tsx';
import { hasNote } from './failure.ts';
import { type Channels, typeName } from './use-channels.ts';

export interface ChannelTableProps {
  readonly state: Channels;
  readonly actions: ChannelActions;
  readonly selection: Selection;
  readonly bar: ReactNode;
  /** Stable, like the next. */
  readonly onTest: (channel: Channel) => void;
  readonly onRemove: (channel: Channel) => void;
}

export function ChannelTable({ state, actions, selection, bar, onTest, onRemove }: ChannelTableProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const money = useMoney();
  const { types, filtered, traffic } = state;
  const actionsNow = useRef(actions);
  actionsNow.current = actions;
  // Rows are rendered again only when the columns change.
  const columns = useMemo(
    () =>
      channelColumns({
        t,
        money,
        actions: actionsNow.current,
        traffic,
        range: state.range,
        typeName: (type) => typeName(types, type),
        onEdit: ({ id }) => navigate(`/channel/edit/${id}${location.search}`),
        onTest,
        onRemove,
      }),
    [t, money, traffic, state.range, types, navigate, onTest, onRemove],
  );
  const alike = useMemo(() => sharedFailure(state.channels, traffic), [state.channels, traffic]);
  const sharedReason = alike?.words ?? '';
  const note = useCallback(
    (row: Channel) =>
      hasNote(row, traffic.get(row.id)) ? (
        <ChannelNote
          channel={row}
          traffic={traffic.get(row.id)}
          actions={actionsNow.current}
          sharedReason={sharedReason}
          onTest={onTest}
        />
      ) : null,
    [traffic, sharedReason, onTest],
  );
  return (
    <DataTable
      caption={t('channels.title')}
      rows={state.channels}
      columns={columns}
      list={state.list}
      onOpen={({ id }) => navigate(`/channel/edit/${id}${location.search}`)}
      selection={selection}
      storeKey="channels-table-columns"
      blank={!filtered && state.all?.length === 0}
      place="channels"
      dense
      bar={bar}
      header={
        alike === null ? undefined : (
          <p className="mx-5 mb-3 rounded-1 border-l-2 border-danger-solid bg-danger-soft px-3 py-1.5 text-[12px] break-words text-danger">
            {t('channels.failAlike', { count: alike.count, words: failureWords(alike.words, t) })}
          </p>
        )
      }
      note={note}
      empty={<NoChannels filtered={filtered} />}
    />
  );
}

/** None passes the filters, or there is none yet. */
export function NoChannels({ filtered }: { readonly filtered: boolean }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  return filtered ? (
    <Empty text={t('channels.noMatch')}>
      <button type="button" className="button" onClick={() => navigate('/channel')}>
        {t('app.clearFilters')}
      </button>
    </Empty>
  ) : (
    <Empty text={t('channels.empty')} command="echo none | gateway channel add --type practice --name try --key-stdin">
      <button type="button" className="button" onClick={() => navigate('/channel/add')}>
        {t('channels.add')}
      </button>
    </Empty>
  );
}
