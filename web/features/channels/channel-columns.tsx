/** Columns of the channel table. */
import type { TFunction } from 'i18next';
import type { Channel } from '../../../server/contract/entities.ts';
import { channelColor } from '../../components/channel-color.ts';
import {
  type ChannelTraffic,
  filterStates,
  isQuiet,
  secondsText,
  stateClasses,
  stateOf,
  successClass,
  successOf,
  successText,
  type TrafficRange,
} from '../../components/channel-traffic.ts';
import { InlineNumber } from '../../components/inline-number.tsx';
import type { Column } from '../../components/table/column.ts';
import { RowActions } from '../../components/table/row-actions.tsx';
import { TrafficBars } from '../../components/traffic-bars.tsx';
import type { Money } from '../../lib/money.ts';
import type { ChannelActions } from './actions.ts';
import { listedPriorityBounds, weightBounds } from './channel-form.ts';
import { testErrorOf } from './failure.ts';
import { ResponseTime } from './response-time.tsx';

const warningDays = 10;
const nowDays = 3;

/** Requests per minute; below, a tenth is worth saying. */
const slowRate = 10;

/** All of a column to the cent; what is less than one says so. */
const centsText = (quota: number, money: Money): string => {
  const text = money(quota, 'cents');
  return quota > 0 && text === money(0, 'cents') ? '< $0.01' : text;
};

/** A longer forecast says nothing. */
const maxDays = 365;
const daysText = (days: number, t: TFunction): string =>
  days > maxDays
    ? `> ${t('channels.days', { days: maxDays })}`
    : t('channels.days', { days: days < warningDays ? days : Math.round(days) });
const daysClass = (days: number): string =>
  days < nowDays ? 'text-danger' : days < warningDays ? 'text-warning' : 'text-ink-2';

export interface ChannelColumnsProps {
  readonly t: TFunction;
  /** Stable, like the translator. */
  readonly money: Money;
  readonly actions: ChannelActions;
  readonly traffic: ReadonlyMap<number, ChannelTraffic>;
  readonly range: TrafficRange;
  readonly typeName: (type: number) => string;
  readonly onEdit: (channel: Channel) => void;
  readonly onTest: (channel: Channel) => void;
  readonly onRemove: (channel: Channel) => void;
}

