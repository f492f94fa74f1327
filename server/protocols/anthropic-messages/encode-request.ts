/** The common form as a Messages request. */
import type { ChatRequest, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { reportDropped } from '../shared/dropped-fields.ts';
import { budgetOf, effortOf } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields } from '../shared/extra-fields.ts';
import { inWords } from '../shared/format-words.ts';
import { present } from '../shared/json.ts';
import { forcedInstead, isForced, isThinkingEnabled, oneAnswerOnly, withinLimits } from '../shared/model-limits.ts';
import { approximate, isWebSearch, reportSearchLimits } from '../shared/search.ts';
import { customSchema, notPassed, objectSchema, offeredChoice, portableName } from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';
import { heldSchema } from './answer-schema.ts';
import { type Block, cacheMark, encodeMessages, type Turn } from './encode-messages.ts';

/** A service tier is not among them: the dialects' words for it differ. */
const sharedFields: SharedFields = {
  speed: new Set(['standard', 'fast']),
  container: ['string', 'object'],
  mcp_servers: 'list',
  // A list where it is OpenAI's.
  context_management: 'object',
  cache_control: 'object',
};

const minBudget = 1024;
/** More marks than this are refused. */
const maxCacheMarks = 4;
/** Fills in where the client set no limit, and neither the operator nor any row knows one. */
const fallbackMaxTokens = 8192;

export function encodeRequest(
  requested: ChatRequest,
  dropped: Dropped,
  target: Target = unknownTarget,
): Record<string, unknown> {
  const request = withHeldAnswer(withinLimits(requested, target, dropped, { json: false, unions: false }), dropped);
  const { system, messages } = encodeMessages(request, dropped);
  const tools = encodeTools(request, dropped);
  reportDropped(request, { dialect: 'anthropic-messages', names: true, strict: true, cacheMarks: true }, dropped);
  const thinking = encodeThinking(request, target, messages, dropped);
  const sampling = encodeSampling(request, thinking.on, dropped);
  for (const [key, value] of [
    ['seed', request.seed],
    ['presence_penalty', request.presencePenalty],
    ['frequency_penalty', request.frequencyPenalty],
  ] as const) {
    if (value !== null) dropped.push(`/${key}: not known to the upstream`);
  }
  if (request.candidates > 1) dropped.push(oneAnswerOnly);
  const marked = limitMarks({ system, tools, messages }, dropped);
  const schema = request.responseFormat?.type === 'schema' ? request.responseFormat.schema : undefined;
  const config = present({
    ...(thinking.effort === null ? {} : { effort: thinking.effort }),
    ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
  });
  return present({
    model: request.model,
    max_tokens: thinking.maxTokens,
    system: marked.system.length === 0 ? undefined : marked.system,
    messages: marked.messages,
    stream: request.stream ? true : undefined,
    tools: marked.tools.length === 0 ? undefined : marked.tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, thinking.on, tools, dropped),
    stop_sequences: encodeStop(request, dropped),
    ...sampling,
    thinking: thinking.member,
    output_config: Object.keys(config).length === 0 ? undefined : config,
    metadata: request.user === null ? undefined : { user_id: request.user },
    ...(request.dialect === 'anthropic-messages' ? request.extra : copyExtraFields(request, sharedFields, dropped)),
  });
}

/** The form of the answer as the maker holds to it, else in words. */
function withHeldAnswer(request: ChatRequest, dropped: Dropped): ChatRequest {
  const { responseFormat, dialect } = request;
  if (responseFormat?.type !== 'schema' || dialect === 'anthropic-messages') return request;
  const held = heldSchema(responseFormat.schema);
  if (held === null) {
    dropped.push('/response_format: a schema that is open or refers to itself is asked for in words');
    return { ...inWords(request, responseFormat), responseFormat: null };
  }
  if (held.moved) dropped.push('/response_format: bounds that are not held to are told in descriptions');
  return { ...request, responseFormat: { ...responseFormat, schema: held.schema } };
}

/** Blank ones are refused. Source: https://github.com/BerriAI/litellm/issues/3286 */
function encodeStop({ stop, dialect }: ChatRequest, dropped: Dropped): readonly string[] | undefined {
  const kept = dialect === 'anthropic-messages' ? stop : stop.filter((word) => word.trim() !== '');
  if (kept.length < stop.length) dropped.push('/stop: blank words are not taken');
  return kept.length === 0 ? undefined : kept;
}

function encodeSampling(request: ChatRequest, isThinking: boolean, dropped: Dropped): Record<string, unknown> {
  if (isThinking) {
    if (request.temperature !== null && request.temperature !== 1) dropped.push('/temperature: fixed while thinking');
    if (request.topK !== null) dropped.push('/top_k: fixed while thinking');
    return {};
  }
  if (request.temperature !== null && request.temperature > 1) dropped.push('/temperature: held to 1');
  if (request.temperature !== null && request.topP !== null) dropped.push('/top_p: temperature is given already');
  return {
    temperature: request.temperature === null ? undefined : Math.min(1, Math.max(0, request.temperature)),
    top_p: request.temperature === null ? request.topP : undefined,
    top_k: request.topK,
  };
}

interface Thinking {
  readonly on: boolean;
  readonly member: unknown;
  readonly effort: string | null;
  readonly maxTokens: number;
}

