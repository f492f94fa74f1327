/** Prices of a model whose tokens all cost the same: one unit of quota each. */
import type { Prices } from '../../server/contract/pricing/price.ts';

/** @param over what costs something else. */
export const plainPrices = (over: Partial<Prices> = {}): Prices => ({
  modelRatio: 1,
  modelPrice: null,
  priceFactor: 1,
  completionRatio: 1,
  cacheRatio: 1,
  cacheWriteRatio: 1,
  cacheWrite1hRatio: 1,
  cacheWrite12hRatio: 1,
  imageRatio: 1,
  videoRatio: 1,
  audioRatio: 1,
  audioCompletionRatio: 1,
  groupRatio: 1,
  userGroupRatio: null,
  tiers: [],
  toolPrices: new Map(),
  quotaPerUnit: 500_000,
  ...over,
});
