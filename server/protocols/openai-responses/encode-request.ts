/** The common form as a Responses request. Nothing is kept at the upstream: `store` is off and sealed thoughts are asked for. */
import type { ChatRequest, Message, Part, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { reportDropped, userFor } from '../shared/dropped-fields.ts';
import { effortWord } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields, serviceTiers } from '../shared/extra-fields.ts';
import { present, record } from '../shared/json.ts';
import { mediaUrl } from '../shared/media.ts';
import { oneAnswerOnly, withinLimits } from '../shared/model-limits.ts';
import { approximate, isWebSearch, reportSearchLimits } from '../shared/search.ts';
import { grammarOf, notPassed, offeredChoice, portableId, portableName, strictFor } from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';

const sharedFields: SharedFields = {
  service_tier: serviceTiers,
  prompt_cache_key: 'string',
  safety_identifier: 'string',
  metadata: 'object',
  top_logprobs: 'number',
  truncation: new Set(['auto', 'disabled']),
  max_tool_calls: 'number',
};

type Item = Record<string, unknown>;

export function encodeRequest(
  requested: ChatRequest,
  dropped: Dropped,
  target: Target = unknownTarget,
): Record<string, unknown> {
  const request = withinLimits(requested, target, dropped);
  for (const [key, value] of [
    ['top_k', request.topK],
    ['seed', request.seed],
    ['presence_penalty', request.presencePenalty],
    ['frequency_penalty', request.frequencyPenalty],
  ] as const) {
    if (value !== null) dropped.push(`/${key}: not known to the upstream`);
  }
  if (request.stop.length > 0) dropped.push('/stop: not known to the upstream');
  if (request.candidates > 1) dropped.push(oneAnswerOnly);
  const { verbosity, ...extra } = request.extra;
  const tools = encodeTools(request, dropped);
  const custom = customCalls(request);
  reportDropped(
    request,
    { dialect: 'openai-responses', detail: true, names: true, strict: true, grammar: true },
    dropped,
  );
  const effort = effortWord(request, target);
  const words = present({ format: encodeFormat(request, dropped), verbosity });
  return present({
    model: request.model,
    input: request.messages.flatMap((message, index) => encodeMessage(message, `/messages/${index}`, custom, dropped)),
    stream: request.stream ? true : undefined,
    store: false,
    include: ['reasoning.encrypted_content'],
    max_output_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, tools, dropped),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
    text: Object.keys(words).length === 0 ? undefined : words,
    reasoning: effort === null ? undefined : { effort, summary: 'auto' },
    user: userFor(request, dropped),
    max_tool_calls: callLimit(request),
    ...copyExtraFields({ ...request, extra }, sharedFields, dropped),
  });
}

function encodeChoice({ toolChoice: wanted, tools }: ChatRequest, sent: readonly Item[], dropped: Dropped): unknown {
  // A search of the provider's is chosen by its type.
  const isSearch = wanted !== null && typeof wanted === 'object' && isWebSearch(wanted.name);
  const search = isSearch ? sent.find(({ type, name }) => name === undefined && isWebSearch(String(type))) : undefined;
  if (search !== undefined) return { type: search.type };
  const toolChoice = offeredChoice(wanted, new Set(sent.map(({ name }) => name)), dropped);
  if (toolChoice === null || typeof toolChoice === 'string') return toolChoice;
  const custom = tools.some((tool) => tool.kind === 'custom' && tool.name === toolChoice.name);
  return { type: custom ? 'custom' : 'function', name: portableName(toolChoice.name) };
}

function encodeTools(request: ChatRequest, dropped: Dropped): Item[] {
  const { tools, dialect } = request;
  return tools.flatMap((tool, index): Item[] => {
    const name = portableName(tool.name);
    if (tool.kind === 'custom') {
      const grammar = grammarOf(tool);
      const format = grammar === null ? record(tool.raw)?.format : { ...grammar, type: 'grammar' };
      return [present({ type: 'custom', name, description: tool.description, format })];
    }
    if (tool.kind === 'function') {
      const { description, schema } = tool;
      const strict = strictFor(request, tool, `/tools/${index}`, dropped);
      return [{ type: 'function', name, ...present({ description }), parameters: schema, strict: strict ?? false }];
    }
    if (dialect === 'openai-responses' && tool.raw !== undefined) return [tool.raw as Item];
    if (isWebSearch(tool.name)) return [searchOf(tool, index, dropped)];
    dropped.push(notPassed(tool, index));
    return [];
  });
}

