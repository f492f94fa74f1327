import type { ChatRequest, Message, Part, Tool, ToolChoice } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { flag, type Json, list, number, record, records, text } from '../shared/json.ts';
import { audioMime, mediaFrom } from '../shared/media.ts';
import { searchLimits } from '../shared/search.ts';
import { unmarkSignature } from '../shared/signature.ts';
import { functionTool } from '../shared/tools.ts';
import { turnsOf } from '../shared/turns.ts';
import { unreadMembers } from '../shared/unread.ts';
import { requestShape } from './request-shape.ts';

const known = new Set([
  'model',
  'messages',
  'tools',
  'functions',
  'web_search_options',
  'tool_choice',
  'function_call',
  'parallel_tool_calls',
  'stream',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'reasoning_effort',
  'reasoning',
  'thinking',
  'user',
  'n',
]);

/** @throws AppError body_invalid naming the field. */
export function decodeRequest(
  body: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  const stop = typeof body.stop === 'string' ? [body.stop] : list(body.stop).filter((item) => typeof item === 'string');
  return {
    model: path.model ?? String(body.model),
    messages: turnsOf(body).map(decodeMessage),
    ...decodeTools(body),
    parallelToolCalls: flag(body.parallel_tool_calls),
    stream: path.stream,
    maxTokens: number(body.max_completion_tokens) ?? number(body.max_tokens),
    temperature: number(body.temperature),
    topP: number(body.top_p),
    topK: number(body.top_k),
    stop: stop as string[],
    seed: number(body.seed),
    presencePenalty: number(body.presence_penalty),
    frequencyPenalty: number(body.frequency_penalty),
    responseFormat: decodeFormat(record(body.response_format)),
    reasoning: decodeReasoning(body),
    user: text(body.user),
    candidates: number(body.n) ?? 1,
    dialect: 'openai-chat',
    extra: { ...extraFieldsOf(body, known), ...notUnderstood(body) },
    unread: unreadMembers(body, requestShape),
  };
}

/** Choices and formats of another kind than the common ones: of relatives, or newer than this build. */
function notUnderstood({ tool_choice: choice, response_format: format }: Json): Record<string, unknown> {
  const isChoice = (choice ?? null) !== null && decodeChoice(choice) === null && !isAllowedTools(choice);
  const isFormat = record(format) !== null && record(format)?.type !== 'text' && decodeFormat(record(format)) === null;
  return { ...(isChoice ? { tool_choice: choice } : {}), ...(isFormat ? { response_format: format } : {}) };
}

const isAllowedTools = (choice: unknown): boolean => record(record(choice)?.allowed_tools) !== null;

function decodeMessage(message: Record<string, unknown>): Message {
  const role = message.role;
  const name = text(message.name);
  const named = name === null ? {} : { name };
  if (role === 'tool' || role === 'function') {
    const result: Part = {
      type: 'tool-result',
      id: text(message.tool_call_id) ?? name ?? '',
      name,
      content: decodeContent(message.content),
      isError: false,
    };
    return { role: 'tool', parts: [result] };
  }
  if (role === 'assistant') return { role, parts: decodeAssistant(message), ...named };
  const known = role === 'system' || role === 'developer' ? role : 'user';
  return { role: known, parts: decodeContent(message.content), ...named };
}

function decodeAssistant(message: Record<string, unknown>): Part[] {
  const parts: Part[] = [...decodeThoughts(message), ...decodeContent(message.content)];
  const refusal = text(message.refusal);
  if (refusal !== null) parts.push({ type: 'refusal', text: refusal });
  const legacy = record(message.function_call);
  if (legacy !== null) {
    const name = text(legacy.name) ?? '';
    parts.push({ type: 'tool-call', id: name, name, arguments: text(legacy.arguments) ?? '' });
  }
  for (const call of records(message.tool_calls)) parts.push(decodeCall(call));
  return parts;
}

function decodeCall(call: Record<string, unknown>): Part {
  const id = text(call.id) ?? '';
  const custom = record(call.custom);
  if (custom !== null) {
    return { type: 'tool-call', id, name: text(custom.name) ?? '', arguments: text(custom.input) ?? '', custom: true };
  }
  const called = record(call.function) ?? {};
  const google = record(record(call.extra_content)?.google);
  const signature = text(google?.thought_signature);
  return {
    type: 'tool-call',
    id,
    name: text(called.name) ?? '',
    arguments: typeof called.arguments === 'string' ? called.arguments : JSON.stringify(called.arguments ?? {}),
    ...(signature === null ? {} : { signature, origin: 'gemini-generate' as const }),
  };
}

/** Thoughts as the dialects' relatives send them: `reasoning_details`, `thinking_blocks`, `reasoning_content`. */
function decodeThoughts(message: Record<string, unknown>): Part[] {
  const details = records(message.reasoning_details);
  if (details.length > 0) {
    return details.map((detail) => {
      const marked = text(detail.signature) ?? text(detail.data);
      const found = marked === null ? null : unmarkSignature(marked, 'openai-chat');
      const encrypted = detail.type === 'reasoning.encrypted';
      return {
        type: 'reasoning',
        text: text(detail.text) ?? text(detail.summary) ?? '',
        signature: encrypted ? null : (found?.signature ?? null),
        redacted: encrypted ? (found?.signature ?? null) : null,
        ...(text(detail.id) === null ? {} : { id: String(detail.id) }),
        ...(found === null ? {} : { origin: found.origin }),
      };
    });
  }
  const words = text(message.reasoning_content) ?? text(message.reasoning);
  return words === null ? [] : [{ type: 'reasoning', text: words, signature: null, redacted: null }];
}

