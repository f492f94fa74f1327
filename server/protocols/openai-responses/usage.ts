/** Usage of the Responses API: its totals include their details, like those of chat; calls of hosted tools are counted from the items. */
import type { Usage } from '../canonical.ts';
import { readOpenAiUsage } from '../openai-chat/usage.ts';
import { lookUp, record, records } from '../shared/json.ts';

const priced: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
};

/** @param response a whole response object. */
export function readResponseUsage(response: unknown): Usage | null {
  const body = record(response);
  const usage = readOpenAiUsage(body?.usage);
  if (usage === null) return null;
  const preview = records(body?.tools).some(({ type }) => type === 'web_search_preview');
  const calls: Record<string, number> = {};
  for (const { type } of records(body?.output)) {
    const name = lookUp(priced, String(type));
    if (name === undefined) continue;
    const tool = name === 'web_search' && preview ? 'web_search_preview' : name;
    calls[tool] = (calls[tool] ?? 0) + 1;
  }
  return Object.keys(calls).length === 0 ? usage : { ...usage, toolCalls: calls };
}

export function encodeUsage(usage: Usage): Record<string, unknown> {
  const written = usage.cacheWrite5m + usage.cacheWrite1h;
  const input = usage.input + usage.cacheRead + written + usage.audioInput + usage.imageInput;
  const output = usage.output + usage.reasoning + usage.audioOutput;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead, ...(written > 0 ? { cache_write_tokens: written } : {}) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  };
}
