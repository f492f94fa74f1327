/** The common form as a chat completions request. */
import type { ChatRequest, Message, Part, Tool } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { effortOf } from '../shared/effort.ts';
import { carryExtras } from '../shared/extras.ts';
import { present } from '../shared/json.ts';
import { mediaUrl } from '../shared/media.ts';
import { markSignature } from '../shared/signatures.ts';
import { customSchema, portableId, portableName } from '../shared/tools.ts';

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
  'web_search_options',
]);

/** Reasoning models refuse the old name of the limit and every sampling member. */
const reasoningModel = /^(o\d|gpt-5)/;

export function encodeRequest(request: ChatRequest, dropped: Dropped): Record<string, unknown> {
  const thinks = reasoningModel.test(request.model) && !request.model.includes('chat');
  const sampling = {
    temperature: request.temperature,
    top_p: request.topP,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
  };
  if (request.topK !== null) dropped.push('/top_k: not known to the upstream');
  if (thinks) {
    for (const [key, value] of Object.entries(sampling))
      if (value !== null) dropped.push(`/${key}: refused by reasoning models`);
  }
  const tools = encodeTools(request.tools, dropped);
  const same = request.dialect === 'openai-chat';
  return present({
    model: request.model,
    messages: encodeMessages(request, dropped),
    stream: request.stream ? true : undefined,
    ...(thinks ? { max_completion_tokens: request.maxTokens } : { max_tokens: request.maxTokens, ...sampling }),
    n: request.candidates > 1 ? request.candidates : undefined,
    stop: request.stop.length === 0 ? undefined : request.stop.slice(0, 4),
    seed: request.seed,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
    response_format: encodeFormat(request.responseFormat),
    reasoning_effort: effortOf(request.reasoning),
    user: request.user,
    ...(same ? request.extra : carryExtras(request, carried, dropped)),
  });
}

