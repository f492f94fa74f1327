/** The conversation as Messages turns: alternating, begun by the user, nothing shown that another provider signed. */
import type { ChatRequest, Media, Part, ProtocolId } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { opening, withQuestion } from '../shared/conversation-order.ts';
import { present } from '../shared/json.ts';
import { argumentsObject, portableId, portableName, wrapCustom } from '../shared/tools.ts';
import { encodeCitations } from './citations.ts';

export type Block = Record<string, unknown>;
export interface Turn {
  readonly role: string;
  readonly content: Block[];
}
/** Whose messages are encoded, and where dropped fields are listed. */
interface EncodeContext {
  readonly dialect: ProtocolId;
  readonly dropped: Dropped;
}

export const cacheMark = (cache: '5m' | '1h' | undefined): unknown =>
  cache === undefined ? undefined : cache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' };

export function encodeMessages(
  { messages: given, dialect }: ChatRequest,
  dropped: Dropped,
): { readonly system: Block[]; readonly messages: Turn[] } {
  const messages = withQuestion(given, dropped);
  const context = { dialect, dropped };
  const firstTurn = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = firstTurn < 0 ? messages : messages.slice(0, firstTurn);
  const turns: Turn[] = [];
  const add = (role: string, blocks: Block[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) turns.push({ role, content: blocks });
  };
  for (const [at, message] of messages.entries()) {
    if (at < leading.length) continue;
    const path = `/messages/${at}`;
    const blocks = message.parts.flatMap((part, index) => encodePart(part, `${path}/content/${index}`, context));
    if (message.role === 'assistant') add('assistant', blocks);
    else if (message.role === 'system' && dialect === 'anthropic-messages') add('system', blocks);
    else if (message.role === 'system' || message.role === 'developer') add('user', asReminder(blocks));
    else add('user', blocks);
  }
  if (turns[0]?.role === 'assistant') {
    dropped.push(opening.reason);
    turns.unshift({ role: 'user', content: [{ type: 'text', text: opening.text }] });
  }
  return {
    system: leading.flatMap(({ parts }, at) =>
      parts.flatMap((part, n) => encodePart(part, `/system/${at}/${n}`, context)),
    ),
    messages: turns.map(trimmed),
  };
}

/** Instructions in the middle keep their place, marked as what they are. */
const asReminder = (blocks: Block[]): Block[] =>
  blocks.map((block) => (block.type === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block));

/** A last word of the assistant's may not end in blanks. */
function trimmed(turn: Turn, at: number, all: readonly Turn[]): Turn {
  const last = turn.content.at(-1);
  if (turn.role === 'assistant' && at === all.length - 1 && last?.type === 'text')
    last.text = String(last.text).trimEnd();
  return turn;
}

function sourceOf(source: Media): Block {
  return source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mimeType, data: source.data };
}

function encodePart(part: Part, path: string, context: EncodeContext): Block[] {
  const block = encodeBlock(part, path, context);
  if (block === null) return [];
  const mark = cacheMark(part.cache);
  return [mark === undefined ? block : { ...block, cache_control: mark }];
}

function encodeBlock(part: Part, path: string, context: EncodeContext): Block | null {
  switch (part.type) {
    case 'text':
    case 'refusal':
      // Blank blocks are refused.
      return part.text.trim() === '' ? null : { type: 'text', text: part.text, ...sourcesOf(part) };
    case 'image':
      return { type: 'image', source: sourceOf(part.source) };
    case 'file':
      if (isFile(part, context.dialect)) return encodeFile(part);
      break;
    case 'reasoning': {
      // A thought that another maker signed is refused, and an unsigned one too.
      if (part.origin !== 'anthropic-messages' || (part.signature === null && part.redacted === null)) {
        context.dropped.push(`${path}: a thought without this provider's signature`);
        return null;
      }
      return part.redacted !== null
        ? { type: 'redacted_thinking', data: part.redacted }
        : { type: 'thinking', thinking: part.text, signature: part.signature ?? '' };
    }
    case 'tool-call':
      return {
        type: 'tool_use',
        id: portableId(part.id),
        name: portableName(part.name),
        input: argumentsObject(part.custom === true ? wrapCustom(part.arguments) : part.arguments),
      };
    case 'tool-result': {
      const content = part.content.flatMap((item, index) => encodePart(item, `${path}/${index}`, context));
      return present({
        type: 'tool_result',
        tool_use_id: portableId(part.id),
        content: content.length === 0 ? undefined : content,
        is_error: part.isError ? true : undefined,
      });
    }
    case 'unknown':
      if (part.dialect === 'anthropic-messages') return part.raw as Block;
      break;
    case 'audio':
      break;
  }
  context.dropped.push(`${path}: ${part.type} cannot be sent to the upstream`);
  return null;
}

/** Only words of the dialect itself carry sources that its upstream knows. */
function sourcesOf(part: Part): Block {
  if (part.type !== 'text' || part.citations === undefined) return {};
  const own = part.citations.filter(({ dialect }) => dialect === 'anthropic-messages');
  return own.length === 0 ? {} : { citations: encodeCitations(own) };
}

type File = Extract<Part, { type: 'file' }>;

/** Documents are PDF or text; a file's id means something to its own provider alone. */
function isFile({ source }: File, dialect: ProtocolId): boolean {
  if (source.kind === 'id') return dialect === 'anthropic-messages';
  return source.kind === 'url' || /^(text\/|application\/pdf)/.test(source.mimeType);
}

function encodeFile({ source, name }: File): Block {
  if (source.kind === 'id') return { type: 'document', source: { type: 'file', file_id: source.id } };
  if (source.kind === 'url' || source.mimeType === 'application/pdf')
    return present({ type: 'document', source: sourceOf(source), title: name });
  const data = Buffer.from(source.data, 'base64').toString('utf8');
  return present({ type: 'document', source: { type: 'text', media_type: 'text/plain', data }, title: name });
}
