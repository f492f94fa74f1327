/** Cohere's usage: what is billed, what was read in all, and how much of it was in the cache. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { Usage } from '../canonical.ts';
import { record } from '../shared/json.ts';
import type { StatedUsage } from '../shared/merge-usage.ts';
import { detailCount, emptyUsage, tokenCounts } from '../shared/usage.ts';

/**
 * What is paid for: the frame around the prompt, which `tokens` counts too, is not.
 * @param stated the reports that were merged into it; absent = it is the only one.
 */
export function readUsage(value: unknown, stated?: StatedUsage): Usage | null {
  const usage = record(value);
  const billed = record(usage?.billed_units) ?? record(usage?.tokens);
  const counts = tokenCounts([billed?.input_tokens, billed?.output_tokens]);
  if (counts === null || counts[0] + counts[1] === 0) return null;
  const [input, output] = counts;
  const cacheRead = Math.min(input, detailCount(usage?.cached_tokens));
  return { ...emptyUsage, input: input - cacheRead, cacheRead, output, ...stated?.mark(), raw: value };
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const counts = { input_tokens: promptTokensOf(usage), output_tokens: completionTokensOf(usage) };
  return {
    billed_units: counts,
    tokens: counts,
    ...(usage.cacheRead > 0 ? { cached_tokens: usage.cacheRead } : {}),
  };
}
