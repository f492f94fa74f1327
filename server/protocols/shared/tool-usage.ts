/** Calls of tools that the provider ran, as usage objects count them: one name for each, whatever the dialect calls it. */
import { list, record, text } from './json.ts';
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
  const sources = usage.num_sources_used === undefined ? 0 : detailCount(usage.num_sources_used);
  if (sources > 0) calls.live_search = sources;
  // Model Studio's count of its own searches.
  const plugged = usage.plugins === undefined ? 0 : detailCount(record(record(usage.plugins)?.search)?.count);
  if (plugged > 0) calls.enable_search = plugged;
  const queries = usage.num_search_queries === undefined ? 0 : detailCount(usage.num_search_queries);
  if (queries > 0) calls.search_query = queries;
  const { search_context_size: size } = usage;
  // One request for each answer, dearer with the context that was searched.
  if (typeof size === 'string' && size !== '' && size.length <= 16) calls[`search_request-${size}`] = 1;
  return calls;
}

/**
 * Searches that a ranking's answer reports. @returns null where it reports none.
 * Source: https://docs.cohere.com/reference/rerank (`meta.billed_units.search_units`); some hosts have it in the usage.
 */
export function searchUnitsIn(answer: Readonly<Record<string, unknown>> | null): number | null {
  const units = Math.max(
    detailCount(record(record(answer?.meta)?.billed_units)?.search_units),
    detailCount(record(answer?.usage)?.search_units),
  );
  return units === 0 ? null : units;
}

/** Items that cost nothing of their own: the client ran them, or their tokens are all there is. */
const unpaid: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'computer_call',
  'apply_patch_call',
  'tool_search_call',
  'mcp_call',
]);
const suffix = '_call';

/**
 * The tool that a block of an answer says its provider ran.
 * @param raw as the upstream wrote it. @returns null for everything else, and for what is paid by its tokens.
 */
export function hostedCall(raw: unknown): string | null {
  const block = record(raw);
  const type = text(block?.type) ?? '';
  if (block === null) return null;
  if (type === 'server_tool_use') {
    const name = text(block.name);
    // Code is run by tools of several names, in one container. Source: Anthropic's code execution tool.
    if (name?.endsWith('code_execution') === true) return 'code_execution';
    return name === 'advisor' || name?.startsWith('tool_search') === true ? null : name;
  }
  if (!type.endsWith(suffix) || unpaid.has(type)) return null;
  const name = type.slice(0, -suffix.length);
  if (name === 'image_generation') {
    if (block.status === 'failed') return null;
    return [name, text(block.quality), text(block.size)].filter((word) => word !== null).join('-');
  }
  // A shell without a container is the client's own.
  return name === 'shell' && containerOf(block) === null ? null : name;
}

/** Members in which a model writes what a tool of its provider's is to do. */
const written = ['input', 'code', 'arguments', 'action', 'queries', 'executableCode', 'operation'] as const;

/** What was found stands beside what was looked for. */
const unfound = (name: string, value: unknown): unknown => (name === 'sources' ? undefined : value);

/** What the model wrote for a tool that its provider ran: words like any others. @param raw as the upstream wrote it. */
export function writtenFor(raw: unknown): string {
  const block = record(raw);
  let words = '';
  for (const name of written) {
    const value = block?.[name];
    if (value !== undefined && value !== null)
      words += typeof value === 'string' ? value : JSON.stringify(value, unfound);
  }
  return words;
}

export const containerOf = (block: Readonly<Record<string, unknown>>): string | null =>
  text(block.container_id) ?? text(record(block.environment)?.container_id);

/** What a whole answer without a usage says that its provider ran. */
export function hostedCallsIn(body: unknown): ToolCalls {
  const answer = record(body);
  const calls: Record<string, number> = {};
  for (const block of [...list(answer?.output), ...list(answer?.content)]) {
    const name = hostedCall(block);
    if (name !== null) addCall(calls, name);
  }
  return calls;
}

const byContainer: ReadonlySet<string> = new Set(['code_interpreter', 'code_execution', 'shell']);

/** A container is paid once, however often it is used. */
export function addCall(calls: Record<string, number>, name: string): void {
  calls[name] = byContainer.has(name) ? 1 : (calls[name] ?? 0) + 1;
}
