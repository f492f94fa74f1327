import type { ChatRequest, Message, Part, SearchLimits, Tool, ToolChoice } from '../canonical.ts';
import { extraFieldsOf } from '../shared/extra-fields.ts';
import { flag, type Json, list, number, record, records, text } from '../shared/json.ts';
import { pictureType } from '../shared/media.ts';
import { isWebSearch, searchLimits } from '../shared/search.ts';
import { unmarkSignature } from '../shared/signature.ts';
import { turnsOf } from '../shared/turns.ts';
import { unreadMembers } from '../shared/unread.ts';
import { readCitations } from './citations.ts';
import { clientTool } from './client-tools.ts';
import { requestShape } from './request-shape.ts';

const known = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
]);

/** @throws AppError body_invalid naming the field. */
export function decodeRequest(
  body: Json,
  path: { readonly model: string | null; readonly stream: boolean },
): ChatRequest {
  const system = partsOf(body.system);
  const choice = record(body.tool_choice);
  return {
    model: path.model ?? String(body.model),
    messages: [
      ...(system.length === 0 ? [] : [{ role: 'system' as const, parts: system }]),
      ...turnsOf(body).flatMap(decodeMessage),
    ],
    tools: records(body.tools).map(decodeTool),
    toolChoice: decodeChoice(choice),
    parallelToolCalls: flag(choice?.disable_parallel_tool_use) === true ? false : null,
    stream: path.stream,
    maxTokens: number(body.max_tokens),
    temperature: number(body.temperature),
    topP: number(body.top_p),
    topK: number(body.top_k),
    stop: list(body.stop_sequences).filter((item): item is string => typeof item === 'string'),
    seed: null,
    presencePenalty: null,
    frequencyPenalty: null,
    responseFormat: decodeFormat(body),
    reasoning: decodeReasoning(body),
    user: text(record(body.metadata)?.user_id),
    candidates: 1,
    dialect: 'anthropic-messages',
    extra: extraFieldsOf(body, known),
    unread: unreadMembers(body, requestShape),
  };
}

/** Tool results become messages of their own in front of what else the turn says. */
function decodeMessage(message: Record<string, unknown>): Message[] {
  const parts = partsOf(message.content);
  if (message.role === 'assistant') return [{ role: 'assistant', parts }];
  if (message.role === 'system') return [{ role: 'system', parts }];
  const results = parts.filter((part) => part.type === 'tool-result');
  const rest = parts.filter((part) => part.type !== 'tool-result');
  const toolMessages: Message[] = results.map((part) => ({ role: 'tool', parts: [part] }));
  if (rest.length > 0 || results.length === 0) toolMessages.push({ role: 'user', parts: rest });
  return toolMessages;
}

function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return records(content).map((block) => {
    const part = decodeBlock(block);
    const cache = record(block.cache_control);
    return cache === null ? part : { ...part, cache: cache.ttl === '1h' ? '1h' : '5m' };
  });
}

function decodeBlock(block: Record<string, unknown>): Part {
  const unknown: Part = { type: 'unknown', dialect: 'anthropic-messages', raw: block };
  switch (block.type) {
    case 'text': {
      const citations = readCitations(block.citations);
      return { type: 'text', text: text(block.text) ?? '', ...(citations.length === 0 ? {} : { citations }) };
    }
    case 'image': {
      const source = sourceOf(record(block.source), 'image/png');
      return source === null || source.kind === 'id' ? unknown : { type: 'image', source };
    }
    case 'document': {
      const source = record(block.source);
      if (source?.type === 'text') return { type: 'text', text: documentText(block, text(source.data) ?? '') };
      if (source?.type === 'content') {
        const words = partsOf(source.content).map((part) => (part.type === 'text' ? part.text : ''));
        return { type: 'text', text: documentText(block, words.join('\n')) };
      }
      const file = sourceOf(source, 'application/pdf');
      return file === null ? unknown : { type: 'file', source: file, name: text(block.title) };
    }
    case 'search_result': {
      const words = partsOf(block.content).map((part) => (part.type === 'text' ? part.text : ''));
      const source = text(block.source);
      const found = words.join('\n');
      return { type: 'text', text: documentText(block, source === null ? found : `${source}\n\n${found}`) };
    }
    case 'thinking': {
      const sealed = text(block.signature);
      const found = sealed === null ? null : unmarkSignature(sealed, 'anthropic-messages');
      const encrypted = found?.origin === 'openai-responses';
      return {
        type: 'reasoning',
        text: text(block.thinking) ?? '',
        signature: encrypted ? null : (found?.signature ?? null),
        redacted: encrypted ? found.signature : null,
        ...(found === null ? {} : { origin: found.origin }),
      };
    }
    case 'redacted_thinking': {
      const { signature, origin } = unmarkSignature(text(block.data) ?? '', 'anthropic-messages');
      return { type: 'reasoning', text: '', signature: null, redacted: signature, origin };
    }
    case 'tool_use':
      return {
        type: 'tool-call',
        id: text(block.id) ?? '',
        name: text(block.name) ?? '',
        arguments: JSON.stringify(block.input ?? {}),
      };
    case 'tool_result':
      return {
        type: 'tool-result',
        id: text(block.tool_use_id) ?? '',
        name: null,
        content: resultParts(block.content),
        isError: block.is_error === true,
      };
    default:
      return unknown;
  }
}

