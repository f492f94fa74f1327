import type { BucketRatios } from './bucket.ts';

export interface Surcharge {
  /** `service_tier:priority`. */
  readonly name: string;
  /** Factor on everything but calls of tools; below 1 it is a discount. Where it is not one factor, that of the input. */
  readonly ratio: number;
  /** Set where it is not one factor: what holds above so many tokens of the prompt. The row has the ratios that follow. */
  readonly steps?: readonly ContextTier[];
}

/** Above so many prompt tokens the whole request costs more: factors on the model's ordinary prices. */
export interface ContextTier {
  readonly above: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export type Ratios = ReadonlyMap<string, number>;

/** Everything that decides a price, and nothing else: enough to recompute it from a log row. */
export interface Prices extends BucketRatios {
  readonly modelRatio: number;
  /** Dollars per call, null = by tokens. */
  readonly modelPrice: number | null;
  /** Factor on the price per call: number of pictures, size, quality. */
  readonly priceFactor: number;
  /** With the channel's factor, where it has one. */
  readonly groupRatio: number;
  /** Factor of the channel that serves, and the ratio of the group without it; absent = 1. */
  readonly channel?: { readonly factor: number; readonly groupRatio: number };
  /** Set when the user's group has a ratio of its own for the used group; then it is the group ratio. */
  readonly userGroupRatio: number | null;
  /** Prices of longer prompts, the longest first. */
  readonly tiers: readonly { readonly above: number; readonly prices: Prices }[];
  /** Dollars per call of a tool the provider runs. */
  readonly toolPrices: Ratios;
  readonly quotaPerUnit: number;
  /** Factors of the terms the request was served under. */
  readonly surcharges?: readonly Surcharge[];
  /** The same without such terms, where they changed ratios besides. */
  readonly ordinary?: Prices;
  /** The name that has the price, where it is not the model's own. */
  readonly listedAs?: string;
  /** Prices of other models that worked on the same answer. */
  readonly others?: ReadonlyMap<string, Prices>;
  /** What the answer reports and no table has a price for: `speed:warp`, `model:x`. */
  readonly unpriced?: readonly string[];
}
