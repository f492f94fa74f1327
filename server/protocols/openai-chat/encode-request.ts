/** The common form as a chat completions request. */
import type { ChatRequest, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { effortOf } from '../shared/effort.ts';
import { carryExtras } from '../shared/extras.ts';
import { present, record } from '../shared/json.ts';
import { listLosses } from '../shared/losses.ts';
import { customSchema, portableName } from '../shared/tools.ts';
import { encodeMessages } from './encode-messages.ts';

const carried = new Set([
  'service_tier',
  'prompt_cache_key',
  'safety_identifier',
  'metadata',
  'store',
  'verbosity',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'modalities',
  'audio',
  'prediction',
]);

/** Reasoning models refuse the old name of the limit and every sampling member. */
const reasoningModel = /(^|\/)(o\d|gpt-[5-9])/;
/** These refuse to be told how hard to think. */
const plainModel = /(^|\/)(gpt-[34]|chatgpt)/;

export function encodeRequest(request: ChatRequest, dropped: Dropped): Record<string, unknown> {
  const thinks = reasoningModel.test(request.model) && !request.model.includes('chat');
  const sampling = {
    temperature: request.temperature,
    top_p: request.topP,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
  };
  const same = request.dialect === 'openai-chat';
  if (request.topK !== null && !same) dropped.push('/top_k: not known to the upstream');
  if (thinks) {
    for (const [key, value] of Object.entries(sampling))
      if (value !== null) dropped.push(`/${key}: refused by reasoning models`);
  }
  const tools = encodeTools(request, dropped);
  listLosses(request, { detail: true, names: true, strict: true, ...(same ? { grammar: true } : {}) }, dropped);
  return present({
    model: request.model,
    messages: encodeMessages(request, dropped),
    stream: request.stream ? true : undefined,
    ...(thinks ? { max_completion_tokens: request.maxTokens } : { max_tokens: request.maxTokens, ...sampling }),
    top_k: same ? request.topK : undefined,
    n: request.candidates > 1 ? request.candidates : undefined,
    stop: encodeStop(request, dropped),
    seed: request.seed,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
    response_format: encodeFormat(request.responseFormat),
    reasoning_effort: encodeEffort(request, dropped),
    user: request.user,
    web_search_options: same ? searchOptions(request) : undefined,
    ...(same ? request.extra : carryExtras(request, carried, dropped)),
  });
}

const mostStops = 4;

function encodeStop({ stop }: ChatRequest, dropped: Dropped): readonly string[] | undefined {
  if (stop.length > mostStops) dropped.push(`/stop: no more than ${mostStops}`);
  return stop.length === 0 ? undefined : stop.slice(0, mostStops);
}

function encodeEffort({ reasoning, model, dialect }: ChatRequest, dropped: Dropped): string | null {
  const effort = effortOf(reasoning);
  if (effort === null || dialect === 'openai-chat') return effort;
  if (plainModel.test(model)) {
    if (effort !== 'none') dropped.push('/reasoning: not known to this model');
    return null;
  }
  // Few upstreams know the word `none`; it is not made up for a client that spoke of a budget.
  if (effort === 'none' && reasoning?.effort !== 'none') {
    dropped.push('/reasoning: cannot be switched off here');
    return null;
  }
  return effort;
}

function encodeChoice({ toolChoice, tools }: ChatRequest): unknown {
  if (toolChoice === null || typeof toolChoice === 'string') return toolChoice;
  const custom = tools.some((tool) => tool.kind === 'custom' && tool.name === toolChoice.name && isChatTool(tool));
  const name = portableName(toolChoice.name);
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

const isChatTool = (tool: Tool): boolean => (tool.raw as { custom?: unknown } | undefined)?.custom !== undefined;

const searchOptions = ({ tools }: ChatRequest): unknown =>
  tools.map(({ raw }) => record(raw)?.web_search_options).find((options) => options !== undefined);

function encodeTools({ tools, dialect }: ChatRequest, dropped: Dropped): Record<string, unknown>[] {
  return tools.flatMap((tool, index): Record<string, unknown>[] => {
    if (tool.kind === 'provider') {
      if (dialect === 'openai-chat')
        return record(tool.raw)?.web_search_options === undefined ? [tool.raw as Record<string, unknown>] : [];
      dropped.push(`/tools/${index}: ${tool.name} runs only at its own provider`);
      return [];
    }
    if (tool.kind === 'custom' && isChatTool(tool)) return [tool.raw as Record<string, unknown>];
    const schema = tool.kind === 'custom' ? customSchema : tool.schema;
    return [
      {
        type: 'function',
        function: present({
          name: portableName(tool.name),
          description: tool.description,
          parameters: schema,
          strict: tool.strict,
        }),
      },
    ];
  });
}

function encodeFormat(format: ChatRequest['responseFormat']): unknown {
  if (format === null) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name, schema, strict } = format;
  return { type: 'json_schema', json_schema: present({ name, schema, strict }) };
}