function searchOf(tool: Tool, index: number, dropped: Dropped): Item {
  reportSearchLimits(tool, index, ['maxUses', 'allowedDomains', 'location', 'contextSize'], dropped);
  const { allowedDomains, location, contextSize } = tool.search ?? {};
  return present({
    type: 'web_search',
    filters: allowedDomains === undefined ? undefined : { allowed_domains: allowedDomains },
    user_location: approximate(location),
    search_context_size: contextSize,
  });
}

/** The dialect limits the calls of all hosted tools together, and none but a search comes from another dialect. */
const callLimit = ({ tools }: ChatRequest): number | undefined => {
  const limits = tools.flatMap(({ search }) => search?.maxUses ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
};

function encodeFormat(request: ChatRequest, dropped: Dropped): unknown {
  const format = request.responseFormat;
  if (format === null) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name, description, schema } = format;
  const strict = strictFor(request, format, '/response_format', dropped);
  return present({ type: 'json_schema', name, description, schema, strict });
}

/** Results of tools that take free text have a type of their own. Source: https://platform.openai.com/docs/api-reference/responses/create */
const customCalls = ({ messages }: ChatRequest): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool-call' && part.custom === true ? [part.id] : [])),
    ),
  );

function encodeMessage(message: Message, path: string, custom: ReadonlySet<string>, dropped: Dropped): Item[] {
  const items: Item[] = [];
  let content: Item[] = [];
  const role = message.role === 'tool' ? 'user' : message.role;
  const emit = () => {
    if (content.length > 0) items.push({ type: 'message', role, content });
    content = [];
  };
  for (const [index, part] of message.parts.entries()) {
    const place = `${path}/content/${index}`;
    const item = encodeItem(part, place, custom, dropped);
    if (item === null) {
      const chunk = encodePart(part, role === 'assistant', place, dropped);
      if (chunk !== null) content.push(chunk);
      continue;
    }
    emit();
    items.push(...item);
  }
  emit();
  return items;
}

/** Parts that are items of their own; null for those that belong into a message. */
function encodeItem(part: Part, path: string, custom: ReadonlySet<string>, dropped: Dropped): Item[] | null {
  switch (part.type) {
    case 'tool-call': {
      const call = { call_id: portableId(part.id), name: portableName(part.name) };
      return part.custom === true
        ? [{ type: 'custom_tool_call', ...call, input: part.arguments }]
        : [{ type: 'function_call', ...call, arguments: part.arguments === '' ? '{}' : part.arguments }];
    }
    case 'tool-result': {
      const chunks = part.content.flatMap((item): Item[] => {
        const chunk = encodePart(item, false, path, dropped);
        return chunk === null ? [] : [chunk];
      });
      const texts = chunks.every(({ type }) => type === 'input_text');
      const output = texts ? chunks.map((chunk) => chunk.text).join('\n') : chunks;
      const words = part.isError && typeof output === 'string' ? `Error: ${output}` : output;
      const type = custom.has(part.id) ? 'custom_tool_call_output' : 'function_call_output';
      return [{ type, call_id: portableId(part.id), output: words }];
    }
    case 'reasoning': {
      if (part.origin !== 'openai-responses' || part.redacted === null) {
        if (part.signature !== null || part.redacted !== null || part.text !== '')
          dropped.push(`${path}: a thought without this provider's seal`);
        return [];
      }
      const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }];
      return [present({ type: 'reasoning', id: part.id, summary, encrypted_content: part.redacted })];
    }
    default:
      return null;
  }
}

function encodePart(part: Part, assistant: boolean, path: string, dropped: Dropped): Item | null {
  switch (part.type) {
    case 'text':
      if (part.text === '') return null;
      return assistant
        ? { type: 'output_text', text: part.text, annotations: [] }
        : { type: 'input_text', text: part.text };
    case 'refusal':
      return assistant ? { type: 'refusal', refusal: part.text } : { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: mediaUrl(part.source), detail: part.detail ?? 'auto' };
    case 'file':
      if (part.source.kind === 'id') return { type: 'input_file', file_id: part.source.id };
      return part.source.kind === 'url'
        ? { type: 'input_file', file_url: part.source.url }
        : { type: 'input_file', filename: part.name ?? 'file.pdf', file_data: mediaUrl(part.source) };
    case 'unknown':
      if (part.dialect === 'openai-responses') return part.raw as Item;
      break;
    // The last three are items of their own, not parts of one.
    case 'audio':
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      break;
  }
  dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
  return null;
}
