/** What is wrong with a channel, as it was kept: why it was taken out of service, and why its last test failed. */
import type { Channel } from '../../../server/contract/entities.ts';
import { type ChannelTraffic, stateOf } from '../../components/channel-traffic.ts';

interface Info {
  readonly status_reason?: string;
  readonly status_time?: number;
  readonly test_error?: string;
}

function infoOf({ other_info: info }: Channel): Info {
  try {
    return info === '' ? {} : (JSON.parse(info) as Info);
  } catch {
    return {};
  }
}

/** @returns null = it was not disabled by itself. */
export function failureOf(channel: Channel): { readonly reason: string; readonly at: number } | null {
  const { status_reason: reason, status_time: at } = infoOf(channel);
  return channel.status !== 3 || reason === undefined ? null : { reason, at: at ?? 0 };
}

/** @returns undefined = the last test went well, or there was none. */
export const testErrorOf = (channel: Channel): string | undefined => infoOf(channel).test_error;

/** Something about it has to be done or known. */
export const hasNote = (channel: Channel, traffic: ChannelTraffic | undefined): boolean =>
  ['failing', 'slow', 'auto'].includes(stateOf(channel, traffic)) || testErrorOf(channel) !== undefined;
