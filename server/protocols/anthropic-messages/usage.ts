/** Anthropic's usage: input excludes what was read from or written to the cache. */
import type { Usage } from '../canonical.ts';
import { type Json, record } from '../shared/json.ts';
import { tokenCounts } from '../shared/usage.ts';

/** Later reports correct earlier ones member by member; null and absent correct nothing. */
export function mergeUsage(earlier: Json | null, later: Json | null): Json | null {
  if (earlier === null || later === null) return later ?? earlier;
  const merged: Record<string, unknown> = { ...earlier };
  for (const [key, value] of Object.entries(later)) if (value !== null && value !== undefined) merged[key] = value;
  return merged;
}

/** @returns null when there is none or it contradicts itself. */
export function readAnthropicUsage(value: unknown): Usage | null {
  const usage = record(value);
  if (usage === null) return null;
  const written = record(usage.cache_creation);
  const counts = tokenCounts([
    usage.input_tokens,
    usage.output_tokens,
    usage.cache_read_input_tokens,
    usage.cache_creation_input_tokens,
    written?.ephemeral_5m_input_tokens,
    written?.ephemeral_1h_input_tokens,
    record(usage.output_tokens_details)?.thinking_tokens,
    record(usage.server_tool_use)?.web_search_requests,
  ]);
  if (counts === null) return null;
  const [input, output, cacheRead, total, fiveMinutes, oneHour, thinking, searches] = counts;
  // The split may come without its sum.
  const creation = total === 0 ? fiveMinutes + oneHour : total;
  if (input + output + cacheRead + creation === 0 || oneHour > creation || thinking > output) return null;
  return {
    input,
    cacheRead,
    cacheWrite5m: creation - oneHour,
    cacheWrite1h: oneHour,
    audioInput: 0,
    imageInput: 0,
    output: output - thinking,
    reasoning: thinking,
    audioOutput: 0,
    toolCalls: searches > 0 ? { web_search: searches } : {},
    raw: value,
  };
}

/** @param usage null = not known yet: the prompt is an estimate then, and the answer has begun. */
export function encodeUsage(usage: Usage | null, promptTokens = 0): Record<string, unknown> {
  const searches = usage?.toolCalls.web_search ?? 0;
  return {
    input_tokens: (usage?.input ?? promptTokens) + (usage?.audioInput ?? 0) + (usage?.imageInput ?? 0),
    cache_creation_input_tokens: (usage?.cacheWrite5m ?? 0) + (usage?.cacheWrite1h ?? 0),
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    ...(usage !== null && usage.cacheWrite1h > 0
      ? {
          cache_creation: {
            ephemeral_5m_input_tokens: usage.cacheWrite5m,
            ephemeral_1h_input_tokens: usage.cacheWrite1h,
          },
        }
      : {}),
    output_tokens: usage === null ? 1 : usage.output + usage.reasoning + usage.audioOutput,
    ...(usage !== null && usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
    ...(searches > 0 ? { server_tool_use: { web_search_requests: searches } } : {}),
  };
}
