import type { ChatRequest, Message, Part } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { type Json, list, number, record, records, text } from '../shared/json.ts';
import { pictureType } from '../shared/media.ts';
import { OpenCalls } from '../shared/open-calls.ts';
import { functionTool } from '../shared/tools.ts';
import { turnsOf } from '../shared/turns.ts';
import { unreadMembers } from '../shared/unread.ts';
import { requestShape } from './request-shape.ts';

const known = new Set(['model', 'messages', 'tools', 'format', 'options', 'stream', 'think']);
const knownOptions = new Set([
  'num_predict',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
]);

/** @throws AppError body_invalid naming the field. */
export function decodeRequest(
  body: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  const options = record(body.options) ?? {};
  const others = extraFieldsOf(options, knownOptions);
  const max = number(options.num_predict);
  return {
    model: path.model ?? String(body.model),
    messages: decodeMessages(turnsOf(body)),
    tools: records(body.tools).map((tool) => functionTool(record(tool.function) ?? {}, null)),
    toolChoice: null,
    parallelToolCalls: null,
    stream: path.stream,
    // Below nothing means without end.
    maxTokens: max !== null && max > 0 ? max : null,
    temperature: number(options.temperature),
    topP: number(options.top_p),
    topK: number(options.top_k),
    stop:
      typeof options.stop === 'string' ? [options.stop] : list(options.stop).filter((word) => typeof word === 'string'),
    seed: number(options.seed),
    presencePenalty: number(options.presence_penalty),
    frequencyPenalty: number(options.frequency_penalty),
    responseFormat: decodeFormat(body.format),
    reasoning: decodeThink(body.think),
    // Thoughts are part of it.
    ...(max !== null && max > 0 ? { ceiling: max } : {}),
    user: null,
    candidates: 1,
    dialect: 'ollama-chat',
    extra: { ...extraFieldsOf(body, known), ...(Object.keys(others).length === 0 ? {} : { options: others }) },
    unread: unreadMembers(body, requestShape),
  };
}

function decodeFormat(format: unknown): ChatRequest['responseFormat'] {
  if (format === 'json') return { type: 'json' };
  return record(format) === null ? null : { type: 'schema', name: 'answer', schema: format, strict: null };
}

function decodeThink(think: unknown): ChatRequest['reasoning'] {
  if (typeof think === 'boolean') return { effort: null, budget: think ? -1 : 0, includeThoughts: null };
  return text(think) === null ? null : { effort: text(think), budget: null, includeThoughts: null };
}

/** Calls need no id here: results belong to them by name, or in order. */
function decodeMessages(messages: readonly Json[]): Message[] {
  const open = new OpenCalls();
  let calls = 0;
  const idFor = (message: Json, name: string | null): string => {
    const clientId = text(message.tool_call_id);
    if (clientId === null) return open.endFirst(name) ?? `call_${calls++}`;
    open.endCall(clientId);
    return clientId;
  };
  return messages.map((message): Message => {
    const content = decodeContent(message);
    switch (message.role) {
      case 'tool': {
        const name = text(message.tool_name) ?? text(message.name);
        return {
          role: 'tool',
          parts: [{ type: 'tool-result', id: idFor(message, name), name, content, isError: false }],
        };
      }
      case 'assistant': {
        const thought = text(message.thinking);
        const decoded = records(message.tool_calls).map((call): Part => {
          const { name, arguments: input } = record(call.function) ?? {};
          const id = text(call.id) ?? `call_${calls++}`;
          open.add(id, text(name) ?? '');
          return { type: 'tool-call', id, name: text(name) ?? '', arguments: JSON.stringify(input ?? {}) };
        });
        const thoughts: Part[] =
          thought === null ? [] : [{ type: 'reasoning', text: thought, signature: null, redacted: null }];
        return { role: 'assistant', parts: [...thoughts, ...content, ...decoded] };
      }
      case 'system':
        return { role: 'system', parts: content };
      default:
        return { role: 'user', parts: content };
    }
  });
}

function decodeContent(message: Json): Part[] {
  const words = text(message.content);
  const images = list(message.images).flatMap((data): Part[] => {
    if (typeof data !== 'string') return [];
    // Its kind is given nowhere else.
    return [{ type: 'image', source: { kind: 'base64', data, mimeType: pictureType(data, 'image/png') } }];
  });
  return [...(words === null ? [] : [{ type: 'text' as const, text: words }]), ...images];
}
