/** The common form as a Messages request. */
import type { ChatRequest, Media, Message, Part, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { budgetOf, effortOf } from '../shared/effort.ts';
import { carryExtras } from '../shared/extras.ts';
import { present } from '../shared/json.ts';
import { argumentsObject, customSchema, objectSchema, portableId, portableName, wrapCustom } from '../shared/tools.ts';

const carried = new Set(['service_tier', 'speed', 'container', 'mcp_servers', 'context_management', 'cache_control']);

/** These think as much as they find fit and take an effort; earlier ones take a budget of tokens. */
const adaptiveModel = /claude-(?:(?:opus|sonnet|haiku)-(?:4-[6-9]|[5-9])|fable)/;
const leastBudget = 1024;
/** More marks than this are refused. */
const mostCacheMarks = 4;
/** Fills in where the client set no limit and the operator's default is not at hand. */
const fallbackMaxTokens = 8192;

export function encodeRequest(request: ChatRequest, dropped: Dropped): Record<string, unknown> {
  const { system, messages } = encodeMessages(request.messages, dropped);
  const tools = request.toolChoice === 'none' ? [] : encodeTools(request.tools, dropped);
  const maxTokens = request.maxTokens ?? fallbackMaxTokens;
  const thinking = encodeThinking(request, maxTokens, messages, dropped);
  const sampling = encodeSampling(request, thinking.on, dropped);
  for (const [key, value] of [
    ['seed', request.seed],
    ['presence_penalty', request.presencePenalty],
    ['frequency_penalty', request.frequencyPenalty],
  ] as const) {
    if (value !== null) dropped.push(`/${key}: not known to the upstream`);
  }
  if (request.candidates > 1) dropped.push('/n: one answer only');
  if (request.responseFormat?.type === 'json') dropped.push('/response_format: JSON without a schema is not enforced');
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
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, thinking.on, dropped),
    stop_sequences: request.stop.length === 0 ? undefined : request.stop,
    ...sampling,
    thinking: thinking.member,
    output_config: Object.keys(config).length === 0 ? undefined : config,
    metadata: request.user === null ? undefined : { user_id: request.user },
    ...carryExtras(request, carried, dropped),
  });
}

function encodeSampling(request: ChatRequest, thinks: boolean, dropped: Dropped): Record<string, unknown> {
  if (thinks) {
    if (request.temperature !== null && request.temperature !== 1) dropped.push('/temperature: fixed while thinking');
    if (request.topK !== null) dropped.push('/top_k: fixed while thinking');
    return {};
  }
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

function encodeThinking(
  request: ChatRequest,
  maxTokens: number,
  messages: readonly Record<string, unknown>[],
  dropped: Dropped,
): Thinking {
  const budget = budgetOf(request.reasoning);
  const off: Thinking = { on: false, member: undefined, effort: null, maxTokens };
  if (budget === null) return off;
  if (budget === 0) return { ...off, member: { type: 'disabled' } };
  if (lacksThought(messages)) {
    dropped.push('/thinking: the history calls a tool without the signed thought before it');
    return off;
  }
  if (adaptiveModel.test(request.model)) {
    const effort = effortOf(request.reasoning);
    const word = effort === 'minimal' ? 'low' : effort;
    return { on: true, member: { type: 'adaptive' }, effort: word, maxTokens };
  }
  const tokens = Math.max(leastBudget, budget < 0 ? Math.floor(maxTokens * 0.8) : budget);
  return {
    on: true,
    member: { type: 'enabled', budget_tokens: tokens },
    effort: null,
    maxTokens: Math.max(maxTokens, tokens + leastBudget),
  };
}

/** While thinking, a turn that calls tools must begin with the thought that led there. */
function lacksThought(messages: readonly Record<string, unknown>[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  const blocks = (last?.content ?? []) as readonly { readonly type: string }[];
  return blocks.some(({ type }) => type === 'tool_use') && !/thinking$/.test(blocks[0]?.type ?? '');
}

function encodeChoice({ toolChoice, parallelToolCalls }: ChatRequest, thinks: boolean, dropped: Dropped): unknown {
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const forced = toolChoice === 'required' || (toolChoice !== null && typeof toolChoice === 'object');
  if (forced && thinks) dropped.push('/tool_choice: no tool can be forced while thinking');
  if (forced && !thinks) {
    return toolChoice === 'required'
      ? { type: 'any', ...single }
      : { type: 'tool', name: portableName((toolChoice as { name: string }).name), ...single };
  }
  return toolChoice === null && parallelToolCalls !== false ? undefined : { type: 'auto', ...single };
}

function encodeTools(tools: readonly Tool[], dropped: Dropped): Record<string, unknown>[] {
  return tools.flatMap((tool, index): Record<string, unknown>[] => {
    if (tool.kind === 'provider') {
      if (/^web_search/.test(tool.name)) return [{ type: 'web_search_20250305', name: 'web_search' }];
      dropped.push(`/tools/${index}: ${tool.name} runs only at its own provider`);
      return [];
    }
    return [
      present({
        name: portableName(tool.name),
        description: tool.description,
        input_schema: tool.kind === 'custom' ? customSchema : objectSchema(tool.schema),
        cache_control: cacheMark(tool.cache),
      }),
    ];
  });
}

const cacheMark = (cache: '5m' | '1h' | undefined): unknown =>
  cache === undefined ? undefined : cache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' };

interface Marked {
  readonly system: Record<string, unknown>[];
  readonly tools: Record<string, unknown>[];
  readonly messages: Record<string, unknown>[];
}

/** The last marks reach furthest; earlier ones beyond the limit are taken off. */
function limitMarks(request: Marked, dropped: Dropped): Marked {
  const blocks = [
    ...request.tools,
    ...request.system,
    ...request.messages.flatMap(({ content }) => content as Record<string, unknown>[]),
  ].filter((block) => block.cache_control !== undefined);
  for (const block of blocks.slice(0, Math.max(0, blocks.length - mostCacheMarks))) {
    delete block.cache_control;
    dropped.push('/cache_control: more marks than the upstream takes');
  }
  return request;
}

function encodeMessages(messages: readonly Message[], dropped: Dropped): Omit<Marked, 'tools'> {
  const firstTurn = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = firstTurn < 0 ? messages : messages.slice(0, firstTurn);
  const turns: { role: string; content: Record<string, unknown>[] }[] = [];
  const add = (role: string, blocks: Record<string, unknown>[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) turns.push({ role, content: blocks });
  };
  for (const [at, message] of messages.entries()) {
    if (at < leading.length) continue;
    const path = `/messages/${at}`;
    const blocks = message.parts.flatMap((part, index) => encodePart(part, `${path}/content/${index}`, dropped));
    if (message.role === 'assistant') add('assistant', blocks);
    else if (message.role === 'system' || message.role === 'developer') add('user', asReminder(blocks));
    else add('user', blocks);
  }
  for (const turn of turns) if (turn.role === 'user') turn.content.sort((a, b) => rank(a) - rank(b));
  return {
    system: leading.flatMap(({ parts }, at) =>
      parts.flatMap((part, n) => encodePart(part, `/system/${at}/${n}`, dropped)),
    ),
    messages: answered(turns).map(trimmed),
  };
}

/** Results come first in their turn. Sorting keeps the order of equals. */
const rank = (block: Record<string, unknown>): number => (block.type === 'tool_result' ? 0 : 1);

/** Instructions in the middle keep their place, marked as what they are. */
const asReminder = (blocks: Record<string, unknown>[]): Record<string, unknown>[] =>
  blocks.map((block) => (block.type === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block));

/** Every call needs its result in the next turn; a lost one is told as such instead of sending a history that is refused. */
function answered(turns: { role: string; content: Record<string, unknown>[] }[]) {
  const whole: typeof turns = [];
  for (const [at, turn] of turns.entries()) {
    whole.push(turn);
    const calls = turn.role === 'assistant' ? turn.content.filter(({ type }) => type === 'tool_use') : [];
    if (calls.length === 0) continue;
    const next = turns[at + 1];
    const results = new Set(next?.content.map((block) => block.tool_use_id));
    const missing = calls
      .filter(({ id }) => !results.has(id))
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'No result was given', is_error: true }));
    if (missing.length === 0) continue;
    if (next?.role === 'user') next.content.unshift(...missing);
    else whole.push({ role: 'user', content: missing });
  }
  return whole;
}

