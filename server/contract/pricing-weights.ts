/** The short way to a charge: weights of a model's buckets as integers that floating point multiplies and adds exactly. */

import type { Prices } from './prices.ts';
import { scale, timesScaled, toScaled } from './pricing-decimal.ts';
import { surchargeOf } from './pricing-terms.ts';

/** What the buckets of a usage weigh, as integers over a power of ten small enough for exact floating point. */
export interface Weights {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly audioInput: number;
  readonly imageInput: number;
  readonly output: number;
  readonly audioOutput: number;
  /** One unit of quota, in the weights' unit. */
  readonly unit: number;
}

const compiled = new WeakMap<Prices, Weights | null>();
/** Sums below this are exact in a double even when doubled. */
export const exactLimit = 2 ** 51;

/** @returns null when the numbers are too fine for the short way. */
export function weightsOf(prices: Prices): Weights | null {
  const known = compiled.get(prices);
  if (known !== undefined) return known;
  const made = compileWeights(prices);
  compiled.set(prices, made);
  return made;
}

function compileWeights(prices: Prices): Weights | null {
  const price = toScaled(prices.modelRatio) * toScaled(prices.groupRatio) * toScaled(surchargeOf(prices));
  const bigs = bucketWeights(prices).map((weight) => weight * price);
  let unit = scale ** 4n;
  while (unit > 1n && bigs.every((weight) => weight % 10n === 0n)) {
    unit /= 10n;
    bigs.forEach((weight, index) => {
      bigs[index] = weight / 10n;
    });
  }
  if ([unit, ...bigs].some((value) => value >= BigInt(exactLimit))) return null;
  const [
    input = 0,
    cacheRead = 0,
    cacheWrite5m = 0,
    cacheWrite1h = 0,
    audioInput = 0,
    imageInput = 0,
    output = 0,
    audioOutput = 0,
  ] = bigs.map(Number);
  return {
    input,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    imageInput,
    output,
    audioOutput,
    unit: Number(unit),
  };
}

/** Weights of the buckets, scaled: text, cache read, cache written (5 minutes, an hour), sound, pictures, output, sound written. */
export const bucketWeights = (prices: Prices): bigint[] => [
  scale,
  toScaled(prices.cacheRatio),
  toScaled(prices.cacheWriteRatio),
  toScaled(prices.cacheWrite1hRatio),
  toScaled(prices.audioRatio),
  toScaled(prices.imageRatio),
  toScaled(prices.completionRatio),
  timesScaled(prices.audioRatio, prices.audioCompletionRatio),
];
