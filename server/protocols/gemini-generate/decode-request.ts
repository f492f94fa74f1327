/** A generateContent request in the common form; both spellings of its members are legal. */
import { AppError } from '../../contract/errors.ts';
import type { ChatRequest, Media, Message, Part, Tool, ToolChoice } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { flag, type Json, list, number, record, records, text } from '../shared/json.ts';
import { audioFormat, mediaFrom, pictureType } from '../shared/media.ts';
import { OpenCalls } from '../shared/open-calls.ts';
import { searchLimits } from '../shared/search.ts';
import { unmarkSignature } from '../shared/signature.ts';
import { unreadMembers } from '../shared/unread.ts';
import { requestShape } from './request-shape.ts';

const known = new Set(['model', 'contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'stream']);

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Only this dialect's own members are respelled: what stands in arguments and schemas is the client's. */
const opaque = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);

function respelled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respelled);
  const object = record(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([key, member]) => {
      const name = camel(key);
      return [name, opaque.has(name) ? member : respelled(member)];
    }),
  );
}

/** @throws AppError body_invalid naming the field. */
export function decodeRequest(
  input: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  const body = respelled(input) as Record<string, unknown>;
  if (!Array.isArray(body.contents)) throw new AppError('body_invalid', { detail: 'contents must be a list' });
  const config = record(body.generationConfig) ?? {};
  const calling = record(record(body.toolConfig)?.functionCallingConfig);
  const system = records(record(body.systemInstruction)?.parts).map(decodePart);
  const ids = new CallIds();
  const max = number(config.maxOutputTokens);
  return {
    model: path.model ?? String(body.model),
    messages: [
      ...(system.length === 0 ? [] : [{ role: 'system' as const, parts: system }]),
      ...records(body.contents).flatMap((content) => decodeContent(content, ids)),
    ],
    tools: records(body.tools).flatMap(decodeTools),
    toolChoice: decodeChoice(calling),
    parallelToolCalls: null,
    stream: path.stream,
    maxTokens: max,
    temperature: number(config.temperature),
    topP: number(config.topP),
    topK: number(config.topK),
    stop: list(config.stopSequences).filter((item): item is string => typeof item === 'string'),
    seed: number(config.seed),
    presencePenalty: number(config.presencePenalty),
    frequencyPenalty: number(config.frequencyPenalty),
    responseFormat: decodeFormat(config),
    reasoning: thinkingOf(record(config.thinkingConfig)),
    // Thoughts are part of it.
    ...(max === null ? {} : { ceiling: max }),
    user: null,
    candidates: number(config.candidateCount) ?? 1,
    dialect: 'gemini-generate',
    extra: extraFieldsOf(body, known),
    unread: unreadMembers(body, requestShape),
  };
}

/** Calls need not carry ids here: results belong to the calls of their name, in order. */
class CallIds {
  private readonly open = new OpenCalls();
  private count = 0;

  called(name: string, clientId: string | null): string {
    const id = clientId ?? `call_${this.count}_${name}`;
    this.count++;
    this.open.add(id, name);
    return id;
  }

  answered(name: string, clientId: string | null): string {
    if (clientId === null) return this.open.endFirst(name) ?? `call_${name}`;
    this.open.endCall(clientId);
    return clientId;
  }
}

function decodeContent(content: Record<string, unknown>, ids: CallIds): Message[] {
  const assistant = content.role === 'model';
  const parts: Part[] = [];
  const results: Message[] = [];
  for (const part of records(content.parts)) {
    const call = record(part.functionCall);
    const response = record(part.functionResponse);
    if (call !== null) {
      const name = text(call.name) ?? '';
      const sealed = text(part.thoughtSignature);
      parts.push({
        type: 'tool-call',
        id: ids.called(name, text(call.id)),
        name,
        arguments: JSON.stringify(call.args ?? {}),
        ...(sealed === null ? {} : unmarkSignature(sealed, 'gemini-generate')),
      });
    } else if (response !== null) {
      results.push({ role: 'tool', parts: [decodeResult(response, ids)] });
    } else add(parts, decodePart(part), assistant);
  }
  if (parts.length === 0 && results.length > 0) return results;
  return [...results, { role: assistant ? 'assistant' : 'user', parts: parts }];
}

/** What was streamed comes back piece by piece, and the signature of a thought with the last one alone. */
function add(parts: Part[], part: Part, assistant: boolean): void {
  const last = parts.at(-1);
  const goesOn = last?.type === 'reasoning' && last.signature === null && last.redacted === null;
  if (part.type === 'reasoning' && goesOn) parts[parts.length - 1] = { ...part, text: last.text + part.text };
  else if (assistant && part.type === 'text' && last?.type === 'text')
    parts[parts.length - 1] = { ...part, text: last.text + part.text };
  else parts.push(part);
}

