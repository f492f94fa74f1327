/** What a picture costs: price x size x quality x number, where the model's row has factors. */
import { bareName } from '../model-limits.ts';
import type { Prices } from './price.ts';

/** Factors of one model's pictures on its price; what a row does not name costs the price as it is. */
interface ImageRow {
  readonly model: RegExp;
  readonly sizes: Readonly<Record<string, number>>;
  /** By quality, then by size; `*` = of every other size. */
  readonly qualities?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/**
 * No other model has factors, as in new-api (dto/openai_image.go), and a factor below 1 holds for the one model that has
 * such sizes: prices of imagen, Kolors, wanx, seedream and the like are those of a picture whatever its size, and those of
 * gpt-image-* follow from its tokens.
 * Source: https://platform.openai.com/docs/pricing (DALL·E 2: three sizes; DALL·E 3: two, each in two qualities).
 */
const imageRows: readonly ImageRow[] = [
  { model: /^dall-e-2(?:-|$)/, sizes: { '256x256': 0.4, '512x512': 0.45 } },
  {
    model: /^dall-e-3(?:-|$)/,
    sizes: { '1024x1792': 2, '1792x1024': 2 },
    qualities: { hd: { '1024x1792': 1.5, '1792x1024': 1.5, '*': 2 } },
  },
];
/** Tokens of one picture of the models that are known to write fewer by quality. Source: OpenAI's image guide, gpt-image-1, 1024 x 1536. */
const tokensByQuality: ReadonlyMap<string, number> = new Map([
  ['low', 408],
  ['medium', 1584],
]);
const finestKnown = 6240;
const fewerByQuality = /^gpt-image-1(?:\.5|-mini)?(?:-\d|$)/;
/** gpt-image-2 takes some more: $0.211 at $30 a million. Larger pictures take more in proportion. */
const finestPicture = 7100;
const usualArea = 1024 * 1536;
/** More is no picture. */
const maxArea = 8192 * 8192;

const sizeWords = /^([1-9]\d{2,4})[x*]([1-9]\d{2,4})$/i;
/** Pixels of a size in words, as of a usual picture where it is none. */
export const areaOf = (size: string): number => {
  const [, width, height] = sizeWords.exec(size) ?? [];
  return width === undefined ? usualArea : Math.min(maxArea, Number(width) * Number(height));
};

/** Whether a model's maker sells its pictures by their tokens. Source: https://platform.openai.com/docs/pricing. */
export const isPaidByToken = (model: string): boolean => /^(?:chatgpt|gpt)-image-/.test(bareName(model));

/** @param models what upstreams call the one model: fewer tokens than of the finest picture hold where all of them are known to write those. */
export function tokensOfPicture({ size, quality }: ImageOrder, models: readonly string[]): number {
  const known = models.every((model) => fewerByQuality.test(model));
  const tokens = known ? (tokensByQuality.get(quality) ?? finestKnown) : finestPicture;
  return Math.ceil(tokens * Math.max(1, areaOf(size) / usualArea));
}

/** Sizes and qualities that cost something of their own with some model. Whatever else a request says costs alike. */
export const pricedWords: ReadonlySet<string> = new Set([
  ...imageRows.flatMap(({ sizes, qualities = {} }) => [
    ...Object.keys(sizes),
    ...Object.keys(qualities),
    ...Object.values(qualities).flatMap(Object.keys),
  ]),
  ...tokensByQuality.keys(),
]);
/** Dollars of one picture at ratio 1, for models that have a ratio and no price. */
const dollarsOfRatio = 0.0025;

export interface ImageOrder {
  readonly size: string;
  readonly quality: string;
  readonly count: number;
}

export function imageFactor(model: string, order: ImageOrder): number {
  const row = imageRows.find((one) => one.model.test(model));
  const size = factorIn(row?.sizes, order.size) ?? 1;
  const bySize =
    row?.qualities !== undefined && Object.hasOwn(row.qualities, order.quality)
      ? row.qualities[order.quality]
      : undefined;
  const quality = factorIn(bySize, order.size) ?? bySize?.['*'] ?? 1;
  return Math.round(size * quality * order.count * 1e6) / 1e6;
}

/** Words from outside: what every object inherits is no factor. */
const factorIn = (factors: Readonly<Record<string, number>> | undefined, word: string): number | undefined =>
  factors !== undefined && Object.hasOwn(factors, word) ? factors[word] : undefined;

/** Prices of one order of pictures: checked and charged alike, also where the model only has a ratio. */
export const imagePrices = (prices: Prices, model: string, order: ImageOrder): Prices => ({
  ...prices,
  modelRatio: 0,
  modelPrice: prices.modelPrice ?? Math.round(prices.modelRatio * dollarsOfRatio * 1e6) / 1e6,
  priceFactor: imageFactor(model, order),
  tiers: [],
});
