/** How channels are doing by their own requests. */

import { keepPreviousData } from '@tanstack/react-query';
import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import type { Channel } from '../../server/contract/entities.ts';
import { call } from '../lib/api.ts';
import { secondsText as hundredths, percentText } from '../lib/format.ts';
import { useOptionalRead } from '../lib/read.ts';

export type ChannelTraffic = OutputOf<EndpointOf<'traffic.channels'>>[number];
export const trafficRanges = ['24h', '7d'] as const;
export type TrafficRange = (typeof trafficRanges)[number];

/** By requests of users, so that a channel that fails is seen without a test. */
export const useChannelTraffic = (range: TrafficRange) =>
  useOptionalRead({
    queryKey: ['channel-traffic', range],
    queryFn: () => call('traffic.channels', { range }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });

/** Of channels that are enabled. */
export const trafficStates = ['failing', 'slow', 'serving', 'standby', 'idle'] as const;
export const filterStates = [...trafficStates, 'auto', 'disabled'] as const;
export type FilterState = (typeof filterStates)[number];

/** What the channel itself says of its status wins: it is newer than its traffic. */
export function stateOf({ status }: Channel, traffic: ChannelTraffic | undefined): FilterState {
  if (status !== 1) return status === 3 ? 'auto' : 'disabled';
  const state = traffic?.state ?? 'idle';
  return state === 'disabled' ? 'idle' : state;
}

export const stateClasses: Readonly<Record<FilterState, string>> = {
  failing: 'status status-bad',
  slow: 'status status-wait',
  serving: 'status',
  standby: 'status status-off',
  idle: 'status status-off',
  auto: 'status status-bad',
  disabled: 'status status-off',
};

export const secondsText = (ms: number | null | undefined): string =>
  ms === null || ms === undefined ? '–' : ms < 995 ? hundredths(ms) : (ms / 1000).toFixed(1);
export const successOf = (one: ChannelTraffic | undefined): number | null =>
  one?.period == null || one.period.attempts === 0 ? null : 1 - one.period.failed / one.period.attempts;
/** Cut, so that it is 100% only where no request failed. */
export const successText = (share: number): string =>
  share === 1 ? '100%' : percentText(Math.floor(share * 1000) / 1000);
/** Red where one request of five fails. */
export const successClass = (share: number): string =>
  share < 0.8 ? 'text-danger' : share < 0.95 ? 'text-warning' : '';

/** Nothing was sent to it in the range. */
export const isQuiet = (one: ChannelTraffic | undefined): boolean => (one?.period?.attempts ?? 0) === 0;

/** Its requests fail, or it was disabled for that. */
export const isFailing = (channel: Channel, one: ChannelTraffic | undefined): boolean =>
  ['failing', 'auto'].includes(stateOf(channel, one));

/** Those that fail lead, as long as nobody asked for an order; the others keep theirs. */
export const failingFirst = (
  channels: readonly Channel[],
  traffic: ReadonlyMap<number, ChannelTraffic>,
): readonly Channel[] =>
  channels.toSorted(
    (one, other) => Number(isFailing(other, traffic.get(other.id))) - Number(isFailing(one, traffic.get(one.id))),
  );

/** What so many channels say alike is said once, above them. */
const alikeFrom = 3;

/** Why channels fail, where several in view fail for the same reason; null = each says its own. */
export function sharedFailure(
  channels: readonly Channel[],
  traffic: ReadonlyMap<number, ChannelTraffic>,
): { readonly words: string; readonly count: number } | null {
  const counts = new Map<string, number>();
  for (const channel of channels) {
    const own = traffic.get(channel.id);
    if (own === undefined || own.words === '' || stateOf(channel, own) !== 'failing') continue;
    counts.set(own.words, (counts.get(own.words) ?? 0) + 1);
  }
  const [words, count] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0]);
  return count < alikeFrom ? null : { words, count };
}
