/** The common form as a chat completions request. */
import type { ChatRequest, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { reportDropped, userFor } from '../shared/dropped-fields.ts';
import { budgetOf, effortWord } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields, serviceTiers } from '../shared/extra-fields.ts';
import { present, record } from '../shared/json.ts';
import { candidatesOf, withinLimits } from '../shared/model-limits.ts';
import { customSchema, notPassed, offeredChoice, portableName, strictFor } from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';
import { encodeMessages } from './encode-messages.ts';

const sharedFields: SharedFields = {
  service_tier: serviceTiers,
  prompt_cache_key: 'string',
  safety_identifier: 'string',
  metadata: 'object',
  store: 'boolean',
  verbosity: new Set(['low', 'medium', 'high']),
  logit_bias: 'object',
  logprobs: 'boolean',
  top_logprobs: 'number',
  modalities: 'list',
  audio: 'object',
  prediction: 'object',
};

/** OpenAI refuses notes on an answer that is not kept. Source: https://platform.openai.com/docs/api-reference/chat/create */
const { metadata: _, ...sharedUnstored } = sharedFields;

export function encodeRequest(
  requested: ChatRequest,
  dropped: Dropped,
  target: Target = unknownTarget,
): Record<string, unknown> {
  const request = withinLimits(requested, target, dropped);
  const same = request.dialect === 'openai-chat';
  if (request.topK !== null && !same) dropped.push('/top_k: not known to the upstream');
  const tools = encodeTools(request, dropped);
  reportDropped(
    request,
    {
      dialect: 'openai-chat',
      detail: true,
      names: true,
      speakers: true,
      strict: true,
      cacheMarks: same || target.cacheMarks === true,
      ...(same ? { grammar: true } : {}),
    },
    dropped,
  );
  return present({
    model: request.model,
    messages: encodeMessages(request, dropped, target),
    stream: request.stream ? true : undefined,
    [target.limitMember ?? 'max_tokens']: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    top_k: same ? request.topK : undefined,
    n: candidatesOf(request, dropped, 'openai-chat'),
    stop: encodeStop(request, dropped),
    seed: request.seed,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, tools, dropped),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
    response_format: encodeFormat(request, dropped),
    ...encodeReasoning(request, target, dropped),
    user: userFor(request, dropped),
    web_search_options: same ? searchOptions(request) : undefined,
    ...(same
      ? request.extra
      : copyExtraFields(request, request.extra.store === true ? sharedFields : sharedUnstored, dropped)),
  });
}

const maxStops = 4;

function encodeStop({ stop }: ChatRequest, dropped: Dropped): readonly string[] | undefined {
  if (stop.length > maxStops) dropped.push(`/stop: no more than ${maxStops}`);
  return stop.length === 0 ? undefined : stop.slice(0, maxStops);
}

function encodeReasoning(request: ChatRequest, target: Target, dropped: Dropped): Record<string, unknown> {
  const off = budgetOf(request.reasoning) === 0;
  if (off && target.thinkingSwitch !== null && !target.thinkingRequired)
    return target.thinkingSwitch === 'thinking' ? { thinking: { type: 'disabled' } } : { enable_thinking: false };
  return { reasoning_effort: encodeEffort(request, target, dropped) };
}

function encodeEffort(request: ChatRequest, target: Target, dropped: Dropped): string | null {
  const { reasoning, dialect } = request;
  const effort = effortWord(request, target);
  if (effort === null || dialect === 'openai-chat' || target.efforts?.includes(effort) === true) return effort;
  // It does not think unless it is asked to.
  if (effort === 'none' && target.efforts !== null && !target.thinkingByDefault) return null;
  // Few upstreams know the word `none`; it is not made up for a client that spoke of a budget.
  if (effort === 'none' && (reasoning?.effort !== 'none' || target.efforts !== null)) {
    dropped.push('/reasoning: cannot be switched off here');
    return null;
  }
  return effort;
}

function encodeChoice(
  { toolChoice: wanted, tools }: ChatRequest,
  sent: readonly Record<string, unknown>[],
  dropped: Dropped,
): unknown {
  const names = sent.map((tool) => (record(tool.function) ?? record(tool.custom))?.name);
  const toolChoice = offeredChoice(wanted, new Set(names), dropped);
  if (toolChoice === null || typeof toolChoice === 'string') return toolChoice;
  const custom = tools.some((tool) => tool.kind === 'custom' && tool.name === toolChoice.name && isChatTool(tool));
  const name = portableName(toolChoice.name);
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

const isChatTool = (tool: Tool): boolean => (tool.raw as { custom?: unknown } | undefined)?.custom !== undefined;

const searchOptions = ({ tools }: ChatRequest): unknown =>
  tools.map(({ raw }) => record(raw)?.web_search_options).find((options) => options !== undefined);

function encodeTools(request: ChatRequest, dropped: Dropped): Record<string, unknown>[] {
  const { tools, dialect } = request;
  return tools.flatMap((tool, index): Record<string, unknown>[] => {
    if (tool.kind === 'provider') {
      if (dialect === 'openai-chat')
        return record(tool.raw)?.web_search_options === undefined ? [tool.raw as Record<string, unknown>] : [];
      dropped.push(notPassed(tool, index));
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
          strict: strictFor(request, tool, `/tools/${index}`, dropped),
        }),
      },
    ];
  });
}

function encodeFormat(request: ChatRequest, dropped: Dropped): unknown {
  const format = request.responseFormat;
  if (format === null) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name, description, schema } = format;
  const strict = strictFor(request, format, '/response_format', dropped);
  return { type: 'json_schema', json_schema: present({ name, description, schema, strict }) };
}
