/** A Responses request in the common form. */
import { AppError } from '../../contract/errors.ts';
import type { ChatRequest, Media, Message, Part, Tool, ToolChoice } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { flag, type Json, number, record, records, text } from '../shared/json.ts';
import { audioMime, mediaFrom } from '../shared/media.ts';
import { isWebSearch, searchLimits } from '../shared/search.ts';
import { unmarkSignature } from '../shared/signature.ts';
import { bundled, bundlePrefix } from '../shared/tools.ts';
import { unreadMembers } from '../shared/unread.ts';
import { requestShape } from './request-shape.ts';

const known = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'max_output_tokens',
  'temperature',
  'top_p',
  'text',
  'reasoning',
  'user',
]);

/** @throws AppError body_invalid naming the field; kept responses and items live at the upstream that made them. */
export function decodeRequest(
  body: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  if (typeof body.previous_response_id === 'string' || (body.conversation ?? null) !== null) {
    throw new AppError('previous_response_not_found');
  }
  const instructions = text(body.instructions);
  const format = record(record(body.text)?.format);
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : records(body.input);
  const later = items.filter(({ type }) => type === 'additional_tools').flatMap(({ tools }) => records(tools));
  const verbosity = text(record(body.text)?.verbosity);
  return {
    model: path.model ?? String(body.model),
    messages: joined([
      ...(instructions === null
        ? []
        : [{ role: 'system' as const, parts: [{ type: 'text' as const, text: instructions }] }]),
      ...items.flatMap(decodeItem),
    ]),
    tools: allowedOf(body.tool_choice, [...records(body.tools), ...later].flatMap(decodeTool)),
    toolChoice: decodeChoice(body.tool_choice),
    parallelToolCalls: flag(body.parallel_tool_calls),
    stream: path.stream,
    maxTokens: number(body.max_output_tokens),
    temperature: number(body.temperature),
    topP: number(body.top_p),
    topK: null,
    stop: [],
    seed: null,
    presencePenalty: null,
    frequencyPenalty: null,
    responseFormat: decodeFormat(format),
    reasoning: decodeReasoning(body),
    user: text(body.user),
    candidates: 1,
    dialect: 'openai-responses',
    extra: {
      ...extraFieldsOf(body, known),
      ...(verbosity === null ? {} : { verbosity }),
    },
    unread: unreadMembers(body, requestShape),
  };
}

export function decodeReasoning({ reasoning }: Json): ChatRequest['reasoning'] {
  const effort = text(record(reasoning)?.effort);
  return effort === null ? null : { effort, budget: null, includeThoughts: null };
}

