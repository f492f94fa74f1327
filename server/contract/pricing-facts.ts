/** Buckets in the facts of a log row: how they are told there, and how they are read again. */
import {
  type BucketName,
  type BucketRatios,
  type Buckets,
  bucketNames,
  bucketRow,
  eachOf,
  pricedAs,
  ratioRows,
} from './buckets.ts';

export type Facts = Readonly<Record<string, unknown>>;

export const factOf = (facts: Facts, key: string, absent = 0): number => {
  const value = facts[key];
  return typeof value === 'number' ? value : absent;
};

/** Buckets as a bill lists them: what has the price of another is counted there. */
export function billedBuckets(counts: Buckets): { readonly name: BucketName; readonly tokens: number }[] {
  const tokens = { ...counts };
  for (const name of bucketNames) {
    const as = pricedAs(name);
    if (as === name) continue;
    tokens[as] += tokens[name];
    tokens[name] = 0;
  }
  return bucketNames.map((name) => ({ name, tokens: tokens[name] }));
}

/** The number a log row has of a bucket. */
const toldOf = (counts: Buckets, name: BucketName): number => {
  const { includes } = bucketRow(name);
  return counts[name] + (includes === undefined ? 0 : counts[includes as BucketName]);
};

/** By a word of the log row, the buckets that are told when one of them has tokens. */
const together = new Map<string, BucketName[]>();
for (const name of bucketNames) {
  const { told } = bucketRow(name);
  if (typeof told === 'object') together.set(told.with, [...(together.get(told.with) ?? []), name]);
}

const isTold = (counts: Buckets, name: BucketName): boolean => {
  const { told } = bucketRow(name);
  if (told === 'always') return true;
  if (told === undefined) return toldOf(counts, name) > 0;
  return together.get(told.with)?.some((one) => counts[one] > 0) ?? false;
};

/** @param prices null = a part of a bill, whose head tells its prices: the counts alone. */
export function bucketFacts(counts: Buckets, prices: BucketRatios | null): Record<string, unknown> {
  const facts: Record<string, unknown> = {};
  for (const name of bucketNames) {
    if (!isTold(counts, name)) continue;
    const { told, fact, price } = bucketRow(name);
    facts[fact] = toldOf(counts, name);
    if (prices === null) continue;
    if (typeof told === 'object') facts[told.with] = true;
    if (price !== null && 'fact' in price) facts[price.fact] = prices[price.name as keyof BucketRatios];
  }
  // The wire contract tells words apart where there is sound.
  if (facts.audio === true) {
    facts.text_input = counts.input + counts.cacheRead;
    facts.text_output = facts.output;
  }
  return facts;
}

/** All ratios under their names in a log row. */
export const bucketRatioFacts = (prices: BucketRatios): Record<string, number> =>
  Object.fromEntries(ratioRows.map(({ name, fact }) => [fact, prices[name]]));

/** Ratios of a log row; what it does not tell was not needed. */
export function bucketRatiosIn(facts: Facts): BucketRatios {
  return eachOf(
    ratioRows.map(({ name }) => name),
    (name) => {
      const row = ratioRows.find((one) => one.name === name);
      return factOf(facts, row?.fact ?? name, row?.unsaid === undefined ? 1 : factOf(facts, row.unsaid, 1));
    },
  );
}

export function bucketsIn(facts: Facts): Buckets {
  const counts = eachOf(bucketNames, (name) => {
    const { fact, formerFact } = bucketRow(name);
    return factOf(facts, fact, formerFact === undefined ? 0 : factOf(facts, formerFact));
  });
  for (const name of bucketNames) {
    const { includes } = bucketRow(name);
    if (includes !== undefined) counts[name] -= counts[includes as BucketName];
  }
  return counts;
}
