/** Anthropic's usage: input excludes what was read from or written to the cache. */
import { cacheTokensOf, completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { Buckets, Usage, UsagePart } from '../canonical.ts';
import { type Json, record, records, text } from '../shared/json.ts';
import { isCounted, type StatedUsage } from '../shared/merge-usage.ts';
import { toolCallsIn } from '../shared/tool-usage.ts';
import { bucketsOf, detailCount, emptyUsage, ofParts, readModifiers, tokenCounts } from '../shared/usage.ts';

const totals = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;

/** Whether it counts tokens, not only what they consist of. */
export const hasAnthropicTotals = (usage: unknown): boolean => isCounted(usage, totals);

/**
 * A detail that contradicts its total is cut to it: the total of the whole answer always counts.
 * @param container where the answer's code ran, beside the usage.
 * @param stated the reports that were merged into it; absent = it is the only one.
 * @returns null when there is none or a total is absurd.
 */
export function readAnthropicUsage(value: unknown, container?: unknown, stated?: StatedUsage): Usage | null {
  const usage = record(value);
  if (usage === null) return null;
  const whole = readCounts(usage);
  if (whole === null) return null;
  const counts = withIterations(usage, whole);
  if (promptTokensOf(counts) + completionTokensOf(counts) === 0) return null;
  const calls = toolCallsIn(usage);
  // Code that only serves a search is not billed. Source: Anthropic's pricing page, code execution tool.
  const ran = text(record(container)?.id) !== null && !calls.web_search && !calls.web_fetch;
  return {
    ...counts,
    toolCalls: ran ? { ...calls, code_execution: 1 } : calls,
    ...readModifiers({ service_tier: usage.service_tier, speed: usage.speed, inference_geo: usage.inference_geo }),
    cacheBeside: true,
    ...stated?.mark(),
    raw: value,
  };
}

const noTokens = bucketsOf(emptyUsage);

function readCounts(usage: Json): Buckets | null {
  const totals = tokenCounts([usage.input_tokens, usage.output_tokens]);
  if (totals === null) return null;
  const [input, output] = totals;
  const written = record(usage.cache_creation);
  const fiveMinutes = written === null ? 0 : detailCount(written.ephemeral_5m_input_tokens);
  const oneHour = written === null ? 0 : detailCount(written.ephemeral_1h_input_tokens);
  // The split may come without its sum.
  const creation = detailCount(usage.cache_creation_input_tokens) || fiveMinutes + oneHour;
  const thinking = Math.min(output, detailCount(record(usage.output_tokens_details)?.thinking_tokens));
  return {
    ...noTokens,
    input,
    cacheRead: detailCount(usage.cache_read_input_tokens),
    cacheWrite5m: creation - Math.min(creation, oneHour),
    cacheWrite1h: Math.min(creation, oneHour),
    output: output - thinking,
    reasoning: thinking,
  };
}

/**
 * An answer that took several calls lists them: compaction, an adviser, a fallback. The totals beside the list leave some
 * of them out, so the list is what is billed, unless it sums up to less than the totals.
 */
function withIterations(usage: Json, whole: Buckets): Buckets & { readonly parts?: readonly UsagePart[] } {
  const listed = records(usage.iterations);
  if (listed.length === 0) return whole;
  const parts = listed.map((iteration): UsagePart => {
    const counts = readCounts(iteration) ?? noTokens;
    return { ...counts, kind: text(iteration.type) ?? 'message', model: text(iteration.model) };
  });
  const sum = ofParts(parts);
  const less = (count: (counts: Buckets) => number) => count(sum) < count(whole);
  if (less(promptTokensOf) || less(completionTokensOf)) return whole;
  // One call without a model of its own says what the totals say.
  return parts.length === 1 && parts[0]?.model === null ? whole : sum;
}

/** @param usage null = not known yet: the prompt is an estimate then, and the answer has begun. */
export function encodeUsage(usage: Usage | null, promptTokens = 0): Record<string, unknown> {
  const searches = usage?.toolCalls.web_search ?? usage?.toolCalls.google_search ?? 0;
  return {
    input_tokens: usage === null ? promptTokens : promptTokensOf(usage) - cacheTokensOf(usage),
    cache_creation_input_tokens: (usage?.cacheWrite5m ?? 0) + (usage?.cacheWrite1h ?? 0) + (usage?.cacheWrite12h ?? 0),
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    ...(usage !== null && usage.cacheWrite1h > 0
      ? {
          cache_creation: {
            ephemeral_5m_input_tokens: usage.cacheWrite5m,
            ephemeral_1h_input_tokens: usage.cacheWrite1h,
          },
        }
      : {}),
    output_tokens: usage === null ? 1 : completionTokensOf(usage),
    ...(usage !== null && usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
    ...(searches > 0 ? { server_tool_use: { web_fetch_requests: 0, web_search_requests: searches } } : {}),
  };
}
