/** A chat request on Ollama's own wire: it knows how large the context shall be, when to unload, whether to think. */
import type { ChatRequest, Message, Part, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { reportDropped } from '../shared/dropped-fields.ts';
import { effortOf } from '../shared/effort.ts';
import { copyExtraFields, type SharedFields } from '../shared/extra-fields.ts';
import { present, record } from '../shared/json.ts';
import { oneAnswerOnly, withinLimits } from '../shared/model-limits.ts';
import { argumentsObject, customSchema, objectSchema, portableName, wrapCustom } from '../shared/tools.ts';
import { type Target, unknownTarget } from '../target.ts';

type Item = Record<string, unknown>;

/** What clients may add for this provider, beside the runtime's own options. */
const sharedFields: SharedFields = {
  keep_alive: ['string', 'number'],
  options: 'object',
  think: ['boolean', new Set(['low', 'medium', 'high', 'max'])],
  num_ctx: 'number',
  min_p: 'number',
  repeat_penalty: 'number',
  repeat_last_n: 'number',
};
const topLevel = new Set(['keep_alive', 'think']);

export function encodeRequest(requested: ChatRequest, dropped: Dropped, target: Target = unknownTarget): Item {
  const request = withinLimits(requested, target, dropped);
  const { options, ...extra } = copyExtraFields(request, sharedFields, dropped);
  // The longest answer was understood, and is billed, by the client's own word for it.
  const { num_predict: _limit, ...otherOptions } = record(options) ?? {};
  const own = Object.entries(extra);
  reportDropped(request, { dialect: 'ollama-chat' }, dropped);
  if (request.user !== null) dropped.push('/user: not known to the upstream');
  if (request.candidates > 1) dropped.push(oneAnswerOnly);
  if (request.parallelToolCalls === false) dropped.push('/parallel_tool_calls: several calls may come at once');
  const encoded = present({
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    num_predict: request.maxTokens,
    stop: request.stop.length === 0 ? undefined : request.stop,
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    ...Object.fromEntries(own.filter(([name]) => !topLevel.has(name))),
    ...otherOptions,
  });
  const tools = encodeTools(request, dropped);
  return present({
    model: request.model,
    messages: encodeMessages(request.messages, dropped),
    // Left out it means yes.
    stream: request.stream,
    tools: tools.length === 0 ? undefined : tools,
    format: encodeFormat(request.responseFormat),
    think: thinkOf(request),
    options: Object.keys(encoded).length === 0 ? undefined : encoded,
    ...Object.fromEntries(own.filter(([name]) => topLevel.has(name))),
  });
}

/** Said only when the client spoke of it: models that cannot think refuse the word. */
function thinkOf({ reasoning }: ChatRequest): boolean | string | undefined {
  const effort = effortOf(reasoning);
  if (effort === 'none') return false;
  if (effort === null) return reasoning?.budget === -1 ? true : undefined;
  return effort === 'minimal' ? 'low' : effort === 'low' || effort === 'medium' ? effort : 'high';
}

const encodeFormat = (format: ChatRequest['responseFormat']): unknown =>
  format === null ? undefined : format.type === 'json' ? 'json' : format.schema;

function encodeTools({ tools, toolChoice }: ChatRequest, dropped: Dropped): Item[] {
  if (toolChoice === 'none') return [];
  if (toolChoice !== null && toolChoice !== 'auto') dropped.push('/tool_choice: not known to the upstream');
  return tools.flatMap((tool, index): Item[] => {
    if (tool.kind === 'provider') {
      dropped.push(`/tools/${index}: ${tool.name} cannot be sent to the upstream`);
      return [];
    }
    const { description, schema } = tool;
    const encoded = {
      name: portableName(tool.name),
      description: description ?? '',
      parameters: parametersOf(tool.kind, schema),
    };
    return [{ type: 'function', function: encoded }];
  });
}

function encodeMessages(messages: readonly Message[], dropped: Dropped): Item[] {
  /** Results name the tool, clients name the call. */
  const names = new Map<string, string>();
  const encoded: Item[] = [];
  for (const [index, { role, parts }] of messages.entries()) {
    const path = `/messages/${index}`;
    const content: Part[] = [];
    const calls: Item[] = [];
    for (const part of parts) {
      if (part.type === 'tool-call') {
        names.set(part.id, portableName(part.name));
        const call = { name: portableName(part.name), arguments: argumentsOf(part) };
        calls.push({ id: part.id, function: call });
      } else if (part.type === 'tool-result') {
        const name = part.name ?? names.get(part.id);
        if (part.isError) dropped.push(`${path}: that the tool failed has no place here`);
        encoded.push(
          present({ role: 'tool', ...contentOf(part.content, path, dropped), tool_name: name, tool_call_id: part.id }),
        );
      } else content.push(part);
    }
    // What cannot be sent leaves no message behind.
    if (calls.length === 0 && content.every(({ type }) => type === 'unknown')) {
      contentOf(content, path, dropped);
      continue;
    }
    encoded.push({
      role: role === 'developer' ? 'system' : role === 'tool' ? 'user' : role,
      ...contentOf(content, path, dropped),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }
  return encoded;
}

/** Words are one text; pictures stand beside them, as bytes alone. */
function contentOf(parts: readonly Part[], path: string, dropped: Dropped): Item {
  const images: string[] = [];
  const words: string[] = [];
  let thinking = '';
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') words.push(part.text);
    else if (part.type === 'reasoning') {
      if (part.redacted !== null || part.signature !== null) dropped.push(`${path}: the thought loses its seal`);
      thinking += part.text;
    } else if (part.type === 'image' && part.source.kind === 'base64') images.push(part.source.data);
    else dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
  }
  return {
    content: words.join('\n'),
    ...(images.length === 0 ? {} : { images }),
    ...(thinking === '' ? {} : { thinking }),
  };
}

const parametersOf = (kind: Tool['kind'], schema: unknown): unknown =>
  kind === 'custom' ? customSchema : objectSchema(schema);

const argumentsOf = (call: Extract<Part, { type: 'tool-call' }>): Record<string, unknown> =>
  argumentsObject(call.custom === true ? wrapCustom(call.arguments) : call.arguments);