function decodeResult(response: Record<string, unknown>, ids: CallIds): Part {
  const name = text(response.name) ?? '';
  const decoded = record(response.response) ?? {};
  const failed = decoded.error !== undefined && decoded.output === undefined && decoded.result === undefined;
  const value = decoded.output ?? decoded.result ?? decoded.error ?? decoded;
  return {
    type: 'tool-result',
    id: ids.answered(name, text(response.id)),
    name,
    content: [
      { type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) },
      ...records(response.parts).map(decodePart),
    ],
    isError: failed,
  };
}

function decodePart(part: Record<string, unknown>): Part {
  const sealed = text(part.thoughtSignature);
  const words = typeof part.text === 'string' ? part.text : null;
  if (part.thought === true || (sealed !== null && (words === null || words === ''))) {
    const found = sealed === null ? null : unmarkSignature(sealed, 'gemini-generate');
    const encrypted = found?.origin === 'openai-responses';
    return {
      type: 'reasoning',
      text: words ?? '',
      signature: encrypted ? null : (found?.signature ?? null),
      redacted: encrypted ? found.signature : null,
      ...(found === null ? {} : { origin: found.origin }),
    };
  }
  if (words !== null) return { type: 'text', text: words };
  const inline = record(part.inlineData);
  if (inline !== null) {
    const stated = text(inline.mimeType) ?? 'application/octet-stream';
    const data = text(inline.data) ?? '';
    const mimeType = stated.startsWith('image/') ? pictureType(data, stated) : stated;
    return mediaPart({ kind: 'base64', data, mimeType }, mimeType, text(inline.displayName));
  }
  const file = record(part.fileData);
  const address = text(file?.fileUri);
  if (address !== null) {
    const mimeType = text(file?.mimeType);
    return mediaPart(mediaFrom(address, mimeType), mimeType ?? '', text(file?.displayName));
  }
  return { type: 'unknown', dialect: 'gemini-generate', raw: part };
}

function mediaPart(source: Media, mimeType: string, name: string | null): Part {
  if (mimeType.startsWith('image/')) return { type: 'image', source };
  if (mimeType.startsWith('audio/')) return { type: 'audio', source, format: audioFormat(mimeType) };
  return { type: 'file', source, name };
}

function decodeTools(tool: Record<string, unknown>): Tool[] {
  const own = records(tool.functionDeclarations).map(
    (declared): Tool => ({
      kind: 'function',
      name: text(declared.name) ?? '',
      description: text(declared.description),
      schema: declared.parametersJsonSchema ?? plainSchema(declared.parameters) ?? null,
      strict: null,
    }),
  );
  const hosted = Object.keys(tool)
    .filter((name) => name !== 'functionDeclarations')
    .map((name): Tool => {
      const known = name === 'googleSearch' ? 'web_search' : name;
      return {
        ...{ kind: 'provider', name: known, description: null, schema: null, strict: null, raw: tool },
        ...(known === 'web_search'
          ? { search: searchLimits({ blockedDomains: record(tool[name])?.excludeDomains }) }
          : {}),
      };
    });
  return [...own, ...hosted];
}

/** OpenAPI's upper-case types and `nullable` as JSON Schema has them. */
export function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  const object = record(schema);
  if (object === null) return schema;
  const plain: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) {
    if (key === 'propertyOrdering' || key === 'nullable') continue;
    if (key === 'type' && typeof value === 'string') {
      const type = value.toLowerCase();
      plain.type = object.nullable === true ? [type, 'null'] : type;
    } else if (key === 'properties' && record(value) !== null) {
      const members = Object.entries(record(value) ?? {});
      plain.properties = Object.fromEntries(members.map(([name, member]) => [name, plainSchema(member)]));
    } else plain[key] = key === 'enum' || key === 'example' || key === 'default' ? value : plainSchema(value);
  }
  return plain;
}

function decodeChoice(calling: Record<string, unknown> | null): ToolChoice | null {
  const allowed = list(calling?.allowedFunctionNames);
  switch (calling?.mode) {
    case 'NONE':
      return 'none';
    case 'ANY':
      return allowed.length === 1 ? { name: text(allowed[0]) ?? '' } : 'required';
    case 'AUTO':
    case 'VALIDATED':
      return 'auto';
    default:
      return null;
  }
}

function decodeFormat(config: Record<string, unknown>): ChatRequest['responseFormat'] {
  const schema = config.responseJsonSchema ?? plainSchema(config.responseSchema) ?? null;
  if (schema !== null) return { type: 'schema', name: 'answer', schema, strict: null };
  return config.responseMimeType === 'application/json' ? { type: 'json' } : null;
}

function thinkingOf(thinking: Record<string, unknown> | null): ChatRequest['reasoning'] {
  if (thinking === null) return null;
  return {
    effort: text(thinking.thinkingLevel)?.toLowerCase() ?? null,
    budget: number(thinking.thinkingBudget),
    includeThoughts: flag(thinking.includeThoughts),
  };
}
