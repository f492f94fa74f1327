/** Columns of the channel table. */
import type { TFunction } from 'i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { channelColour } from '../../components/channel-colour.ts';
import { Icon } from '../../components/icon.tsx';
import { LazyMenu } from '../../components/lazy-menu.tsx';
import type { Column } from '../../components/table/column.ts';
import type { ChannelActions } from './actions.ts';
import { listedPriorityTerms, weightTerms } from './channel-form.ts';
import { InlineNumber } from './inline-number.tsx';
import { ResponseTime } from './response-time.tsx';
import { type ChannelTraffic, trafficLook } from './traffic.ts';
import { testErrorOf } from './trouble.ts';

const statusLooks = { 1: 'status', 2: 'status status-off', 3: 'status status-bad' } as const;

export interface ChannelColumnsProps {
  readonly t: TFunction;
  readonly actions: ChannelActions;
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  readonly typeName: (type: number) => string;
  readonly onEdit: (channel: Channel) => void;
  readonly onTest: (channel: Channel) => void;
  readonly onRemove: (channel: Channel) => void;
}

export function channelColumns({
  t,
  actions,
  traffic,
  typeName,
  onEdit,
  onTest,
  onRemove,
}: ChannelColumnsProps): readonly Column<Channel>[] {
  return [
    {
      id: 'id',
      header: 'ID',
      number: true,
      sort: (row) => row.id,
      cell: (row) => <span className="text-ink-3">{row.id}</span>,
    },
    {
      id: 'name',
      header: t('channels.name'),
      key: true,
      sort: (row) => row.name,
      cell: (row) => <span className="font-medium text-ink-1">{row.name}</span>,
    },
    {
      id: 'status',
      header: t('channels.status'),
      key: true,
      sort: (row) => row.status,
      cell: (row) => (
        <span className={statusLooks[row.status as 1 | 2 | 3]}>{t(`channels.s${row.status as 1 | 2 | 3}`)}</span>
      ),
    },
    {
      id: 'traffic',
      header: t('channels.traffic'),
      key: true,
      sort: (row) => traffic.get(row.id)?.state ?? '',
      cell: (row) => {
        const one = traffic.get(row.id);
        return one === undefined ? '–' : <span className={trafficLook(one)}>{t(`channels.state.${one.state}`)}</span>;
      },
    },
    {
      id: 'type',
      header: t('channels.type'),
      key: true,
      sort: (row) => typeName(row.type),
      cell: (row) => (
        <span className="inline-flex h-5 items-center gap-1.5 rounded-1 border border-line-strong px-1.5 text-[11px] font-medium text-ink-2">
          <span
            className="grid size-3 place-items-center rounded-[2px] text-[8px] leading-none font-bold text-white"
            style={{ background: channelColour(row.type) }}
          >
            {typeName(row.type).slice(0, 1)}
          </span>
          {typeName(row.type)}
        </span>
      ),
    },
    {
      id: 'group',
      header: t('channels.group'),
      cell: (row) => (
        <span className="flex gap-1">
          {row.group.split(',').map((group) => (
            <span key={group} className="rounded-1 bg-sunken px-1.5 text-[11px] text-ink-2">
              {group}
            </span>
          ))}
        </span>
      ),
    },
    {
      id: 'models',
      header: t('channels.models'),
      number: true,
      sort: (row) => row.models.split(',').length,
      cell: (row) => <span title={row.models.replaceAll(',', '\n')}>{row.models.split(',').length}</span>,
    },
    {
      id: 'response',
      header: t('channels.response'),
      number: true,
      key: true,
      sort: (row) => row.response_time,
      cell: (row) =>
        testErrorOf(row) === undefined ? (
          <ResponseTime ms={row.response_time} untested={t('channels.untested')} />
        ) : (
          <span className="status status-bad">{t('channels.failing')}</span>
        ),
    },
    {
      id: 'used',
      header: t('channels.used'),
      number: true,
      sort: (row) => row.used_quota,
      amount: (row) => row.used_quota,
    },
    {
      id: 'balance',
      header: t('channels.balance'),
      number: true,
      sort: (row) => row.balance,
      cell: (row) => (
        <button
          type="button"
          className="text-ink-2 underline decoration-dotted underline-offset-2"
          title={t('channels.balanceAsk')}
          aria-label={t('channels.balanceOf', { name: row.name, balance: `$${row.balance.toFixed(2)}` })}
          onClick={() => actions.balance(row)}
        >
          {row.balance_updated_time === 0 ? '–' : `$${row.balance.toFixed(2)}`}
        </button>
      ),
    },
    {
      id: 'priority',
      header: t('channels.priority'),
      number: true,
      sort: (row) => row.priority,
      cell: (row) => (
        <InlineNumber
          label={t('channels.priorityOf', { name: row.name })}
          value={row.priority}
          terms={listedPriorityTerms}
          onSave={(value) => actions.setNumber(row, 'priority', value)}
        />
      ),
    },
    {
      id: 'weight',
      header: t('channels.weight'),
      number: true,
      sort: (row) => row.weight,
      cell: (row) => (
        <InlineNumber
          label={t('channels.weightOf', { name: row.name })}
          value={row.weight}
          terms={weightTerms}
          onSave={(value) => actions.setNumber(row, 'weight', value)}
        />
      ),
    },
    {
      id: 'tag',
      header: t('channels.tag'),
      sort: (row) => row.tag,
      cell: (row) =>
        row.tag === '' ? (
          <span className="text-ink-3">–</span>
        ) : (
          <span className="rounded-1 bg-accent-soft px-1.5 text-[11px] text-accent-text">{row.tag}</span>
        ),
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => (
        <span className="flex gap-0.5">
          <button
            type="button"
            className="button button-ghost button-icon"
            aria-label={t('channels.testOne', { name: row.name })}
            title={t('channels.test')}
            onClick={() => onTest(row)}
          >
            <Icon name="bolt" />
          </button>
          <button
            type="button"
            className="button button-ghost button-icon"
            aria-label={t('channels.editOne', { name: row.name })}
            title={t('app.edit')}
            onClick={() => onEdit(row)}
          >
            <Icon name="edit" />
          </button>
          <LazyMenu
            button={{
              className: 'button button-ghost button-icon',
              label: t('channels.moreOf', { name: row.name }),
              content: <Icon name="more" />,
            }}
            anchor="bottom end"
            width="w-40"
            items={[
              {
                id: 'status',
                content: row.status === 1 ? t('app.disable') : t('app.enable'),
                onPick: () => actions.setStatus([row], row.status === 1 ? 2 : 1),
              },
              { id: 'copy', content: t('channels.copy'), onPick: () => actions.copy(row) },
              { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
            ]}
          />
        </span>
      ),
    },
  ];
}
