/** A chat request in Cohere's second form: words before calls are their plan. */
import type { ChatRequest, Message, Part } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { reportDropped } from '../shared/dropped-fields.ts';
import { budgetOf } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields } from '../shared/extra-fields.ts';
import { present, text } from '../shared/json.ts';
import { mediaUrl } from '../shared/media.ts';
import { oneAnswerOnly, withinLimits } from '../shared/model-limits.ts';
import { customSchema, objectSchema, portableId, portableName, wrapCustom } from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';

type Item = Record<string, unknown>;

const sharedFields: SharedFields = {
  documents: 'list',
  citation_options: 'object',
  safety_mode: new Set(['CONTEXTUAL', 'STRICT', 'OFF', 'NONE']),
  strict_tools: 'boolean',
  priority: 'number',
  logprobs: 'boolean',
};

/** Here from 0 to 1; elsewhere from -2 to 2. */
const penalty = (value: number | null): number | null => (value === null ? null : Math.min(1, Math.max(0, value)));

/** Source: https://docs.cohere.com/reference/chat */
const maxStops = 5;

export function encodeRequest(requested: ChatRequest, dropped: Dropped, target: Target = unknownTarget): Item {
  const request = withinLimits(requested, target, dropped, { documents: true });
  const own = request.dialect === 'cohere-chat';
  const tools = request.tools.flatMap((tool, index): Item[] => {
    if (tool.kind === 'provider') {
      dropped.push(`/tools/${index}: ${tool.name} cannot be sent to the upstream`);
      return [];
    }
    const { description, schema } = tool;
    const parameters = tool.kind === 'custom' ? customSchema : objectSchema(schema);
    return [{ type: 'function', function: present({ name: portableName(tool.name), description, parameters }) }];
  });
  reportDropped(request, { dialect: 'cohere-chat', detail: true, ...(own ? { strict: true } : {}) }, dropped);
  for (const [name, value] of [
    ['frequency_penalty', request.frequencyPenalty],
    ['presence_penalty', request.presencePenalty],
  ] as const)
    if (penalty(value) !== value) dropped.push(`/${name}: held within 0 and 1`);
  if (request.user !== null) dropped.push('/user: not known to the upstream');
  if (request.stop.length > maxStops) dropped.push(`/stop: only ${maxStops} are taken`);
  if (request.candidates > 1) dropped.push(oneAnswerOnly);
  if (request.parallelToolCalls === false) dropped.push('/parallel_tool_calls: several calls may come at once');
  return present({
    model: request.model,
    messages: request.messages.flatMap((message, index) => encodeMessage(message, `/messages/${index}`, dropped)),
    stream: request.stream,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    p: request.topP,
    k: request.topK,
    seed: request.seed,
    frequency_penalty: penalty(request.frequencyPenalty),
    presence_penalty: penalty(request.presencePenalty),
    stop_sequences: request.stop.length === 0 ? undefined : request.stop.slice(0, maxStops),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, dropped),
    response_format: encodeFormat(request.responseFormat),
    thinking: encodeThinking(request, dropped),
    documents: request.documents,
    ...(own ? request.extra : copyExtraFields(request, sharedFields, dropped)),
  });
}

function encodeChoice({ toolChoice }: ChatRequest, dropped: Dropped): string | undefined {
  if (toolChoice === null || toolChoice === 'auto') return undefined;
  if (toolChoice === 'none') return 'NONE';
  if (typeof toolChoice === 'object') dropped.push('/tool_choice: no single tool can be demanded');
  return 'REQUIRED';
}

function encodeFormat(format: ChatRequest['responseFormat']): unknown {
  if (format === null) return undefined;
  return format.type === 'json' ? { type: 'json_object' } : { type: 'json_object', json_schema: format.schema };
}

function encodeThinking({ reasoning }: ChatRequest, dropped: Dropped): unknown {
  const budget = budgetOf(reasoning);
  if (budget === null) return undefined;
  if (reasoning?.effort != null && budget !== 0) dropped.push('/reasoning: thinking has no degrees here');
  return budget === 0
    ? { type: 'disabled' }
    : { type: 'enabled', ...(budget > 0 && reasoning?.effort === null ? { token_budget: budget } : {}) };
}

function encodeMessage({ role, parts }: Message, path: string, dropped: Dropped): Item[] {
  const results: Item[] = [];
  const calls: Item[] = [];
  const content: Item[] = [];
  for (const part of parts) {
    if (part.type === 'tool-result') {
      const words = part.content.flatMap((item) => encodePart(item, path, dropped));
      if (part.isError) dropped.push(`${path}: that the tool failed has no place here`);
      results.push({ role: 'tool', tool_call_id: portableId(part.id), content: words });
    } else if (part.type === 'tool-call') {
      const definition = { name: portableName(part.name), arguments: argumentsOf(part) };
      calls.push({ id: portableId(part.id), type: 'function', function: definition });
    } else content.push(...encodePart(part, path, dropped));
  }
  if (content.length === 0 && calls.length === 0) return results;
  const speaker = role === 'developer' ? 'system' : role === 'tool' ? 'user' : role;
  if (calls.length === 0) return [...results, { role: speaker, content: plain(content) }];
  // Words before calls are their plan; thoughts stay what they are.
  const plan = content.map((item) => text(item.text) ?? '').join('');
  const thoughts = content.filter(({ type }) => type === 'thinking');
  return [
    ...results,
    {
      role: speaker,
      ...(thoughts.length === 0 ? {} : { content: thoughts }),
      ...(plan === '' ? {} : { tool_plan: plan }),
      tool_calls: calls,
    },
  ];
}

const plain = (content: readonly Item[]): unknown => {
  const [only] = content;
  return content.length === 1 && only?.type === 'text' ? only.text : content;
};

function encodePart(part: Part, path: string, dropped: Dropped): Item[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'reasoning':
      if (part.redacted !== null || part.signature !== null) dropped.push(`${path}: the thought loses its seal`);
      return part.text === '' ? [] : [{ type: 'thinking', thinking: part.text }];
    case 'image':
      return [{ type: 'image_url', image_url: present({ url: mediaUrl(part.source), detail: part.detail }) }];
    default:
      dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
      return [];
  }
}

const argumentsOf = (call: Extract<Part, { type: 'tool-call' }>): string =>
  call.custom === true ? wrapCustom(call.arguments) : call.arguments === '' ? '{}' : call.arguments;