function encodeChoice({ toolChoice, tools }: ChatRequest): unknown {
  if (toolChoice === null || typeof toolChoice === 'string') return toolChoice;
  const custom = tools.some((tool) => tool.kind === 'custom' && tool.name === toolChoice.name && isChatTool(tool));
  const name = portableName(toolChoice.name);
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

const isChatTool = (tool: Tool): boolean => (tool.raw as { custom?: unknown } | undefined)?.custom !== undefined;

function encodeTools(tools: readonly Tool[], dropped: Dropped): Record<string, unknown>[] {
  return tools.flatMap((tool, index): Record<string, unknown>[] => {
    if (tool.kind === 'provider') {
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

function encodeMessages(request: ChatRequest, dropped: Dropped): Record<string, unknown>[] {
  return request.messages.flatMap((message, index) => encodeMessage(message, `/messages/${index}`, dropped));
}

function encodeMessage(message: Message, path: string, dropped: Dropped): Record<string, unknown>[] {
  const named = message.name === undefined ? {} : { name: message.name };
  switch (message.role) {
    case 'assistant':
      return [{ role: 'assistant', ...encodeAssistant(message.parts, path, dropped), ...named }];
    case 'system':
    case 'developer':
      return [{ role: message.role, content: contentOf(message.parts, path, dropped), ...named }];
    default: {
      // Results stand right behind the calls they answer; what else the turn says follows them.
      const results = message.parts.filter((part) => part.type === 'tool-result');
      const rest = message.parts.filter((part) => part.type !== 'tool-result');
      const pictures: Part[] = [];
      const told: Record<string, unknown>[] = results.map((part) => encodeResult(part, path, dropped, pictures));
      const said = [...pictures, ...rest];
      if (said.length > 0 || results.length === 0)
        told.push({ role: 'user', content: contentOf(said, path, dropped), ...named });
      return told;
    }
  }
}

/** A tool message holds text alone; pictures follow in a message of the user's. */
function encodeResult(
  part: Extract<Part, { type: 'tool-result' }>,
  path: string,
  dropped: Dropped,
  pictures: Part[],
): Record<string, unknown> {
  const words: string[] = [];
  for (const item of part.content) {
    if (item.type === 'text') words.push(item.text);
    else if (item.type === 'image' || item.type === 'file') pictures.push(item);
    else dropped.push(`${path}: ${item.type} in a tool result`);
  }
  if (words.length === 0 && pictures.length > 0) words.push('(see the attachment below)');
  const content = words.join('\n');
  return { role: 'tool', tool_call_id: portableId(part.id), content: part.isError ? `Error: ${content}` : content };
}

function encodeAssistant(parts: readonly Part[], path: string, dropped: Dropped): Record<string, unknown> {
  const calls: Record<string, unknown>[] = [];
  const details: Record<string, unknown>[] = [];
  const said: Part[] = [];
  let thoughts = '';
  let refusal: string | null = null;
  for (const part of parts) {
    switch (part.type) {
      case 'tool-call':
        calls.push(encodeCall(part));
        break;
      case 'reasoning':
        thoughts += part.text;
        if (part.origin === 'openai-chat') details.push(reasoningDetail(part));
        else if (part.signature !== null || part.redacted !== null)
          dropped.push(`${path}: a signature that belongs to another provider`);
        break;
      case 'refusal':
        refusal = (refusal ?? '') + part.text;
        break;
      default:
        said.push(part);
    }
  }
  return present({
    content:
      said.length === 0 ? (calls.length > 0 || refusal !== null ? undefined : '') : contentOf(said, path, dropped),
    refusal,
    tool_calls: calls.length === 0 ? undefined : calls,
    reasoning_content: thoughts === '' ? undefined : thoughts,
    reasoning_details: details.length === 0 ? undefined : details,
  });
}

export const encodeCall = (part: Extract<Part, { type: 'tool-call' }>): Record<string, unknown> =>
  part.custom === true
    ? { id: portableId(part.id), type: 'custom', custom: { name: portableName(part.name), input: part.arguments } }
    : {
        id: portableId(part.id),
        type: 'function',
        function: { name: portableName(part.name), arguments: part.arguments === '' ? '{}' : part.arguments },
        ...(part.signature !== undefined && part.origin === 'gemini-generate'
          ? { extra_content: { google: { thought_signature: part.signature } } }
          : {}),
      };

/** OpenRouter's form, which clients that know it send back. */
export function reasoningDetail(part: Extract<Part, { type: 'reasoning' }>): Record<string, unknown> {
  const id = part.id === undefined ? {} : { id: part.id };
  if (part.redacted !== null) {
    return { type: 'reasoning.encrypted', data: markSignature(part.redacted, part.origin, 'openai-chat'), ...id };
  }
  return present({
    type: 'reasoning.text',
    text: part.text,
    signature: part.signature === null ? undefined : markSignature(part.signature, part.origin, 'openai-chat'),
    ...id,
  });
}

/** One text alone is a string, which every upstream understands. */
function contentOf(parts: readonly Part[], path: string, dropped: Dropped): unknown {
  const items = parts.flatMap((part, index) => encodePart(part, `${path}/content/${index}`, dropped));
  if (items.length === 0) return '';
  if (items.every((item) => item.type === 'text' && item.cache_control === undefined)) {
    return items.map((item) => item.text).join(items.length > 1 ? '\n' : '');
  }
  return items;
}

function encodePart(part: Part, path: string, dropped: Dropped): Record<string, unknown>[] {
  const cache = part.cache === undefined ? {} : { cache_control: { type: 'ephemeral' } };
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...cache }];
    case 'image':
      return [{ type: 'image_url', image_url: present({ url: mediaUrl(part.source), detail: part.detail }), ...cache }];
    case 'audio':
      if (part.source.kind === 'base64')
        return [{ type: 'input_audio', input_audio: { data: part.source.data, format: part.format } }];
      break;
    case 'file':
      if (part.source.kind === 'id') return [{ type: 'file', file: { file_id: part.source.id } }];
      return [
        {
          type: 'file',
          file: { filename: part.name ?? 'file.pdf', file_data: mediaUrl(part.source) },
        },
      ];
    case 'refusal':
      return [{ type: 'text', text: part.text }];
    case 'unknown':
      if (part.dialect === 'openai-chat') return [part.raw as Record<string, unknown>];
      break;
  }
  dropped.push(`${path}: ${part.type} cannot be told to the upstream`);
  return [];
}
