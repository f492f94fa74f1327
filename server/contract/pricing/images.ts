/** What a picture costs: price x size x quality x number. As new-api does. */
import type { Prices } from './price.ts';

const sizes: ReadonlyMap<string, number> = new Map([
  ['256x256', 0.4],
  ['512x512', 0.45],
  ['1024x1024', 1],
  ['1024x1792', 2],
  ['1792x1024', 2],
]);
/** Dollars of one picture at ratio 1, for models that have a ratio and no price. */
const dollarsOfRatio = 0.0025;

export interface ImageOrder {
  readonly size: string;
  readonly quality: string;
  readonly count: number;
}

export function imageFactor(model: string, order: ImageOrder): number {
  const size = sizes.get(order.size) ?? 1;
  const quality = model === 'dall-e-3' && order.quality === 'hd' ? (size === 2 ? 1.5 : 2) : 1;
  return Math.round(size * quality * order.count * 1e6) / 1e6;
}

/** Prices of one order of pictures: checked and charged alike, also where the model only has a ratio. */
export const imagePrices = (prices: Prices, model: string, order: ImageOrder): Prices => ({
  ...prices,
  modelRatio: 0,
  modelPrice: prices.modelPrice ?? Math.round(prices.modelRatio * dollarsOfRatio * 1e6) / 1e6,
  priceFactor: imageFactor(model, order),
  tiers: [],
});
