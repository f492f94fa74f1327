/** Reads token counts that an upstream reports; what is absurd is refused, so that it is counted locally instead of billed. */
import { bucketNames, eachOf } from '../../contract/pricing/bucket.ts';
import type { Buckets, Usage, UsagePart } from '../canonical.ts';

/** Twice the longest context any model has; larger numbers are errors or attacks. */
export const maxTokens = 20_000_000;

/** As some proxies write a count: a number in quotes. */
export const digits = /^\d{1,9}$/;

/** @returns 0 for absent, null for anything that is not a sane count. */
export function tokenCount(input: unknown): number | null {
  if (input === undefined || input === null) return 0;
  const value = typeof input === 'string' && digits.test(input) ? Number(input) : input;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > maxTokens) return null;
  return value;
}

/** All counts of a list, or null when one of them is not sane. */
export function tokenCounts<const T extends readonly unknown[]>(values: T): { [K in keyof T]: number } | null {
  const counts = values.map(tokenCount);
  return counts.includes(null) ? null : (counts as { [K in keyof T]: number });
}

/** Usage that consists of two counts. @returns null when both are nothing or one is absurd. */
export function usageOfTwo(stated: Readonly<Record<string, unknown>>, prompt: string, answer: string): Usage | null {
  const counts = tokenCounts([stated[prompt], stated[answer]]);
  if (counts === null || counts[0] + counts[1] === 0) return null;
  return { ...emptyUsage, input: counts[0], output: counts[1], raw: stated };
}

/** A count that only details a total: an impossible value counts as absent, so that the total still holds. */
export const detailCount = (value: unknown): number => tokenCount(value) ?? 0;

const prefix = 'service_tier_';

/** A term as price tables name it. @returns null for what is no word. */
export function termValue(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 64) return null;
  const word = value.toLowerCase();
  return word.startsWith(prefix) ? word.slice(prefix.length) : word;
}

/** The terms an answer reports, for `Usage.terms`; nothing where it reports none. */
export function readModifiers(
  members: Readonly<Record<string, unknown>>,
): { readonly modifiers: Readonly<Record<string, string>> } | undefined {
  let modifiers: Record<string, string> | undefined;
  for (const name in members) {
    const value = termValue(members[name]);
    if (value === null) continue;
    modifiers ??= {};
    modifiers[name] = value;
  }
  return modifiers === undefined ? undefined : { modifiers };
}

/** The bare counts of a usage. */
export const bucketsOf = (usage: Buckets): Buckets => eachOf(bucketNames, (name) => usage[name]);

export const plus = (one: Buckets, other: Buckets): Buckets => eachOf(bucketNames, (name) => one[name] + other[name]);

/** Calls of models that one answer took, with their sum. */
export const ofParts = (parts: readonly UsagePart[]): Buckets & { readonly parts: readonly UsagePart[] } => ({
  ...parts.map(bucketsOf).reduce(plus, bucketsOf(emptyUsage)),
  parts,
});

export const emptyUsage: Usage = { ...eachOf(bucketNames, () => 0), toolCalls: {}, raw: null };
