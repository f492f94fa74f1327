/** Figures of traffic: all of it for administrators, that of his own keys for a user. */
import type { HandlersOf } from './handlers-of.ts';

export const trafficHandlers: HandlersOf<'traffic.all' | 'traffic.self' | 'traffic.channels' | 'traffic.now'> = {
  'traffic.all': ({ services, input }) => services.traffic(input, null),
  'traffic.self': ({ services, input, actor }) => services.traffic(input, actor.userId),
  'traffic.now': ({ services }) => services.recentTraffic(),
  'traffic.channels': ({ services, input }) => services.channelStates(input.range),
};
