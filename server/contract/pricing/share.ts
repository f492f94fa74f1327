/** A bill falls into shares: the calls of models that one answer took, each by its own prices. */
import type { Usage } from '../../protocols/canonical.ts';
import { type Buckets, promptTokensOf } from './bucket.ts';
import { scale, toScaled } from './decimal.ts';
import { surchargeOf } from './modifiers.ts';
import type { Prices } from './price.ts';
import { bucketWeights } from './weights.ts';

/** Largest charge, and largest amount of one posting, in quota: dearer requests cost this. */
export const maxQuota = 1_000_000_000_000_000;

/** What a request costs: whole units of quota, and the rest of one. */
export interface Charge {
  readonly whole: number;
  /** Parts of `oneUnit`; what is finer than those is cut off. */
  readonly rest: number;
}

/** One unit of quota in the parts that its fractions are kept in: usual prices have no finer ones, and a double adds them exactly. */
export const oneUnit = 1_000_000_000_000;

/** A charge is made of whole units: the fractions of the requests before it count with its own. @param carried of `oneUnit`. */
export const chargedOf = (whole: number, rest: number, carried: number): number =>
  Math.min(maxQuota, rest + carried < oneUnit ? whole : whole + 1);

/** Rounded half up, where no fraction is carried: estimates, and rows that were charged so. */
export const roundedOf = ({ whole, rest }: Charge): number =>
  Math.min(maxQuota, 2 * rest < oneUnit ? whole : whole + 1);

/** The most that can be charged for it, whatever is carried. */
export const roundedUpOf = ({ whole, rest }: Charge): number => Math.min(maxQuota, rest === 0 ? whole : whole + 1);

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

const sumUnit = scale ** 5n;

/**
 * Quota from numbers of any size. A price per call counts once for the model that was asked for.
 * @param head whose groups, terms and tools hold for every share.
 */
export function exactCharge(shares: readonly Share[], toolCalls: Usage['toolCalls'], head: Prices): Charge {
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
  if (sum === 0n && tokens > 0 && head.groupRatio > 0) return { whole: 1, rest: 0 };
  const whole = sum / sumUnit;
  if (whole >= BigInt(maxQuota)) return { whole: maxQuota, rest: 0 };
  return { whole: Number(whole), rest: Number(((sum % sumUnit) * BigInt(oneUnit)) / sumUnit) };
}
