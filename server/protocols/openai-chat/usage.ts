/** OpenAI's usage object: totals include their details, so the buckets are made disjoint here. */
import type { Usage } from '../canonical.ts';
import { type Json, record } from '../shared/json.ts';
import { isCounted, mergeUsage, StatedUsage, statedCount } from '../shared/merge-usage.ts';
import { toolCallsIn } from '../shared/tool-usage.ts';
import { detailCount, emptyUsage, readModifiers, tokenCount } from '../shared/usage.ts';

/** Converters write both spellings, and fill one. */
function detailsOf(primary: unknown, other: unknown): Json | null {
  if (other === undefined) return primary === undefined ? null : record(primary);
  const one = record(primary);
  const twin = record(other);
  return one === null || twin === null ? (one ?? twin) : mergeUsage(twin, one, true);
}

const totals = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens'] as const;

/** Whether it counts tokens, not only what they consist of or cost. */
export const hasOpenAiTotals = (usage: unknown): boolean => isCounted(usage, totals);

/** Usage of a whole answer, wherever it stands: some upstreams report it inside of a choice, one in a member of its own. */
export function readAnswerUsage(body: unknown): Usage | null {
  const answer = record(body);
  if (answer === null) return null;
  const { usage } = answer;
  const groq = answer.x_groq === undefined ? undefined : record(answer.x_groq)?.usage;
  const choices = Array.isArray(answer.choices) ? answer.choices : [];
  if (groq === undefined && !choices.some(hasUsage)) return readOpenAiUsage(usage, answer.service_tier);
  const stated = new StatedUsage();
  for (const choice of choices) stated.add(record(choice)?.usage, false);
  stated.add(groq, false);
  stated.add(usage, true);
  return readOpenAiUsage(stated.members, answer.service_tier, stated);
}

const hasUsage = (choice: unknown): boolean => record(choice)?.usage !== undefined;

/**
 * A detail that contradicts its total is cut to it: the total of the whole answer always counts.
 * @param tier the answer's own service tier, which stands beside the usage.
 * @param stated the reports that were merged into it; absent = it is the only one.
 * @returns null when there is no usage or a total is absurd.
 */
export function readOpenAiUsage(value: unknown, tier?: unknown, stated?: StatedUsage): Usage | null {
  const usage = record(value);
  if (usage === null) return null;
  const promptDetails = detailsOf(usage.prompt_tokens_details, usage.input_tokens_details);
  const outputDetails = detailsOf(usage.completion_tokens_details, usage.output_tokens_details);
  const prompt = tokenCount(statedCount(usage.prompt_tokens, usage.input_tokens));
  const output = tokenCount(statedCount(usage.completion_tokens, usage.output_tokens));
  if (prompt === null || output === null || prompt + output === 0) return null;
  // Grok on Azure reports more cached tokens than the prompt has.
  const cached = Math.min(
    prompt,
    detailCount(
      statedCount(
        // Zed's own host has the second name.
        statedCount(promptDetails?.cached_tokens, promptDetails?.cache_read_tokens),
        statedCount(usage.prompt_cache_hit_tokens, usage.cached_tokens),
      ),
    ),
  );
  let written = 0;
  let audioIn = 0;
  let images = 0;
  let video = 0;
  if (promptDetails !== null) {
    written = Math.min(
      prompt - cached,
      detailCount(statedCount(promptDetails.cache_write_tokens, promptDetails.cache_creation_input_tokens)),
    );
    audioIn = detailCount(promptDetails.audio_tokens);
    images = detailCount(promptDetails.image_tokens);
    // OpenRouter and DashScope report video separately.
    video = detailCount(promptDetails.video_tokens);
  }
  // OpenAI splits what was written into what lives 30 minutes and what lives 12 hours.
  const halfDay =
    written === 0
      ? 0
      : Math.min(written, detailCount(record(promptDetails?.cache_write_tokens_details)?.ttl_12h_tokens));
  const fresh = prompt - cached - written;
  const media = audioIn + images + video;
  // Some upstreams count cached sound or pictures in both details; only the cache is trusted to be inside the total then.
  const isWithin = media <= fresh;
  const reasoning = outputDetails === null ? 0 : detailCount(outputDetails.reasoning_tokens);
  const audioOut = outputDetails === null ? 0 : detailCount(outputDetails.audio_tokens);
  // Some upstreams report reasoning outside of the completion count: their total says so.
  const outside = reasoning > 0 && usage.total_tokens === prompt + output + reasoning;
  const visible = output - (outside ? 0 : reasoning) - audioOut;
  return {
    ...emptyUsage,
    input: isWithin ? fresh - media : fresh,
    cacheRead: cached,
    cacheWrite5m: written - halfDay,
    cacheWrite12h: halfDay,
    audioInput: isWithin ? audioIn : 0,
    imageInput: isWithin ? images : 0,
    videoInput: isWithin ? video : 0,
    output: visible >= 0 ? visible : output,
    reasoning: outside || visible >= 0 ? reasoning : 0,
    audioOutput: visible >= 0 ? audioOut : 0,
    toolCalls: toolCallsIn(usage),
    ...(typeof tier === 'string' ? readModifiers({ service_tier: tier }) : undefined),
    ...stated?.mark(),
    raw: value,
  };
}
