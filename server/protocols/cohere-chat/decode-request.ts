import type { ChatRequest, Message, Part } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { flag, type Json, list, number, record, records, text } from '../shared/json.ts';
import { mediaFrom } from '../shared/media.ts';
import { functionTool } from '../shared/tools.ts';
import { turnsOf } from '../shared/turns.ts';
import { unreadMembers } from '../shared/unread.ts';
import { requestShape } from './request-shape.ts';

const known = new Set([
  'model',
  'messages',
  'tools',
  'tool_choice',
  'stream',
  'max_tokens',
  'temperature',
  'p',
  'k',
  'stop_sequences',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'thinking',
]);
const knownWithDocuments = new Set([...known, 'documents']);

/** @throws AppError body_invalid naming the field. */
export function decodeRequest(
  body: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  const documents = documentsIn(body.documents);
  return {
    model: path.model ?? String(body.model),
    messages: turnsOf(body).map(decodeMessage),
    tools: records(body.tools).map((tool) => functionTool(record(tool.function) ?? {}, flag(body.strict_tools))),
    toolChoice: body.tool_choice === 'REQUIRED' ? 'required' : body.tool_choice === 'NONE' ? 'none' : null,
    parallelToolCalls: null,
    stream: path.stream,
    maxTokens: number(body.max_tokens),
    temperature: number(body.temperature),
    topP: number(body.p),
    topK: number(body.k),
    stop: list(body.stop_sequences).filter((item): item is string => typeof item === 'string'),
    seed: number(body.seed),
    presencePenalty: number(body.presence_penalty),
    frequencyPenalty: number(body.frequency_penalty),
    responseFormat: decodeFormat(record(body.response_format)),
    reasoning: decodeReasoning(body),
    user: null,
    ...(documents === null ? {} : { documents }),
    candidates: 1,
    dialect: 'cohere-chat',
    extra: extraFieldsOf(body, documents === null ? known : knownWithDocuments),
    unread: unreadMembers(body, requestShape),
  };
}

/** @returns null where there are none, or what stands there is no list of them. */
function documentsIn(value: unknown): NonNullable<ChatRequest['documents']> | null {
  const documents = list(value);
  const isDocument = (one: unknown): one is string | Json => typeof one === 'string' || record(one) !== null;
  return documents.length > 0 && documents.every(isDocument) ? documents : null;
}

function decodeFormat(format: Json | null): ChatRequest['responseFormat'] {
  if (format?.type !== 'json_object') return null;
  const schema = format.json_schema ?? format.schema;
  return record(schema) === null ? { type: 'json' } : { type: 'schema', name: 'answer', schema, strict: null };
}

export function decodeReasoning(body: Json): ChatRequest['reasoning'] {
  const thinking = record(body.thinking);
  if (thinking === null) return null;
  const budget = thinking.type === 'disabled' ? 0 : (number(thinking.token_budget) ?? -1);
  return { effort: null, budget, includeThoughts: null };
}

function decodeMessage(message: Json): Message {
  const content = decodeContent(message.content);
  switch (message.role) {
    case 'tool': {
      const id = text(message.tool_call_id) ?? '';
      return { role: 'tool', parts: [{ type: 'tool-result', id, name: null, content, isError: false }] };
    }
    case 'assistant': {
      const plan = text(message.tool_plan);
      const calls = records(message.tool_calls).map((call): Part => {
        const value = record(call.function);
        const argumentText = text(value?.arguments) ?? '';
        return { type: 'tool-call', id: text(call.id) ?? '', name: text(value?.name) ?? '', arguments: argumentText };
      });
      return { role: 'assistant', parts: [...content, ...(plan === null ? [] : [words(plan)]), ...calls] };
    }
    case 'system':
    case 'developer':
      return { role: message.role, parts: content };
    default:
      return { role: 'user', parts: content };
  }
}

const words = (value: string): Part => ({ type: 'text', text: value });

function decodeContent(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [words(content)];
  return records(content).map((item): Part => {
    switch (item.type) {
      case 'text':
        return words(text(item.text) ?? '');
      case 'thinking':
        return { type: 'reasoning', text: text(item.thinking) ?? '', signature: null, redacted: null };
      case 'image_url': {
        const image = record(item.image_url);
        const url = text(image?.url) ?? text(item.image_url);
        const detail = text(image?.detail);
        if (url !== null) return { type: 'image', source: mediaFrom(url), ...(detail === null ? {} : { detail }) };
        break;
      }
      // What tools found comes as documents: text, or an object of their own.
      case 'document': {
        const document = record(item.document);
        const data = document?.data ?? document;
        return words(typeof data === 'string' ? data : JSON.stringify(data ?? {}));
      }
    }
    return { type: 'unknown', dialect: 'cohere-chat', raw: item };
  });
}