function decodeItem(item: Record<string, unknown>): Message[] {
  switch (item.type) {
    case undefined:
    case 'message': {
      const { role } = item;
      const known = role === 'assistant' || role === 'system' || role === 'developer' ? role : 'user';
      return [{ role: known, parts: decodeContent(item.content) }];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const space = text(item.namespace);
      const name = text(item.name) ?? '';
      const custom = item.type === 'custom_tool_call';
      const call: Part = {
        type: 'tool-call',
        id: text(item.call_id) ?? '',
        name: bundled(space, name),
        arguments: text(custom ? item.input : item.arguments) ?? '',
        ...(custom ? { custom } : {}),
      };
      return [{ role: 'assistant', parts: [call] }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const result: Part = {
        type: 'tool-result',
        id: text(item.call_id) ?? '',
        name: null,
        content: decodeContent(item.output),
        isError: false,
      };
      return [{ role: 'tool', parts: [result] }];
    }
    case 'reasoning':
      return [{ role: 'assistant', parts: [decodeThought(item)] }];
    case 'additional_tools':
      return [];
    case 'item_reference':
      throw new AppError('item_reference_not_found', { id: String(item.id) });
    default:
      return [{ role: 'user', parts: [{ type: 'unknown', dialect: 'openai-responses', raw: item }] }];
  }
}

function decodeThought(item: Record<string, unknown>): Part {
  const sealed = text(item.encrypted_content);
  const found = sealed === null ? null : unmarkSignature(sealed, 'openai-responses');
  const signed = found?.origin === 'anthropic-messages' || found?.origin === 'gemini-generate';
  const words = [...records(item.summary), ...records(item.content)].map((part) => text(part.text) ?? '').join('\n\n');
  // A sealed thought of Anthropic's that has no words was redacted.
  const redacted = found !== null && (!signed || (words === '' && found.origin === 'anthropic-messages'));
  return {
    type: 'reasoning',
    text: words,
    signature: found !== null && !redacted ? found.signature : null,
    redacted: redacted ? found.signature : null,
    ...(text(item.id) === null ? {} : { id: String(item.id) }),
    ...(found === null ? {} : { origin: found.origin }),
  };
}

/** Thoughts, words and calls of one turn come as items of their own. */
function joined(messages: readonly Message[]): Message[] {
  const turns: Message[] = [];
  /** Parts of the last turn, while that is the assistant's. */
  let parts: Part[] | null = null;
  for (const message of messages) {
    if (message.role !== 'assistant') {
      parts = null;
      turns.push(message);
    } else if (parts === null) {
      parts = [...message.parts];
      turns.push({ ...message, parts });
    } else for (const part of message.parts) parts.push(part);
  }
  return turns;
}

function decodeContent(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return records(content).map(decodePart);
}

function decodePart(item: Record<string, unknown>): Part {
  switch (item.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
      return { type: 'text', text: text(item.text) ?? '' };
    case 'refusal':
      return { type: 'refusal', text: text(item.refusal) ?? '' };
    case 'input_image': {
      const url = text(item.image_url);
      const detail = text(item.detail);
      if (url === null) break;
      return { type: 'image', source: mediaFrom(url), ...(detail === null ? {} : { detail }) };
    }
    case 'input_audio': {
      const audio = record(item.input_audio) ?? item;
      const format = text(audio.format) ?? 'wav';
      const source: Media = { kind: 'base64', data: text(audio.data) ?? '', mimeType: audioMime(format) };
      return { type: 'audio', source, format };
    }
    case 'input_file': {
      const id = text(item.file_id);
      const url = text(item.file_data) ?? text(item.file_url);
      if (id === null && url === null) break;
      return {
        type: 'file',
        source: id !== null ? { kind: 'id', id } : mediaFrom(url ?? '', 'application/pdf'),
        name: text(item.filename),
      };
    }
  }
  return { type: 'unknown', dialect: 'openai-responses', raw: item };
}

const joinedWords = (first: string, second: string | null): string =>
  second === null ? first : `${first}\n\n${second}`;

export function decodeTool(tool: Record<string, unknown>): Tool[] {
  const name = text(tool.name) ?? text(tool.type) ?? '';
  const description = text(tool.description);
  switch (tool.type) {
    case 'function':
      return [{ kind: 'function', name, description, schema: tool.parameters ?? null, strict: flag(tool.strict) }];
    case 'custom':
      return [{ kind: 'custom', name, description, schema: null, strict: null, raw: tool }];
    case 'namespace': {
      const prefix = bundlePrefix(name);
      return records(tool.tools)
        .flatMap(decodeTool)
        .map((inner, index) => ({
          ...inner,
          name: prefix + inner.name,
          namespace: name,
          // What is said of the bundle has no place of its own elsewhere: its first tool says it.
          description:
            index === 0 && description !== null ? joinedWords(description, inner.description) : inner.description,
        }));
    }
    default:
      return [{ kind: 'provider', name, description, schema: null, strict: null, raw: tool, ...searchIn(tool) }];
  }
}

/** A preview of the search has no filters. */
const searchIn = (tool: Json): Pick<Tool, 'search'> =>
  isWebSearch(text(tool.type) ?? '')
    ? {
        search: searchLimits({
          allowedDomains: record(tool.filters)?.allowed_domains,
          location: tool.user_location,
          contextSize: tool.search_context_size,
        }),
      }
    : {};

/** A choice among some of the tools is expressed by offering those alone. */
function allowedOf(value: unknown, tools: readonly Tool[]): readonly Tool[] {
  const choice = record(value);
  if (choice?.type !== 'allowed_tools') return tools;
  const allowed = records(choice.tools);
  if (allowed.length === 0) return tools;
  const names = new Set([
    ...allowed.map(({ name, type }) => text(name) ?? text(type)),
    ...allowed.flatMap(decodeTool).map(({ name }) => name),
  ]);
  return tools.filter(({ name, namespace }) => names.has(name) || (namespace !== undefined && names.has(namespace)));
}

function decodeChoice(value: unknown): ToolChoice | null {
  if (value === 'auto' || value === 'none' || value === 'required') return value;
  const choice = record(value);
  const name = text(choice?.name);
  if (name !== null) return { name: bundled(text(choice?.namespace), name) };
  const mode = text(choice?.mode);
  return choice?.type === 'allowed_tools' && (mode === 'auto' || mode === 'required') ? mode : null;
}

function decodeFormat(format: Record<string, unknown> | null): ChatRequest['responseFormat'] {
  if (format?.type === 'json_object') return { type: 'json' };
  if (format?.type !== 'json_schema') return null;
  const description = text(format.description);
  return {
    type: 'schema',
    name: text(format.name) ?? 'answer',
    ...(description === null ? {} : { description }),
    schema: format.schema,
    strict: flag(format.strict),
  };
}
