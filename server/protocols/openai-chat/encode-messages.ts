/** The turns of a conversation as chat messages: results right behind their calls, text alone in tool messages. */
import type { ChatRequest, Message, Part, ProtocolId } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { present } from '../shared/json.ts';
import { mediaUrl } from '../shared/media.ts';
import { markSignature } from '../shared/signature.ts';
import { portableId, portableName } from '../shared/tools.ts';
import type { Target } from '../target.ts';

type Item = Record<string, unknown>;
type Result = Extract<Part, { type: 'tool-result' }>;
type Call = Extract<Part, { type: 'tool-call' }>;
type Thought = Extract<Part, { type: 'reasoning' }>;

/** What every message is encoded with: whose words they are, and where dropped fields are listed. */
interface EncodeContext {
  readonly dialect: ProtocolId;
  readonly dropped: Dropped;
  /** The upstream takes marks of what to cache. */
  readonly cacheMarks: boolean;
}

export function encodeMessages(request: ChatRequest, dropped: Dropped, target: Target): Item[] {
  const cacheMarks = request.dialect === 'openai-chat' || target.cacheMarks === true;
  const context = { dialect: request.dialect, dropped, cacheMarks };
  const found: Item[] = [];
  for (let at = 0; at < request.messages.length; ) {
    const message = request.messages[at];
    if (message === undefined) break;
    const path = `/messages/${at}`;
    const named = message.name === undefined ? {} : { name: message.name };
    at++;
    if (message.role === 'system' || message.role === 'developer') {
      // Only clients of this very dialect know whether their upstream has heard of developers.
      const role = context.dialect === 'openai-chat' ? message.role : 'system';
      found.push({ role, content: contentOf(message.parts, path, context), ...named });
      continue;
    }
    if (message.role === 'assistant') {
      const said = encodeAssistant(message.parts, path, context);
      // What only its own dialect knows leaves no message behind.
      if (!isNothing(said.content) || Object.keys(said).length > 1)
        found.push({ role: 'assistant', ...said, ...named });
      continue;
    }
    // A run of the other side's messages is one turn: all its results come before anything else it says.
    const first = at - 1;
    while (isTurn(request.messages[at])) at++;
    found.push(...encodeTurn(request.messages.slice(first, at), first, context));
  }
  return found;
}

const isTurn = (message: Message | undefined): boolean => message?.role === 'user' || message?.role === 'tool';
const holdsResult = (message: Message | undefined): boolean =>
  message?.parts.some(({ type }) => type === 'tool-result') === true;

function encodeTurn(messages: readonly Message[], first: number, context: EncodeContext): Item[] {
  const results: Item[] = [];
  const output: Item[] = [];
  for (const [offset, message] of messages.entries()) {
    const path = `/messages/${first + offset}`;
    const images: Part[] = [];
    for (const part of message.parts) {
      if (part.type !== 'tool-result') continue;
      results.push(encodeResult(part, path, images, context));
    }
    const rest = [...images, ...message.parts.filter((part) => part.type !== 'tool-result')];
    const named = message.name === undefined ? {} : { name: message.name };
    if (rest.length === 0 && (message.role !== 'user' || holdsResult(message))) continue;
    const content = contentOf(rest, path, context);
    // What only its own dialect knows leaves no message behind.
    if (rest.length === 0 || !isNothing(content) || rest.some(({ type }) => type !== 'unknown'))
      output.push({ role: 'user', content, ...named });
  }
  return [...results, ...output];
}

const isNothing = (content: unknown): boolean => content === '' || (Array.isArray(content) && content.length === 0);

/** A tool message holds text alone; pictures follow in a message of the user's. */
function encodeResult(part: Result, path: string, images: Part[], { dropped }: EncodeContext): Item {
  const words: string[] = [];
  for (const item of part.content) {
    if (item.type === 'text') words.push(item.text);
    else if (item.type === 'image' || item.type === 'file') images.push(item);
    else dropped.push(`${path}: ${item.type} in a tool result`);
  }
  if (words.length === 0 && images.length > 0) words.push('(see the attachment below)');
  const content = words.join('\n');
  return {
    role: 'tool',
    tool_call_id: portableId(part.id),
    content: part.isError ? `Error: ${content}` : content,
  };
}

