/** Orders the channels of a route: tier by tier, inside a tier by weighted chance; those in trouble come last. */

import type { ChannelSnapshot } from '../state/snapshot.ts';
import type { PriorityTier, Route } from '../state/state.ts';
import type { Condition } from './health.ts';

/** Added to every weight so that channels of weight 0 still receive some traffic. As new-api does. */
const smoothing = 10;

export interface ChooseFacts {
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly condition: (channel: ChannelSnapshot) => Condition;
  readonly waitMs: (channel: ChannelSnapshot) => number;
  /** Channel that served this conversation; goes first within the first tier that has a sound channel. */
  readonly preferred: () => number | null;
}

/** @returns each channel once, in the order they should be tried. */
export function orderChannels(route: Route, facts: ChooseFacts): ChannelSnapshot[] {
  const [only] = route;
  if (route.length === 1 && only?.length === 1) return [...only];
  const order: ChannelSnapshot[] = [];
  const troubled: ChannelSnapshot[] = [];
  for (const tier of route) {
    const sound = tier.filter((channel) => facts.condition(channel) === 'up' || !troubled.push(channel));
    const first = order.length === 0;
    const drawn = sound.length > 1 ? drawByWeight(sound, facts.random) : sound;
    order.push(...(first && drawn.length > 1 ? preferring(drawn, facts.preferred()) : drawn));
  }
  if (troubled.length > 1) troubled.sort((a, b) => facts.waitMs(a) - facts.waitMs(b));
  order.push(...troubled);
  return order;
}

function drawByWeight(tier: PriorityTier, random: () => number): ChannelSnapshot[] {
  const drawn: ChannelSnapshot[] = [];
  const rest = [...tier];
  while (rest.length > 0) {
    const total = rest.reduce((sum, channel) => sum + channel.weight + smoothing, 0);
    let pick = random() * total;
    const found = rest.findIndex((channel) => {
      pick -= channel.weight + smoothing;
      return pick < 0;
    });
    drawn.push(...rest.splice(found < 0 ? rest.length - 1 : found, 1));
  }
  return drawn;
}

function preferring(channels: readonly ChannelSnapshot[], id: number | null): readonly ChannelSnapshot[] {
  const favourite = id === null ? undefined : channels.find((channel) => channel.id === id);
  return favourite === undefined ? channels : [favourite, ...channels.filter((channel) => channel !== favourite)];
}

/** Chance of a channel to be tried first within its tier, 0 to 1. */
export const shareOf = (channel: ChannelSnapshot, tier: PriorityTier): number =>
  (channel.weight + smoothing) / tier.reduce((sum, other) => sum + other.weight + smoothing, 0);

/** Follows a channel's model mapping to its end; a chain that comes back to a name already seen stops there. */
export function mapModel(mapping: Readonly<Record<string, string>>, model: string): string {
  if (!Object.hasOwn(mapping, model)) return model;
  const seen = new Set([model]);
  let name = model;
  for (;;) {
    const next = Object.hasOwn(mapping, name) ? mapping[name] : undefined;
    if (next === undefined || next === '' || seen.has(next)) return name;
    seen.add(next);
    name = next;
  }
}