function decodeContent(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return records(content).map((item) => {
    const part = decodePart(item);
    const cache = record(item.cache_control);
    return cache === null ? part : { ...part, cache: cache.ttl === '1h' ? '1h' : '5m' };
  });
}

function decodePart(item: Record<string, unknown>): Part {
  switch (item.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: text(item.text) ?? '' };
    case 'refusal':
      return { type: 'refusal', text: text(item.refusal) ?? '' };
    case 'image_url': {
      const image = record(item.image_url);
      const url = text(image?.url) ?? text(item.image_url);
      const detail = text(image?.detail);
      if (url === null) break;
      return { type: 'image', source: mediaFrom(url), ...(detail === null ? {} : { detail }) };
    }
    case 'input_audio': {
      const audio = record(item.input_audio);
      const format = text(audio?.format) ?? 'wav';
      return {
        type: 'audio',
        source: { kind: 'base64', data: text(audio?.data) ?? '', mimeType: audioMime(format) },
        format,
      };
    }
    case 'file': {
      const file = record(item.file);
      const id = text(file?.file_id);
      const data = text(file?.file_data);
      if (id === null && data === null) break;
      return {
        type: 'file',
        source: id !== null ? { kind: 'id', id } : mediaFrom(data ?? '', 'application/pdf'),
        name: text(file?.filename),
      };
    }
  }
  return { type: 'unknown', dialect: 'openai-chat', raw: item };
}

/** A choice among some of the tools is expressed by offering those alone. */
function decodeTools(body: Json): Pick<ChatRequest, 'tools' | 'toolChoice'> {
  const search = record(body.web_search_options);
  const tools = [
    ...records(body.tools).map(decodeTool),
    ...records(body.functions).map(decodeFunction),
    ...(search === null ? [] : [searchTool(search)]),
  ];
  const choice = body.tool_choice ?? body.function_call;
  const allowed = record(record(choice)?.allowed_tools);
  if (allowed === null) return { tools, toolChoice: decodeChoice(choice) };
  const names = new Set(records(allowed.tools).map((tool) => decodeTool(tool).name));
  return {
    tools: tools.filter(({ name }) => names.has(name)),
    toolChoice: allowed.mode === 'required' ? 'required' : 'auto',
  };
}

function decodeTool(tool: Record<string, unknown>): Tool {
  const called = record(tool.function);
  if (tool.type === 'function' && called !== null) return decodeFunction(called);
  const custom = record(tool.custom);
  if (tool.type === 'custom' && custom !== null) {
    return {
      kind: 'custom',
      name: text(custom.name) ?? '',
      description: text(custom.description),
      schema: null,
      strict: null,
      raw: tool,
    };
  }
  return { kind: 'provider', name: text(tool.type) ?? '', description: null, schema: null, strict: null, raw: tool };
}

/** This dialect asks for a search beside its tools. */
const searchTool = (options: Json): Tool => ({
  kind: 'provider',
  name: 'web_search',
  description: null,
  schema: null,
  strict: null,
  raw: { web_search_options: options },
  // The place lies one level deeper than in the other dialects.
  search: searchLimits({
    location: record(options.user_location)?.approximate,
    contextSize: options.search_context_size,
  }),
});

const decodeFunction = (called: Record<string, unknown>): Tool => ({
  ...functionTool(called, flag(called.strict)),
  ...(record(called.cache_control) === null ? {} : { cache: '5m' as const }),
});

function decodeChoice(value: unknown): ToolChoice | null {
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  const choice = record(value);
  if (choice === null) return null;
  const name = text(record(choice.function)?.name) ?? text(record(choice.custom)?.name) ?? text(choice.name);
  return name === null ? null : { name };
}

function decodeFormat(format: Record<string, unknown> | null): ChatRequest['responseFormat'] {
  if (format?.type === 'json_object') return { type: 'json' };
  const schema = record(format?.json_schema);
  if (format?.type !== 'json_schema' || schema === null) return null;
  const description = text(schema.description);
  return {
    type: 'schema',
    name: text(schema.name) ?? 'answer',
    ...(description === null ? {} : { description }),
    schema: schema.schema,
    strict: flag(schema.strict),
  };
}

/** OpenAI's effort, OpenRouter's `reasoning`, and the `thinking` of several Chinese providers. */
export function decodeReasoning(body: Json): ChatRequest['reasoning'] {
  const nested = record(body.reasoning);
  const thinking = record(body.thinking);
  const effort = text(body.reasoning_effort) ?? text(nested?.effort);
  const budget =
    number(nested?.max_tokens) ??
    (thinking?.type === 'disabled' ? 0 : (number(thinking?.budget_tokens) ?? (thinking === null ? null : -1)));
  const exclude = flag(nested?.exclude);
  if (effort === null && budget === null && exclude === null) return null;
  return { effort, budget, includeThoughts: exclude === null ? null : !exclude };
}