function encodeThinking(request: ChatRequest, target: Target, messages: readonly Turn[], dropped: Dropped): Thinking {
  const maxTokens = request.maxTokens ?? target.outputCap ?? fallbackMaxTokens;
  const budget = budgetOf(request.reasoning);
  const unasked: Thinking = { on: isThinkingEnabled(null, target), member: undefined, effort: null, maxTokens };
  if (budget !== 0 && !target.thinkingRequired && request.tools.length > 0 && isForced(request)) {
    if (budget !== null) dropped.push(forcedInstead);
    return { ...unasked, on: false, member: unasked.on ? { type: 'disabled' } : undefined };
  }
  if (budget === null) return unasked;
  if (budget === 0) return { ...unasked, on: false, member: { type: 'disabled' } };
  if (missesThinking(messages)) {
    dropped.push('/thinking: the history calls a tool without the signed thought before it');
    return unasked;
  }
  if (target.thinking === 'adaptive') {
    const effort = effortOf(request.reasoning);
    return { on: true, member: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort, maxTokens };
  }
  const ceiling = request.ceiling ?? Number.POSITIVE_INFINITY;
  if (ceiling < 2 * minBudget) {
    dropped.push('/thinking: the limit of the answer leaves no room for it');
    return unasked;
  }
  const requested = Math.max(minBudget, budget < 0 ? Math.floor(maxTokens * 0.8) : budget);
  const room = Math.min(
    Math.max(maxTokens, requested + minBudget),
    target.outputCap ?? Number.POSITIVE_INFINITY,
    ceiling,
  );
  const tokens = Math.max(minBudget, Math.min(requested, room - minBudget));
  return {
    on: true,
    member: { type: 'enabled', budget_tokens: tokens },
    effort: null,
    maxTokens: Math.max(room, tokens + 1),
  };
}

/** While thinking, a turn that calls tools must begin with the thought that led there. */
function missesThinking(messages: readonly Turn[]): boolean {
  const blocks = messages.findLast(({ role }) => role === 'assistant')?.content ?? [];
  return blocks.some(({ type }) => type === 'tool_use') && !/thinking$/.test(String(blocks[0]?.type));
}

function encodeChoice(
  { toolChoice: wanted, parallelToolCalls }: ChatRequest,
  isThinking: boolean,
  sent: readonly Block[],
  dropped: Dropped,
): unknown {
  const toolChoice = offeredChoice(wanted, new Set(sent.map(({ name }) => name)), dropped);
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const forced = isForced({ toolChoice });
  if (forced && isThinking) dropped.push('/tool_choice: no tool can be forced while thinking');
  if (forced && !isThinking) {
    return toolChoice === 'required'
      ? { type: 'any', ...single }
      : { type: 'tool', name: portableName((toolChoice as { name: string }).name), ...single };
  }
  if (toolChoice === 'none') return { type: 'none' };
  return toolChoice === null && parallelToolCalls !== false ? undefined : { type: 'auto', ...single };
}

/** A call is held to closed schemas without bounds alone; others are refused. Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs */
function isHoldable(schema: unknown): boolean {
  const text = JSON.stringify(schema ?? {});
  return text.includes('"additionalProperties":false') && !unheld.test(text);
}
const unheld =
  /"(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|maxItems|minItems|\$ref)":/;

function encodeTools({ tools, dialect }: ChatRequest, dropped: Dropped): Block[] {
  const same = dialect === 'anthropic-messages';
  return tools.flatMap((tool, index): Block[] => {
    if (same && tool.raw !== undefined) return [tool.raw as Block];
    if (tool.kind === 'provider') {
      if (isWebSearch(tool.name)) return [searchOf(tool, index, dropped)];
      dropped.push(notPassed(tool, index));
      return [];
    }
    const held = tool.strict === true && isHoldable(tool.schema);
    if (tool.strict === true && !same && !held)
      dropped.push(`/tools/${index}/strict: this schema cannot be enforced by the upstream`);
    return [
      present({
        name: portableName(tool.name),
        description: tool.description,
        input_schema: tool.kind === 'custom' ? customSchema : objectSchema(tool.schema),
        strict: same ? tool.strict : held ? true : undefined,
        cache_control: cacheMark(tool.cache),
      }),
    ];
  });
}

function searchOf(tool: Tool, index: number, dropped: Dropped): Block {
  reportSearchLimits(tool, index, ['maxUses', 'allowedDomains', 'blockedDomains', 'location'], dropped);
  const { maxUses, allowedDomains, blockedDomains, location } = tool.search ?? {};
  return present({
    type: 'web_search_20250305',
    name: 'web_search',
    max_uses: maxUses,
    allowed_domains: allowedDomains,
    blocked_domains: blockedDomains,
    user_location: approximate(location),
  });
}

interface Marked {
  readonly system: Block[];
  readonly tools: Block[];
  readonly messages: Turn[];
}

/** The last marks reach furthest; earlier ones beyond the limit are taken off. */
function limitMarks(request: Marked, dropped: Dropped): Marked {
  const blocks = [...request.tools, ...request.system, ...request.messages.flatMap(({ content }) => content)].filter(
    (block) => block.cache_control !== undefined,
  );
  for (const block of blocks.slice(0, Math.max(0, blocks.length - maxCacheMarks))) {
    delete block.cache_control;
    dropped.push('/cache_control: more marks than the upstream takes');
  }
  return request;
}
