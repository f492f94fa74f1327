/** Brings a request within what its model takes: turns come in order, what it refuses goes, words and numbers become the nearest that it knows, and each change is said. */
import type { ChatRequest, Message, Part, ProtocolId, Reasoning, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { type ModelParameter, type Target, unknownTarget } from '../target.ts';
import { inOrder } from './conversation-order.ts';
import { withDocuments } from './documents.ts';
import { budgetOf, closestEffort, effortOf } from './effort.ts';
import { inWords } from './format-words.ts';
import { hasRootUnion, objectSchema, offeredOnce, portableName, withoutRootUnion } from './tools.ts';

/** Members that are values alone, with what upstreams do where nothing is said. */
const plain = [
  ['temperature', 'temperature', 1],
  ['topP', 'top_p', 1],
  ['topK', 'top_k', null],
  ['seed', 'seed', null],
  ['presencePenalty', 'presence_penalty', 0],
  ['frequencyPenalty', 'frequency_penalty', 0],
] as const;

export interface Forms {
  /** JSON without a schema has no member in this dialect. */
  readonly json?: false;
  /** A union at the root of a tool's schema is refused in this dialect. */
  readonly unions?: false;
  /** Sources have a member of their own in this dialect. */
  readonly documents?: true;
}

/** @returns the same request where nothing had to be changed. */
export function withinLimits(requested: ChatRequest, target: Target, dropped: Dropped, forms: Forms = {}): ChatRequest {
  const messages = withDocuments(
    inOrder(requested.messages, dropped),
    forms.documents ? [] : requested.documents,
    dropped,
  );
  const tools = offeredOnce(
    requested.tools,
    ({ kind, name }) => (kind === 'provider' ? null : portableName(name)),
    dropped,
  );
  const isSame = messages === requested.messages && tools === requested.tools;
  const request = isSame ? requested : { ...requested, messages, tools };
  const takesAll =
    (forms.json !== false || request.responseFormat?.type !== 'json') &&
    (forms.unions !== false || !request.tools.some(({ schema }) => hasRootUnion(schema)));
  if (target === unknownTarget && takesAll) return request;
  const reasoning = unlessForced(request, reasoningWithinLimits(request.reasoning, target, dropped), target, dropped);
  const rejected = rejectedBy(target, isThinkingEnabled(reasoning, target), forms);
  const within: ChatRequest = {
    ...request,
    ...withoutUnsupported(request, rejected, dropped),
    messages: withoutPrefill(withInputs(request.messages, target, dropped), rejected, dropped),
    reasoning,
    maxTokens: withinCap(request.maxTokens, target, dropped),
  };
  return formatWithin(within, rejected, dropped);
}

/** Whether a tool must be called. */
export const isForced = ({ toolChoice }: Pick<ChatRequest, 'toolChoice'>): boolean =>
  toolChoice === 'required' || (toolChoice !== null && typeof toolChoice === 'object');

export const forcedInstead = '/reasoning: no tool can be forced while thinking, and one is';
/** The upstream writes one answer, whatever the request asks for. Bills compare the whole note: a client writes the names in others. */
export const oneAnswerOnly = '/n: one answer only';

/** Answers beside the first one reach a client of the same dialect alone: for others one is bought. */
export function candidatesOf(
  { candidates, dialect }: ChatRequest,
  dropped: Dropped,
  own: ProtocolId,
): number | undefined {
  if (candidates <= 1) return undefined;
  if (dialect === own) return candidates;
  dropped.push(oneAnswerOnly);
  return undefined;
}

/** Of a thought and a call that must be made a program waits for the call. */
function unlessForced(
  request: ChatRequest,
  reasoning: Reasoning | null,
  target: Target,
  dropped: Dropped,
): Reasoning | null {
  const { unsupported, unsupportedWithThinking, thinkingRequired, thinkingByDefault, thinkingSwitch } = target;
  if (!unsupportedWithThinking.has('forcedToolChoice') || unsupported.has('forcedToolChoice') || thinkingRequired)
    return reasoning;
  if (request.tools.length === 0 || !isForced(request) || !isThinkingEnabled(reasoning, target)) return reasoning;
  // It cannot be switched off.
  if (thinkingSwitch === null && thinkingByDefault) return reasoning;
  if (budgetOf(reasoning) !== null) dropped.push(forcedInstead);
  return thinkingSwitch === null ? null : { effort: null, budget: 0, includeThoughts: null };
}

/** @param reasoning as it is sent to the model. */
export function isThinkingEnabled(reasoning: Reasoning | null, target: Target): boolean {
  if (target.thinking === 'none') return false;
  const budget = budgetOf(reasoning);
  return target.thinkingRequired || (budget === null ? target.thinkingByDefault : budget !== 0);
}

const rejectedBy =
  (target: Target, isThinking: boolean, { json, unions }: Forms) =>
  (member: ModelParameter): boolean =>
    target.unsupported.has(member) ||
    (isThinking && target.unsupportedWithThinking.has(member)) ||
    (member === 'jsonFormat' && json === false) ||
    (member === 'schemaUnions' && unions === false);

function withoutUnsupported(
  request: ChatRequest,
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): Partial<ChatRequest> {
  const changes: Record<string, unknown> = {};
  for (const [member, name, fallback] of plain) {
    if (request[member] === null || !rejected(member)) continue;
    changes[member] = null;
    if (request[member] !== fallback) dropped.push(`/${name}: not taken by this model`);
  }
  if (request.stop.length > 0 && rejected('stop')) {
    changes.stop = [];
    dropped.push('/stop: not taken by this model');
  }
  if (request.candidates > 1 && rejected('candidates')) {
    changes.candidates = 1;
    dropped.push(oneAnswerOnly);
  }
  return { ...changes, ...toolsWithin(request, rejected, dropped) };
}

/** The one tool that must be called. A model without tools can still write what it would be called with. */
const demandedTool = ({ tools, toolChoice, responseFormat }: ChatRequest): Tool | undefined => {
  if (responseFormat !== null) return undefined;
  const allowed =
    toolChoice === 'required'
      ? tools
      : tools.filter(({ name }) => typeof toolChoice === 'object' && name === toolChoice?.name);
  return allowed.length === 1 && allowed[0]?.kind === 'function' ? allowed[0] : undefined;
};

/** The tool whose arguments the model writes as its answer, because it takes no tools; undefined = none. */
export const writtenTool = (request: ChatRequest, { unsupported }: Target): Tool | undefined =>
  unsupported.has('tools') ? demandedTool(request) : undefined;

function toolsWithin(
  request: ChatRequest,
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): Partial<ChatRequest> {
  const { tools, parallelToolCalls } = request;
  if (tools.length === 0) return {};
  if (rejected('tools')) {
    dropped.push('/tools: not taken by this model');
    const written = demandedTool(request);
    const none = { tools: [], toolChoice: null, parallelToolCalls: null };
    if (written === undefined) return none;
    dropped.push(`/tool_choice: the arguments of ${written.name} are asked for as the answer`);
    return {
      ...none,
      responseFormat: { type: 'schema', name: written.name, schema: objectSchema(written.schema), strict: null },
    };
  }
  const unforced = isForced(request) && rejected('forcedToolChoice');
  const unordered = parallelToolCalls !== null && rejected('parallelToolCalls');
  if (unforced) dropped.push('/tool_choice: this model cannot be made to call a tool');
  if (unordered && parallelToolCalls === false) dropped.push('/parallel_tool_calls: not taken by this model');
  return {
    ...(unforced ? { toolChoice: 'auto' as const } : {}),
    ...(unordered ? { parallelToolCalls: null } : {}),
    ...hostedWithin(withoutUnions(tools, rejected, dropped), rejected, dropped),
  };
}

function withoutUnions(
  tools: ChatRequest['tools'],
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): ChatRequest['tools'] {
  if (!rejected('schemaUnions') || !tools.some(({ schema }) => hasRootUnion(schema))) return tools;
  return tools.map((tool, index) => {
    if (!hasRootUnion(tool.schema)) return tool;
    dropped.push(`/tools/${index}/parameters: the union at the root is one object, and is told in its description`);
    return { ...tool, schema: withoutRootUnion(tool.schema) };
  });
}

function hostedWithin(
  tools: ChatRequest['tools'],
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): Partial<ChatRequest> {
  const own = tools.filter(({ kind }) => kind !== 'provider');
  if (own.length === 0 || own.length === tools.length || !rejected('hostedWithTools')) return { tools };
  for (const [index, { kind, name }] of tools.entries())
    if (kind === 'provider') dropped.push(`/tools/${index}: ${name} cannot be offered beside other tools here`);
  return { tools: own };
}

/** A form of the answer that is not taken is asked for in words. */
function formatWithin(
  request: ChatRequest,
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): ChatRequest {
  const { responseFormat, tools } = request;
  if (responseFormat === null) return request;
  if (tools.length > 0 && rejected('formatWithTools')) {
    dropped.push('/response_format: not taken beside tools by this model, asked for in words');
    return { ...inWords(request, responseFormat), responseFormat: null };
  }
  if (responseFormat.type === 'schema' && !rejected('schemaFormat')) return request;
  if (rejected('jsonFormat')) {
    dropped.push(`/response_format: ${responseFormat.type === 'json' ? 'JSON' : 'a schema'} is asked for in words`);
    return { ...inWords(request, responseFormat), responseFormat: null };
  }
  if (responseFormat.type === 'json') return request;
  dropped.push('/response_format: this model is held to JSON, the schema is asked for in words');
  return { ...inWords(request, responseFormat), responseFormat: { type: 'json' } };
}

/** A model that cannot go on from words of its own is asked to. */
function withoutPrefill(
  messages: readonly Message[],
  rejected: (member: ModelParameter) => boolean,
  dropped: Dropped,
): readonly Message[] {
  if (messages.at(-1)?.role !== 'assistant' || !rejected('prefill')) return messages;
  dropped.push(`/messages/${messages.length - 1}: this model does not go on from it, and is asked to continue`);
  return [...messages, { role: 'user', parts: [{ type: 'text', text: 'Continue.' }] }];
}

/** Kinds of parts that are inputs of their own. */
const inputKinds: Readonly<Partial<Record<Part['type'], string>>> = { image: 'image', audio: 'audio', file: 'pdf' };

function withInputs(messages: readonly Message[], { inputs }: Target, dropped: Dropped): readonly Message[] {
  if (inputs === null) return messages;
  const rejected = (part: Part): boolean => {
    const kind = inputKinds[part.type];
    // A file of words is read as words.
    if (part.type === 'file' && part.source.kind === 'base64' && part.source.mimeType.startsWith('text/')) return false;
    return kind !== undefined && !inputs.includes(kind);
  };
  const unreadable = (part: Part, path: string): boolean => {
    if (!rejected(part)) return false;
    dropped.push(`${path}: ${part.type} cannot be read by this model`);
    return true;
  };
  const holds = (part: Part): boolean => rejected(part) || (part.type === 'tool-result' && part.content.some(rejected));
  return messages.map((message, at) => {
    if (!message.parts.some(holds)) return message;
    // Positions of the others stay what they are: they are identified by them.
    const parts = message.parts.map((part, index): Part => {
      const path = `/messages/${at}/content/${index}`;
      if (unreadable(part, path)) return nothing;
      return part.type === 'tool-result'
        ? { ...part, content: part.content.filter((item) => !unreadable(item, path)) }
        : part;
    });
    return { ...message, parts: parts.every((part) => part === nothing) ? [unread] : parts };
  });
}

/** A placeholder for content that is left out. */
const nothing: Part = { type: 'text', text: '' };
/** A message is never empty. */
const unread: Part = { type: 'text', text: '(left out)' };

function withinCap(maxTokens: number | null, { outputCap }: Target, dropped: Dropped): number | null {
  if (maxTokens === null || outputCap === null || maxTokens <= outputCap) return maxTokens;
  dropped.push(`/max_tokens: ${outputCap} are the most that this model writes`);
  return outputCap;
}

function reasoningWithinLimits(reasoning: Reasoning | null, target: Target, dropped: Dropped): Reasoning | null {
  const budget = budgetOf(reasoning);
  if (reasoning === null || budget === null) return target.thinking === 'none' ? null : reasoning;
  switch (target.thinking) {
    case null:
      return target.efforts === null ? reasoning : withWord(reasoning, target, target.efforts, dropped);
    case 'none':
      if (budget !== 0) dropped.push('/reasoning: this model does not think');
      return null;
    case 'budget':
      return withBudget(reasoning, budget, target, dropped);
    default:
      return target.efforts === null ? reasoning : withWord(reasoning, target, target.efforts, dropped);
  }
}

function withBudget(reasoning: Reasoning, requested: number, target: Target, dropped: Dropped): Reasoning {
  const [min, max] = target.budget ?? [0, Number.POSITIVE_INFINITY];
  if (requested < 0) return reasoning;
  if (requested === 0) {
    if (!target.thinkingRequired) return reasoning;
    dropped.push('/reasoning: cannot be switched off here');
    return { ...reasoning, budget: Math.max(min, 1) };
  }
  const within = Math.min(max, Math.max(min, requested));
  if (within === requested) return reasoning;
  if (reasoning.budget !== null) dropped.push(`/reasoning: ${within} tokens instead of ${requested}`);
  return { ...reasoning, budget: within };
}

function withWord(reasoning: Reasoning, target: Target, words: readonly string[], dropped: Dropped): Reasoning {
  const word = effortOf(reasoning);
  // Nothing was said of a degree.
  if (word === null) return reasoning;
  const off = word === 'none';
  // It is switched off otherwise than by a word.
  const switched = target.thinking === 'adaptive' || target.thinkingSwitch !== null;
  if (off && !words.includes('none') && !target.thinkingRequired && switched) return reasoning;
  const closest = closestEffort(word, words);
  if (closest === null) {
    const isFixed = off && target.thinkingRequired;
    if (!off) dropped.push('/reasoning: this model takes no degrees of thinking');
    else if (isFixed) dropped.push('/reasoning: cannot be switched off here');
    return { ...reasoning, effort: null, budget: off && !isFixed ? 0 : null };
  }
  if (off && closest !== 'none') dropped.push('/reasoning: cannot be switched off here');
  else if (closest !== word) dropped.push(`/reasoning: ${closest} instead of ${word}`);
  else if (reasoning.effort === null) dropped.push(`/reasoning: ${closest} instead of ${reasoning.budget} tokens`);
  return { ...reasoning, effort: closest, budget: off && closest === 'none' ? 0 : null };
}