function encodeAssistant(parts: readonly Part[], path: string, context: EncodeContext): Item {
  const calls: Item[] = [];
  const details: Item[] = [];
  const output: Part[] = [];
  let thoughts = '';
  let refusal: string | null = null;
  for (const part of parts) {
    switch (part.type) {
      case 'tool-call':
        calls.push(encodeCall({ ...part, name: portableName(part.name) }));
        break;
      case 'reasoning':
        thoughts += part.text;
        if (part.origin === 'openai-chat') details.push(reasoningDetail(part));
        else if (part.signature !== null || part.redacted !== null)
          context.dropped.push(`${path}: a signature that belongs to another provider`);
        break;
      case 'refusal':
        refusal = (refusal ?? '') + part.text;
        break;
      default:
        output.push(part);
    }
  }
  const silent = output.length === 0 && (calls.length > 0 || refusal !== null);
  return {
    content: silent ? null : contentOf(output, path, context),
    ...present({
      refusal,
      tool_calls: calls.length === 0 ? undefined : calls,
      reasoning_content: thoughts === '' ? undefined : thoughts,
      reasoning_details: details.length === 0 ? undefined : details,
    }),
  };
}

export const encodeCall = (part: Call): Item =>
  part.custom === true
    ? { id: portableId(part.id), type: 'custom', custom: { name: part.name, input: part.arguments } }
    : {
        id: portableId(part.id),
        type: 'function',
        function: { name: part.name, arguments: part.arguments === '' ? '{}' : part.arguments },
        ...(part.signature !== undefined && part.origin === 'gemini-generate'
          ? { extra_content: { google: { thought_signature: part.signature } } }
          : {}),
      };

/** OpenRouter's form, which clients that know it send back. */
export function reasoningDetail(part: Thought): Item {
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
function contentOf(parts: readonly Part[], path: string, context: EncodeContext): unknown {
  const items = parts.flatMap((part, index) => encodePart(part, `${path}/content/${index}`, context));
  if (items.length === 0) return '';
  if (items.every((item) => item.type === 'text' && item.cache_control === undefined)) {
    return items.map((item) => item.text).join(items.length > 1 ? '\n' : '');
  }
  return items;
}

function encodePart(part: Part, path: string, context: EncodeContext): Item[] {
  const item = encodeItem(part, context.dialect);
  if (item === null) {
    context.dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
    return [];
  }
  if (part.type === 'text' && part.text === '') return [];
  if (part.cache === undefined) return [item];
  // Marks of what to cache are an extension: strict upstreams refuse a request that has them.
  return [context.cacheMarks ? { ...item, cache_control: cacheMark(part.cache) } : item];
}

const cacheMark = (cache: '5m' | '1h'): Item => ({ type: 'ephemeral', ...(cache === '1h' ? { ttl: '1h' } : {}) });

function encodeItem(part: Part, dialect: ProtocolId): Item | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: present({ url: mediaUrl(part.source), detail: detailOf(part, dialect) }) };
    case 'audio':
      return part.source.kind === 'base64'
        ? { type: 'input_audio', input_audio: { data: part.source.data, format: part.format } }
        : null;
    case 'file':
      return encodeFile(part, dialect);
    case 'unknown':
      return part.dialect === 'openai-chat' ? (part.raw as Item) : null;
    default:
      return null;
  }
}

/** Few hosts of this dialect know more words than these. Source: the schema of chat completions in OpenAI's openapi.yaml 2.3.0. */
const details: ReadonlySet<string> = new Set(['auto', 'low', 'high']);

const detailOf = ({ detail }: Extract<Part, { type: 'image' }>, dialect: ProtocolId): string | undefined =>
  detail === undefined || dialect === 'openai-chat' || details.has(detail) ? detail : 'high';

/** Files come as bytes, or by an id that means something to OpenAI alone. Plain text needs no file. */
function encodeFile({ source, name }: Extract<Part, { type: 'file' }>, dialect: ProtocolId): Item | null {
  switch (source.kind) {
    case 'id':
      return dialect.startsWith('openai') ? { type: 'file', file: { file_id: source.id } } : null;
    case 'url':
      return null;
    case 'base64': {
      if (!source.mimeType.startsWith('text/'))
        return { type: 'file', file: { filename: name ?? 'file.pdf', file_data: mediaUrl(source) } };
      const words = Buffer.from(source.data, 'base64').toString('utf8');
      return { type: 'text', text: name === null ? words : `${name}\n\n${words}` };
    }
  }
}
