/** How channels are doing by their own requests: what the table says of it. */
import type { TFunction } from 'i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { call } from '../../lib/api.ts';
import { dateTime, duration } from '../../lib/format.ts';
import { useAside } from '../../lib/read.ts';

export type ChannelTraffic = OutputOf<EndpointOf<'traffic.channels'>>[number];

const none: readonly ChannelTraffic[] = [];

/** By requests of users, so that a channel that fails is seen without a test. */
export const useChannelTraffic = (): readonly ChannelTraffic[] =>
  useAside({ queryKey: ['channel-traffic'], queryFn: () => call('traffic.channels', {}), refetchInterval: 15_000 })
    .data ?? none;

const looks: Readonly<Record<ChannelTraffic['state'], string>> = {
  serving: 'status',
  slow: 'status status-wait',
  failing: 'status status-bad',
  standby: 'status status-off',
  idle: 'status status-off',
  disabled: 'status status-off',
};

export const trafficLook = (one: ChannelTraffic): string => looks[one.state];

const milliseconds = (value: number | null): string => (value === null ? '–' : duration(value / 1000));

/** What has to be known of a channel in trouble, in one line; null = nothing. */
export function trafficNote(t: TFunction, one: ChannelTraffic | undefined): string | null {
  if (one?.state === 'slow')
    return t('channels.slowNow', { p95: milliseconds(one.p95), usual: milliseconds(one.usual_p95) });
  if (one?.state !== 'failing') return null;
  const since = t('channels.failingSince', { time: dateTime(one.since), failed: one.failed });
  const saved = one.saved_by.map(({ name, requests }) => `${name} ${requests}`).join(', ');
  return [
    since,
    saved === '' ? t('channels.savedByNone') : t('channels.savedBy', { saved }),
    ...(one.words === '' ? [] : [t('channels.upstreamSays', { words: one.words })]),
  ].join(' ');
}
