/** OpenAI's usage object: totals include their details, so the buckets are made disjoint here. */
import type { Usage } from '../canonical.ts';
import { record } from '../shared/json.ts';
import { tokenCounts } from '../shared/usage.ts';

/** @returns null when there is no usage or it contradicts itself (a detail larger than its total, negative or absurd counts). */
export function readOpenAiUsage(value: unknown): Usage | null {
  const usage = record(value);
  if (usage === null) return null;
  const promptDetails = record(usage.prompt_tokens_details) ?? record(usage.input_tokens_details) ?? {};
  const outputDetails = record(usage.completion_tokens_details) ?? record(usage.output_tokens_details) ?? {};
  const counts = tokenCounts([
    usage.prompt_tokens ?? usage.input_tokens,
    usage.completion_tokens ?? usage.output_tokens,
    promptDetails.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens,
    promptDetails.cache_write_tokens ?? promptDetails.cache_creation_input_tokens,
    promptDetails.audio_tokens,
    promptDetails.image_tokens,
    outputDetails.reasoning_tokens,
    outputDetails.audio_tokens,
  ]);
  if (counts === null) return null;
  const [prompt, output, cached, written, audioIn, images, reasoning, audioOut] = counts;
  const input = prompt - cached - written - audioIn - images;
  // Some upstreams count cached sound or pictures in both details; only the cache is trusted to be inside the total then.
  if (cached + written > prompt) return null;
  if (prompt === 0 && output === 0) return null;
  // Some upstreams report reasoning outside of the completion count: their total says so.
  const outside = reasoning > 0 && usage.total_tokens === prompt + output + reasoning;
  const visible = output - (outside ? 0 : reasoning) - audioOut;
  return {
    input: input >= 0 ? input : prompt - cached - written,
    cacheRead: cached,
    cacheWrite5m: written,
    cacheWrite1h: 0,
    audioInput: input >= 0 ? audioIn : 0,
    imageInput: input >= 0 ? images : 0,
    output: visible >= 0 ? visible : output,
    reasoning: outside || visible >= 0 ? reasoning : 0,
    audioOutput: visible >= 0 ? audioOut : 0,
    toolCalls: {},
    raw: value,
  };
}
