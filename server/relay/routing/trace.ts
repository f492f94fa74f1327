/** Says which channels were considered for a request, in what order and why. */

import type { ChannelSnapshot } from '../state/snapshot.ts';
import type { Route } from '../state/state.ts';
import { type ChooseFacts, shareOf } from './choose.ts';
import type { Condition } from './health.ts';

export interface Considered {
  readonly channelId: number;
  readonly name: string;
  readonly priority: number;
  readonly weight: number;
  /** Chance to be first within its tier, 0 to 1. */
  readonly share: number;
  readonly condition: Condition;
  /** Milliseconds until a channel in trouble is tried again before others. */
  readonly waitMs: number;
  /** It served this conversation lately. */
  readonly preferred: boolean;
}

export function consider(route: Route, facts: ChooseFacts): Considered[] {
  const preferred = facts.preferred();
  return route.flatMap((tier) =>
    tier.map((channel) => ({
      channelId: channel.id,
      name: channel.name,
      priority: channel.priority,
      weight: channel.weight,
      share: shareOf(channel, tier),
      condition: facts.condition(channel),
      waitMs: facts.waitMs(channel),
      preferred: channel.id === preferred,
    })),
  );
}

/** One header line; ids only, for channel names are nobody's business but the operator's. */
export function traceOf(route: Route, order: readonly ChannelSnapshot[], facts: ChooseFacts): string {
  const seen = new Map(consider(route, facts).map((entry) => [entry.channelId, entry]));
  const told = order.map(({ id }) => {
    const entry = seen.get(id);
    if (entry === undefined) return String(id);
    const marks = [entry.condition === 'up' ? '' : entry.condition, entry.preferred ? 'same-conversation' : '']
      .filter((mark) => mark !== '')
      .join('+');
    return `${id} p${entry.priority} ${Math.round(entry.share * 100)}%${marks === '' ? '' : ` ${marks}`}`;
  });
  return `order=${told.join(' > ')}`;
}
