/** A bill falls into shares: the calls of models that one answer took, each by its own prices. */
import type { Usage } from '../../protocols/canonical.ts';
import { type Buckets, promptTokensOf } from './bucket.ts';
import { roundDivide, scale, toScaled } from './decimal.ts';
import { surchargeOf } from './modifiers.ts';
import type { Prices } from './price.ts';
import { bucketWeights } from './weights.ts';

/** Largest charge, and largest amount of one posting, in quota: dearer requests cost this. */
export const maxQuota = 1_000_000_000_000_000;

export interface Share {
  readonly counts: Buckets;
  readonly prices: Prices;
  /** `2. compaction`; null where the answer took one call. */
  readonly label: string | null;
}

/**
 * Dollars for a call of a tool. Where no price names it, the dearest of its variants holds (`image_generation-low-1024x1024`
 * is one of `image_generation`), else the price of `*`, else that of the dearest tool: an unknown name saves nothing.
 */
export function toolPrice({ toolPrices }: Prices, tool: string): number {
  const own = toolPrices.get(tool);
  if (own !== undefined) return own;
  const [base] = tool.split('-', 1);
  let variants: number | null = null;
  let dearest = 0;
  for (const [name, price] of toolPrices) {
    const [of] = name.split('-', 1);
    if (of === base) variants = Math.max(variants ?? 0, price);
    if (of === name) dearest = Math.max(dearest, price);
  }
  return variants ?? toolPrices.get('*') ?? dearest;
}

/** The prices that hold for a prompt of this size. */
export function pricesFor(prices: Prices, promptTokens: number): Prices {
  for (const tier of prices.tiers) if (promptTokens > tier.above) return tier.prices;
  return prices;
}

export function sharesOf(usage: Usage, base: Prices): readonly Share[] {
  if (usage.parts === undefined)
    return [{ counts: usage, prices: pricesFor(base, promptTokensOf(usage)), label: null }];
  return usage.parts.map((part, index) => {
    const own = part.model === null ? undefined : base.others?.get(part.model);
    const model = own === undefined ? '' : ` ${part.model}`;
    return {
      counts: part,
      prices: pricesFor(own ?? base, promptTokensOf(part)),
      label: `${index + 1}. ${part.kind}${model}`,
    };
  });
}

/**
 * Quota in whole numbers of any size, rounded once. A price per call counts once for the model that was asked for.
 * @param head whose groups, terms and tools hold for every share.
 */
export function exactQuota(shares: readonly Share[], toolCalls: Usage['toolCalls'], head: Prices): number {
  const group = toScaled(head.groupRatio);
  const perUnit = toScaled(head.quotaPerUnit) * group;
  // Everything over 10^24.
  let sum = 0n;
  let tokens = 0;
  let called = false;
  for (const { counts, prices } of shares) {
    if (prices.modelPrice !== null) {
      if (prices === head && called) continue;
      called ||= prices === head;
      sum += toScaled(prices.modelPrice) * toScaled(prices.priceFactor) * perUnit;
      continue;
    }
    const price = toScaled(prices.modelRatio) * group * scale;
    for (const { name, weight } of bucketWeights(prices)) {
      const count = counts[name];
      if (prices.modelRatio > 0) tokens += count;
      sum += BigInt(count) * weight * price;
    }
  }
  sum = sum * toScaled(surchargeOf(head));
  for (const [tool, calls] of Object.entries(toolCalls)) {
    sum += BigInt(calls) * toScaled(toolPrice(head, tool)) * perUnit * scale * scale;
  }
  if (sum === 0n && tokens > 0 && head.groupRatio > 0) return 1;
  return Math.min(maxQuota, Number(roundDivide(sum, scale ** 5n)));
}