/** A last word of the assistant's may not end in blanks. */
function trimmed(turn: { role: string; content: Record<string, unknown>[] }, at: number, all: readonly unknown[]) {
  const last = turn.content.at(-1);
  if (turn.role === 'assistant' && at === all.length - 1 && last?.type === 'text')
    last.text = String(last.text).trimEnd();
  return turn;
}

function sourceOf(source: Media): Record<string, unknown> {
  return source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mimeType, data: source.data };
}

function encodePart(part: Part, path: string, dropped: Dropped): Record<string, unknown>[] {
  const block = encodeBlock(part, path, dropped);
  if (block === null) return [];
  const mark = cacheMark(part.cache);
  return [mark === undefined ? block : { ...block, cache_control: mark }];
}

function encodeBlock(part: Part, path: string, dropped: Dropped): Record<string, unknown> | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : { type: 'text', text: part.text };
    case 'refusal':
      return part.text === '' ? null : { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: sourceOf(part.source) };
    case 'file':
      if (part.source.kind === 'id') return { type: 'document', source: { type: 'file', file_id: part.source.id } };
      if (part.source.kind === 'base64' && part.source.mimeType.startsWith('text/')) {
        const words = Buffer.from(part.source.data, 'base64').toString('utf8');
        return present({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: words },
          title: part.name,
        });
      }
      return present({ type: 'document', source: sourceOf(part.source), title: part.name });
    case 'reasoning': {
      // A thought that somebody else signed is refused, and an unsigned one too.
      if (part.origin !== 'anthropic-messages') {
        dropped.push(`${path}: a thought without this provider's signature`);
        return null;
      }
      return part.redacted !== null
        ? { type: 'redacted_thinking', data: part.redacted }
        : { type: 'thinking', thinking: part.text, signature: part.signature ?? '' };
    }
    case 'tool-call':
      return {
        type: 'tool_use',
        id: portableId(part.id),
        name: portableName(part.name),
        input: argumentsObject(part.custom === true ? wrapCustom(part.arguments) : part.arguments),
      };
    case 'tool-result': {
      const content = part.content.flatMap((item, index) => encodePart(item, `${path}/${index}`, dropped));
      return present({
        type: 'tool_result',
        tool_use_id: portableId(part.id),
        content: content.length === 0 ? undefined : content,
        is_error: part.isError ? true : undefined,
      });
    }
    case 'unknown':
      if (part.dialect === 'anthropic-messages') return part.raw as Record<string, unknown>;
      break;
  }
  dropped.push(`${path}: ${part.type} cannot be told to the upstream`);
  return null;
}