export function channelColumns({
  t,
  money,
  actions,
  traffic,
  range,
  typeName,
  onEdit,
  onTest,
  onRemove,
}: ChannelColumnsProps): readonly Column<Channel>[] {
  return [
    {
      id: 'name',
      header: t('channels.name'),
      key: true,
      sort: (row) => row.name,
      cell: (row) => (
        <>
          <span className="row-name font-medium text-ink-1" title={row.name}>
            {row.name}
          </span>
          <span className="block text-[12px] text-ink-3 sm:hidden">{typeName(row.type)}</span>
        </>
      ),
    },
    {
      id: 'status',
      header: t('channels.status'),
      key: true,
      sort: (row) => filterStates.indexOf(stateOf(row, traffic.get(row.id))),
      cell: (row) => {
        const state = stateOf(row, traffic.get(row.id));
        return (
          <span className="max-sm:w-20">
            <span className={stateClasses[state]}>{t(`channels.state.${state}`)}</span>
          </span>
        );
      },
    },
    {
      id: 'type',
      from: 1280,
      header: t('channels.type'),
      sort: (row) => typeName(row.type),
      cell: (row) => (
        <span className="inline-flex h-5 items-center gap-1.5 rounded-1 border align-[1px] border-line-strong px-1.5 text-[11px] font-medium text-ink-2">
          <span
            className="grid size-3 place-items-center rounded-[2px] text-[8px] leading-none font-bold text-white"
            style={{ background: channelColor(row.type) }}
          >
            {typeName(row.type).slice(0, 1)}
          </span>
          {typeName(row.type)}
        </span>
      ),
    },
    {
      id: 'bars',
      from: 720,
      header: t(range === '24h' ? 'channels.lastDay' : 'channels.lastWeek'),
      key: true,
      cell: (row) =>
        isQuiet(traffic.get(row.id)) ? null : <TrafficBars bars={traffic.get(row.id)?.period?.bars ?? []} />,
    },
    {
      id: 'success',
      header: t('channels.success'),
      number: true,
      key: true,
      sort: (row) => successOf(traffic.get(row.id)) ?? 2,
      cell: (row) => {
        const share = successOf(traffic.get(row.id));
        return share === null ? null : <span className={successClass(share)}>{successText(share)}</span>;
      },
    },
    {
      id: 'speed',
      from: 1024,
      header: t('channels.speed'),
      sortedBy: t('channels.sortedByP95'),
      number: true,
      sort: (row) => traffic.get(row.id)?.period?.p95 ?? 0,
      cell: (row) => {
        const period = traffic.get(row.id)?.period;
        return isQuiet(traffic.get(row.id)) ? null : (
          <>
            {secondsText(period?.first_token)} <span className="text-ink-3">/</span> {secondsText(period?.p95)}
          </>
        );
      },
    },
    {
      id: 'rate',
      from: 1280,
      header: t('channels.rate'),
      number: true,
      sort: (row) => traffic.get(row.id)?.requests_per_minute ?? 0,
      cell: (row) => {
        const rate = traffic.get(row.id)?.requests_per_minute ?? 0;
        return rate === 0 ? null : rate < slowRate ? rate : Math.round(rate);
      },
    },
    {
      id: 'today',
      header: t('channels.today'),
      number: true,
      key: true,
      sort: (row) => traffic.get(row.id)?.charged_today ?? 0,
      cell: (row) => {
        const charged = traffic.get(row.id)?.charged_today ?? 0;
        return charged === 0 ? null : (
          <>
            <span title={money(charged)}>{centsText(charged, money)}</span>{' '}
            <span className="ml-1 text-ink-3 sm:hidden">{t('channels.todayShort')}</span>
          </>
        );
      },
    },
    {
      id: 'lasts',
      from: 1024,
      header: t('channels.lasts'),
      number: true,
      sort: (row) => traffic.get(row.id)?.balance_lasts_days ?? Number.MAX_SAFE_INTEGER,
      cell: (row) => {
        const days = traffic.get(row.id)?.balance_lasts_days ?? null;
        const known = row.balance_updated_time !== 0;
        const lasts = days === null ? (known ? '∞' : '–') : daysText(days, t);
        const balance = known ? `$${row.balance.toFixed(2)}` : '–';
        return (
          <button
            type="button"
            className={`min-h-6 ${days === null && !known ? '' : 'underline decoration-dotted underline-offset-2'} ${days === null ? 'text-ink-2' : daysClass(days)}`}
            title={t('channels.balanceAsk', { balance })}
            aria-label={t('channels.balanceOf', { name: row.name, balance, lasts })}
            onClick={() => actions.balance(row)}
          >
            {lasts}
          </button>
        );
      },
    },
    {
      id: 'group',
      hidden: true,
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
      hidden: true,
      header: t('channels.models'),
      number: true,
      sort: (row) => row.models.split(',').length,
      cell: (row) => <span title={row.models.replaceAll(',', '\n')}>{row.models.split(',').length}</span>,
    },
    {
      id: 'response',
      hidden: true,
      header: t('channels.response'),
      number: true,
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
      hidden: true,
      header: t('channels.used'),
      number: true,
      sort: (row) => row.used_quota,
      amount: (row) => row.used_quota,
    },
    {
      id: 'balance',
      hidden: true,
      header: t('channels.balance'),
      number: true,
      sort: (row) => row.balance,
      cell: (row) => (row.balance_updated_time === 0 ? '–' : `$${row.balance.toFixed(2)}`),
    },
    {
      id: 'priority',
      hidden: true,
      header: t('channels.priority'),
      number: true,
      sort: (row) => row.priority,
      cell: (row) => (
        <InlineNumber
          label={t('channels.priorityOf', { name: row.name })}
          value={row.priority}
          bounds={listedPriorityBounds}
          onSave={(value) => actions.setNumber(row, 'priority', value)}
        />
      ),
    },
    {
      id: 'weight',
      hidden: true,
      header: t('channels.weight'),
      number: true,
      sort: (row) => row.weight,
      cell: (row) => (
        <InlineNumber
          label={t('channels.weightOf', { name: row.name })}
          value={row.weight}
          bounds={weightBounds}
          onSave={(value) => actions.setNumber(row, 'weight', value)}
        />
      ),
    },
    {
      id: 'tag',
      hidden: true,
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
      id: 'id',
      hidden: true,
      header: 'ID',
      number: true,
      sort: (row) => row.id,
      cell: (row) => <span className="text-ink-3">{row.id}</span>,
    },
    {
      id: 'actions',
      header: t('app.actions'),
      key: true,
      cell: (row) => (
        <RowActions
          name={row.name}
          quick={[
            { id: 'test', content: t('channels.testOne', { name: row.name }), icon: 'bolt', onPick: () => onTest(row) },
            { id: 'edit', content: t('channels.editOne', { name: row.name }), icon: 'edit', onPick: () => onEdit(row) },
          ]}
          more={[
            {
              id: 'status',
              content: row.status === 1 ? t('app.disable') : t('app.enable'),
              onPick: () => actions.setStatus([row], row.status === 1 ? 2 : 1),
            },
            { id: 'copy', content: t('channels.copy'), onPick: () => actions.copy(row) },
            { id: 'delete', content: t('app.delete'), danger: true, onPick: () => onRemove(row) },
          ]}
        />
      ),
    },
  ];
}
