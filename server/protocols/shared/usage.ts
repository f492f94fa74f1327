/** Reads token counts that an upstream reports; what is absurd is refused, so that it is counted locally instead of billed. */
import type { Usage } from '../canonical.ts';

/** Twice the longest context any model has; larger numbers are errors or attacks. */
const mostTokens = 20_000_000;

/** @returns 0 for absent, null for anything that is not a sane count. */
export function tokenCount(value: unknown): number | null {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > mostTokens) return null;
  return value;
}

/** All counts of a list, or null when one of them is not sane. */
export function tokenCounts<const T extends readonly unknown[]>(values: T): { [K in keyof T]: number } | null {
  const counts = values.map(tokenCount);
  return counts.includes(null) ? null : (counts as { [K in keyof T]: number });
}

export const emptyUsage: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  imageInput: 0,
  output: 0,
  reasoning: 0,
  audioOutput: 0,
  toolCalls: {},
  raw: null,
};
