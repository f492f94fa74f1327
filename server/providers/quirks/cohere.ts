/** Cohere's second API: chat with sources and plans, embeddings that ask what they are for, reranking paid by the search. */
import type { ChatRequest, Message, Part, UpstreamError } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';
import { openaiChat } from '../../protocols/openai-chat/codec.ts';
import { budgetOf } from '../../protocols/shared/effort.ts';
import { carryExtras } from '../../protocols/shared/extras.ts';
import { number, present, record, text } from '../../protocols/shared/json.ts';
import { mediaUrl } from '../../protocols/shared/media.ts';
import { objectSchema, portableId, portableName } from '../../protocols/shared/tools.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import { documentTexts, rankedList } from '../forms/ranked-list.ts';
import type { ForeignForm, Quirk, Wire } from '../quirk.ts';
import { createReader, decodeResponse, readUsage } from './cohere-reader.ts';

type Item = Record<string, unknown>;

const carried = new Set(['documents', 'citation_options', 'safety_mode', 'strict_tools', 'priority']);

/** An invalid key has a status of its own here. */
function decodeError(status: number, body: string): UpstreamError {
  const told = openaiChat.upstream.decodeError(status, body);
  return status === 498 ? { ...told, status: 401, code: 'invalid_api_key' } : told;
}

/** Here from 0 to 1; elsewhere from -2 to 2. */
const penalty = (value: number | null): number | null => (value === null ? null : Math.min(1, Math.max(0, value)));

function encodeRequest(request: ChatRequest, dropped: Dropped): Item {
  const tools = request.tools.flatMap((tool, index): Item[] => {
    if (tool.kind === 'function') {
      const { description, schema } = tool;
      const told = present({ name: portableName(tool.name), description, parameters: objectSchema(schema) });
      return [{ type: 'function', function: told }];
    }
    dropped.push(`/tools/${index}: ${tool.name} cannot be told to the upstream`);
    return [];
  });
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
    stop_sequences: request.stop.length === 0 ? undefined : request.stop,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: tools.length === 0 ? undefined : encodeChoice(request, dropped),
    response_format: encodeFormat(request.responseFormat),
    thinking: encodeThinking(request),
    ...carryExtras(request, carried, dropped),
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

function encodeThinking({ reasoning }: ChatRequest): unknown {
  const budget = budgetOf(reasoning);
  if (budget === null) return undefined;
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
      results.push({ role: 'tool', tool_call_id: portableId(part.id), content: words });
    } else if (part.type === 'tool-call') {
      const told = { name: portableName(part.name), arguments: part.arguments === '' ? '{}' : part.arguments };
      calls.push({ id: portableId(part.id), type: 'function', function: told });
    } else content.push(...encodePart(part, path, dropped));
  }
  if (content.length === 0 && calls.length === 0) return results;
  const speaker = role === 'developer' ? 'system' : role === 'tool' ? 'user' : role;
  if (calls.length === 0) return [...results, { role: speaker, content: plain(content) }];
  // Words before calls are their plan.
  const plan = content.map((item) => text(item.text) ?? '').join('');
  return [...results, { role: speaker, ...(plan === '' ? {} : { tool_plan: plan }), tool_calls: calls }];
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
      return part.text === '' ? [] : [{ type: 'thinking', thinking: part.text }];
    case 'image':
      return [{ type: 'image_url', image_url: present({ url: mediaUrl(part.source), detail: part.detail }) }];
    default:
      dropped.push(`${path}: ${part.type} cannot be told to the upstream`);
      return [];
  }
}

const wire: Wire = {
  upstream: {
    decodeResponse,
    reader: createReader,
    decodeError,
    readUsage: (body) => readUsage(record(body)?.usage),
    isTerminal: () => false,
    isUsageOnly: () => false,
    mayMatter: () => true,
  },
  encodeRequest,
};

const embeddings: ForeignForm = {
  encode: (asked, model) => {
    const { input_type, dimensions, truncate } = asked.body;
    return present({
      model,
      texts: textsOf(asked),
      // Required here; what is embedded without a word about it is kept to be found.
      input_type: text(input_type) ?? 'search_document',
      embedding_types: ['float'],
      output_dimension: dimensions,
      truncate,
    });
  },
  decode: (answer, asked) => {
    const billed = record(record(record(answer)?.meta)?.billed_units);
    return embeddingList(record(record(answer)?.embeddings)?.float, asked, number(billed?.input_tokens));
  },
  decodeError,
};

const rerank: ForeignForm = {
  encode: (asked, model) => {
    const { query, top_n, max_tokens_per_doc } = asked.body;
    return present({ model, query, documents: documentTexts(asked), top_n, max_tokens_per_doc });
  },
  decode: (answer, asked) => rankedList(record(answer) ?? {}, asked, null),
  decodeError,
};

export const cohere: Quirk = {
  wireFor: () => wire,
  formFor: (operation) => (operation === 'embeddings' ? embeddings : operation === 'rerank' ? rerank : null),
};
