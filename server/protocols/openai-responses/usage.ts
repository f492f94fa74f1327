/** Usage of the Responses API: its totals include their details, like those of chat; what hosted tools did is read from items and their own usage. */
import { completionTokensOf, promptTokensOf } from '../../contract/pricing/bucket.ts';
import type { Usage, UsagePart } from '../canonical.ts';
import { readOpenAiUsage } from '../openai-chat/usage.ts';
import { type Json, record, records, text } from '../shared/json.ts';
import type { StatedUsage } from '../shared/merge-usage.ts';
import { containerOf, hostedCall } from '../shared/tool-usage.ts';
import { bucketsOf, ofParts, tokenCount } from '../shared/usage.ts';

/** What a response object states of its usage: its own, and that of the tools. */
export const statedIn = ({ usage, tool_usage }: Json): Json => ({ usage, tool_usage });

/**
 * @param response a whole response object.
 * @param stated what its events stated so far; absent = it is alone.
 */
export function readResponseUsage(response: unknown, stated?: StatedUsage): Usage | null {
  const whole = record(response);
  if (whole === null) return null;
  const body = stated === undefined ? whole : { ...whole, ...stated.members };
  const usage = readOpenAiUsage(body.usage, body.service_tier, stated);
  if (usage === null) return null;
  const painted = paintedPart(body);
  const counted = record(record(body.usage)?.server_side_tool_usage_details) !== null;
  const calls = counted ? usage.toolCalls : { ...usage.toolCalls, ...callsIn(body, painted !== null) };
  const found = { ...usage, toolCalls: calls };
  if (painted === null) return found;
  return { ...found, ...ofParts([{ ...bucketsOf(found), kind: 'message', model: null }, painted]) };
}

function callsIn(body: Json, painted: boolean): Record<string, number> {
  const preview = records(body.tools).some(({ type }) => type === 'web_search_preview');
  const calls: Record<string, number> = {};
  /** A container is paid once, however often it is used. */
  const containers = new Set<string>();
  for (const item of records(body.output)) {
    let name = hostedCall(item);
    if (name === null || (painted && item.type === 'image_generation_call')) continue;
    if (name === 'web_search' && preview) name = 'web_search_preview';
    if (name === 'code_interpreter' || name === 'shell') {
      const container = containerOf(item) ?? name;
      if (containers.has(container)) continue;
      containers.add(container);
    }
    calls[name] = (calls[name] ?? 0) + 1;
  }
  const searches = tokenCount(record(record(body.tool_usage)?.web_search)?.num_requests) ?? 0;
  if (searches > 0) calls[preview ? 'web_search_preview' : 'web_search'] = searches;
  return calls;
}

/** What the model that draws read and wrote, where the answer reports it separately. */
function paintedPart(body: Json): UsagePart | null {
  const drawn = readOpenAiUsage(record(body.tool_usage)?.image_gen);
  if (drawn === null) return null;
  const tool = records(body.tools).find(({ type }) => type === 'image_generation');
  return { ...bucketsOf(drawn), kind: 'image_generation', model: text(tool?.model) ?? 'image_generation' };
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const written = usage.cacheWrite5m + usage.cacheWrite1h + usage.cacheWrite12h;
  const input = promptTokensOf(usage);
  const output = completionTokensOf(usage);
  return {
    input_tokens: input,
    // OpenAI's types demand both.
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  };
}
