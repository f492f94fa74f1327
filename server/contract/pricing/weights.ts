/** The short way to a charge: weights of a model's buckets as integers that floating point multiplies and adds exactly. */

import { type BucketName, bucketNames, scaledWeight } from './bucket.ts';
import { scale, toScaled } from './decimal.ts';
import { surchargeOf } from './modifiers.ts';
import type { Prices } from './price.ts';

/** What the buckets of a usage weigh, as integers over a power of ten small enough for exact floating point. */
export interface Weights {
  readonly buckets: readonly { readonly name: BucketName; readonly weight: number }[];
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
  const bigs = bucketWeights(prices).map(({ weight }) => weight * price);
  let unit = scale ** 4n;
  while (unit > 1n && bigs.every((weight) => weight % 10n === 0n)) {
    unit /= 10n;
    bigs.forEach((weight, index) => {
      bigs[index] = weight / 10n;
    });
  }
  if ([unit, ...bigs].some((value) => value >= BigInt(exactLimit))) return null;
  return {
    buckets: bucketNames.map((name, index) => ({ name, weight: Number(bigs[index]) })),
    unit: Number(unit),
  };
}

/** Weights of the buckets, scaled, in the order of their rows. */
export const bucketWeights = (prices: Prices): { readonly name: BucketName; readonly weight: bigint }[] =>
  bucketNames.map((name) => ({ name, weight: scaledWeight(prices, name) }));
