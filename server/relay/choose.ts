/** Orders the channels of a route: tier by tier, inside a tier by weighted chance. Pure but for the injected chance. */
import type { ChannelSnapshot } from './snapshot.ts';
import type { Route } from './state.ts';

/** Added to every weight so that channels of weight 0 still receive some traffic. Source: backend-reference 3.5. */
const smoothing = 10;

/** @param random returns [0, 1). @returns each channel once, in the order they should be tried. */
export function orderChannels(route: Route, random: () => number): ChannelSnapshot[] {
  const order: ChannelSnapshot[] = [];
  for (const tier of route) {
    if (tier.length === 1) {
      order.push(...tier);
      continue;
    }
    const rest = [...tier];
    while (rest.length > 0) {
      const total = rest.reduce((sum, channel) => sum + channel.weight + smoothing, 0);
      let pick = random() * total;
      const found = rest.findIndex((channel) => {
        pick -= channel.weight + smoothing;
        return pick < 0;
      });
      order.push(...rest.splice(found < 0 ? rest.length - 1 : found, 1));
    }
  }
  return order;
}

/** Follows a channel's model mapping to its end; a chain that comes back to a name already seen stops there. */
export function mapModel(mapping: Readonly<Record<string, string>>, model: string): string {
  const seen = new Set([model]);
  let name = model;
  for (;;) {
    const next = Object.hasOwn(mapping, name) ? mapping[name] : undefined;
    if (next === undefined || next === '' || seen.has(next)) return name;
    seen.add(next);
    name = next;
  }
}