/** What a search for tools found, for models that are offered all of them. Source: jwadow/kiro-gateway#109 */
function resultParts(content: unknown): Part[] {
  const names = records(content).flatMap((block) =>
    block.type === 'tool_reference' ? [text(block.tool_name) ?? ''] : [],
  );
  if (names.length === 0) return partsOf(content);
  const found: Part = { type: 'text', text: `Tools now available: ${names.join(', ')}` };
  return [...partsOf(records(content).filter(({ type }) => type !== 'tool_reference')), found];
}

const documentText = (block: Record<string, unknown>, words: string): string => {
  const title = text(block.title);
  return title === null ? words : `${title}\n\n${words}`;
};

function sourceOf(source: Record<string, unknown> | null, fallback: string) {
  if (source?.type === 'base64') {
    const data = text(source.data) ?? '';
    const stated = text(source.media_type) ?? fallback;
    const mimeType = stated.startsWith('image/') ? pictureType(data, stated) : stated;
    return { kind: 'base64' as const, data, mimeType };
  }
  if (source?.type === 'url') return { kind: 'url' as const, url: text(source.url) ?? '', mimeType: null };
  return source?.type === 'file' ? { kind: 'id' as const, id: text(source.file_id) ?? '' } : null;
}

function decodeTool(tool: Record<string, unknown>): Tool {
  const own = tool.type === undefined || tool.type === null || tool.type === 'custom';
  const published = own ? undefined : clientTool(tool.type);
  return {
    kind: own || published !== undefined ? 'function' : 'provider',
    name: text(tool.name) ?? '',
    description: text(tool.description) ?? published?.description ?? null,
    schema: own ? (tool.input_schema ?? null) : (published?.schema ?? null),
    strict: flag(tool.strict),
    ...(record(tool.cache_control) === null
      ? {}
      : { cache: record(tool.cache_control)?.ttl === '1h' ? ('1h' as const) : ('5m' as const) }),
    ...(own ? {} : { raw: tool }),
    ...(!own && isWebSearch(text(tool.type) ?? '') ? { search: searchIn(tool) } : {}),
  };
}

const searchIn = (tool: Json): SearchLimits =>
  searchLimits({
    maxUses: tool.max_uses,
    allowedDomains: tool.allowed_domains,
    blockedDomains: tool.blocked_domains,
    location: tool.user_location,
  });

function decodeChoice(choice: Record<string, unknown> | null): ToolChoice | null {
  switch (choice?.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool':
      return { name: text(choice.name) ?? '' };
    default:
      return null;
  }
}

function decodeFormat(body: Json): ChatRequest['responseFormat'] {
  const format = record(record(body.output_config)?.format) ?? record(body.output_format);
  if (format?.type !== 'json_schema') return null;
  return { type: 'schema', name: text(format.name) ?? 'answer', schema: format.schema, strict: true };
}

export function decodeReasoning(body: Json): ChatRequest['reasoning'] {
  const thinking = record(body.thinking);
  const effort = text(record(body.output_config)?.effort);
  if (thinking === null && effort === null) return null;
  const budget =
    thinking?.type === 'disabled' ? 0 : thinking?.type === 'enabled' ? (number(thinking.budget_tokens) ?? -1) : null;
  return {
    effort: budget === 0 ? null : effort,
    budget: budget ?? (effort === null ? -1 : null),
    includeThoughts: thinking?.display === 'omitted' ? false : null,
  };
}
