/** Calls of tools that the provider ran, as usage objects count them: one name for each, whatever the dialect calls it. */
import { record } from './json.ts';
import { detailCount } from './usage.ts';

export type ToolCalls = Readonly<Record<string, number>>;

/** Names that differ from what the member says. */
const renamed: Readonly<Record<string, string>> = { document_search: 'attachment_search' };

/** `web_search_requests`, `x_search_calls` -> count by tool. @param counts what is added to. */
export function countsBySuffix(members: unknown, suffix: string, counts: Record<string, number> = {}): ToolCalls {
  for (const [member, value] of Object.entries(record(members) ?? {})) {
    const count = member.endsWith(suffix) ? detailCount(value) : 0;
    if (count === 0) continue;
    const name = member.slice(0, -suffix.length);
    counts[renamed[name] ?? name] = count;
  }
  return counts;
}

/** Members of a usage object that count tools: xAI's agents and live search, Perplexity's queries, OpenRouter's searches. */
export function toolCallsIn(usage: Readonly<Record<string, unknown>>): ToolCalls {
  const calls: Record<string, number> = {};
  const { server_tool_use: requests, server_side_tool_usage_details: details } = usage;
  if (requests !== undefined) countsBySuffix(requests, '_requests', calls);
  if (details !== undefined) countsBySuffix(details, '_calls', calls);
  const sources = detailCount(usage.num_sources_used);
  if (sources > 0) calls.live_search = sources;
  const queries = detailCount(usage.num_search_queries);
  if (queries > 0) calls.search_query = queries;
  const { search_context_size: size } = usage;
  // One request for each answer, dearer with the context that was searched.
  if (typeof size === 'string' && size !== '' && size.length <= 16) calls[`search_request-${size}`] = 1;
  return calls;
}
