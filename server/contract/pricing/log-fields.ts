/** Buckets in the fields of a log row: how they are written there, and how they are read back. */
import {
  type BucketName,
  type BucketRatios,
  type Buckets,
  bucketNames,
  bucketRow,
  eachOf,
  pricedAs,
  ratioRows,
} from './bucket.ts';

export type LogFields = Readonly<Record<string, unknown>>;

export const fieldOf = (fields: LogFields, key: string, absent = 0): number => {
  const value = fields[key];
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

/** How a log row names a bucket: what its number includes, and the price beside it. */
interface Naming {
  readonly name: BucketName;
  readonly field: string;
  readonly includes: readonly BucketName[];
  /** The row names it when one of these has tokens; null = always. */
  readonly when: readonly BucketName[] | null;
  /** Names all that belong to one kind of content. */
  readonly word: string | null;
  readonly price: { readonly field: string; readonly name: keyof BucketRatios } | null;
}

const namings: readonly Naming[] = bucketNames.map((name) => {
  const { field, logged, price, includes } = bucketRow(name);
  const included = (includes ?? []) as readonly BucketName[];
  const word = typeof logged === 'object' ? logged.with : null;
  const isOfWord = (one: BucketName): boolean => {
    const own = bucketRow(one).logged;
    return typeof own === 'object' && own.with === word;
  };
  const own = [name, ...included];
  return {
    name,
    field,
    includes: included,
    when: logged === 'always' ? null : word === null ? own : bucketNames.filter(isOfWord),
    word,
    price: price !== null && 'field' in price ? { field: price.field, name: price.name as keyof BucketRatios } : null,
  };
});

/** @param prices null = a part of a bill, whose head names its prices: the counts alone. */
export const bucketFields = (counts: Buckets, prices: BucketRatios | null): Record<string, unknown> =>
  addBucketFields({}, counts, prices);

/** @returns `fields` with them: each request has such a row, and copying one costs as much as making it. */
export function addBucketFields(
  fields: Record<string, unknown>,
  counts: Buckets,
  prices: BucketRatios | null,
): Record<string, unknown> {
  for (const { name, field, includes, when, word, price } of namings) {
    let isNamed = when === null;
    if (when !== null) for (const one of when) isNamed ||= counts[one] > 0;
    if (!isNamed) continue;
    let count = counts[name];
    for (const one of includes) count += counts[one];
    fields[field] = count;
    if (prices === null) continue;
    if (word !== null) fields[word] = true;
    if (price !== null) fields[price.field] = prices[price.name];
  }
  // The wire contract lists text tokens separately where there is audio.
  if (fields.audio === true) {
    fields.text_input = counts.input + counts.cacheRead;
    fields.text_output = fields.output;
  }
  return fields;
}

/** All ratios under their names in a log row. */
export const bucketRatioFields = (prices: BucketRatios): Record<string, number> =>
  Object.fromEntries(ratioRows.map(({ name, field }) => [field, prices[name]]));

/** Ratios of a log row; those that are missing were not needed. */
export function bucketRatiosIn(fields: LogFields): BucketRatios {
  return eachOf(
    ratioRows.map(({ name }) => name),
    (name) => {
      const row = ratioRows.find((one) => one.name === name);
      return fieldOf(
        fields,
        row?.field ?? name,
        row?.fallbackField === undefined ? 1 : fieldOf(fields, row.fallbackField, 1),
      );
    },
  );
}

export function bucketsIn(fields: LogFields): Buckets {
  const counts = eachOf(bucketNames, (name) => {
    const { field, legacyField } = bucketRow(name);
    return fieldOf(fields, field, legacyField === undefined ? 0 : fieldOf(fields, legacyField));
  });
  for (const name of bucketNames) {
    const { includes } = bucketRow(name);
    for (const one of includes ?? []) counts[name] -= counts[one as BucketName];
  }
  return counts;
}
