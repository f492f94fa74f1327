/** Prices by who serves: an operator's factor on all that a channel's requests cost (`channel_factor` in its setting). */
import type { Prices } from './price.ts';

export const minChannelFactor = 0.01;
export const maxChannelFactor = 100;

/** Whether a value may stand in a channel's setting: a number with up to four digits behind its point. */
export const isChannelFactor = (value: unknown): value is number =>
  typeof value === 'number' &&
  value >= minChannelFactor &&
  value <= maxChannelFactor &&
  Math.abs(value * 10_000 - Math.round(value * 10_000)) < 1e-6;

/** @returns 1 where the channel has none. */
export const channelFactorIn = ({ channel_factor: factor }: Readonly<Record<string, unknown>>): number =>
  isChannelFactor(factor) ? factor : 1;

/** Ratios keep six digits; what costs something costs something at every channel. */
const least = 0.000001;
const scaled = (ratio: number, factor: number): number =>
  ratio <= 0 ? ratio : Math.max(least, Math.round(ratio * factor * 1e6) / 1e6);

/** The same prices at a channel with this factor, whichever they were for. The factor is part of the ratio of the group, by which everything is multiplied. */
export const atFactor = (prices: Prices, factor: number): Prices =>
  (prices.channel?.factor ?? 1) === factor ? prices : scaledBy(prices, factor);

function scaledBy(prices: Prices, factor: number): Prices {
  const groupRatio = prices.channel?.groupRatio ?? prices.groupRatio;
  const { channel: _, ...others } = prices;
  return {
    ...others,
    groupRatio: scaled(groupRatio, factor),
    tiers: prices.tiers.map(({ above, prices: own }) => ({ above, prices: atFactor(own, factor) })),
    ...(prices.ordinary === undefined ? {} : { ordinary: atFactor(prices.ordinary, factor) }),
    ...(prices.others === undefined
      ? {}
      : { others: new Map([...prices.others].map(([model, own]) => [model, atFactor(own, factor)])) }),
    ...(factor === 1 ? {} : { channel: { factor, groupRatio } }),
  };
}
