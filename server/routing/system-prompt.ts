/** A channel's own system prompt: new-api's `system_prompt` and `system_prompt_override`, in chats of every protocol. */
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { ChatRequest, Message } from '../protocols/canonical.ts';
import type { SystemPlace } from '../protocols/definition.ts';
import { list, record } from '../protocols/shared/json.ts';
import { looseName } from '../protocols/shared/member-name.ts';

type Members = Readonly<Record<string, unknown>>;

export interface SystemPrompt {
  readonly text: string;
  /** Where the client has one of its own, the channel's stands before it; else the client's stands alone. */
  readonly before: boolean;
}

export function systemPromptOf({ setting }: Pick<ChannelSnapshot, 'setting'>): SystemPrompt | null {
  const { system_prompt: text, system_prompt_override: before } = setting;
  return typeof text === 'string' && text.trim() !== '' ? { text, before: before === true } : null;
}

const isSystem = (role: unknown): boolean => role === 'system' || role === 'developer';

/** A request that is translated. */
export function promptedRequest(chat: ChatRequest, { text, before }: SystemPrompt): ChatRequest {
  const at = chat.messages.findIndex(({ role }) => isSystem(role));
  const own = chat.messages[at];
  if (own === undefined)
    return { ...chat, messages: [{ role: 'system', parts: [{ type: 'text', text }] }, ...chat.messages] };
  if (!before) return chat;
  const [first, ...rest] = own.parts;
  const parts: Message['parts'] =
    first?.type === 'text'
      ? [{ ...first, text: `${text}\n${first.text}` }, ...rest]
      : [{ type: 'text', text }, ...own.parts];
  return { ...chat, messages: chat.messages.with(at, { ...own, parts }) };
}

/** A body that passes. @returns the same object where nothing changes. */
export function promptedBody(body: Members, { member, form }: SystemPlace, prompt: SystemPrompt): Members {
  const { text, before } = prompt;
  if (form === 'turns') {
    const turns = list(body[member]);
    const at = turns.findIndex((turn) => isSystem(record(turn)?.role));
    if (at < 0) return { ...body, [member]: [{ role: 'system', content: text }, ...turns] };
    const own = record(turns[at]);
    return before && own !== null
      ? { ...body, [member]: turns.with(at, { ...own, content: joined(text, own.content) }) }
      : body;
  }
  // Each spelling that the upstream may read.
  const name = Object.keys(body).find((key) => looseName(key) === looseName(member) && !isEmpty(body[key])) ?? member;
  const own = body[name];
  if (form === 'parts') {
    if (isEmpty(own)) return { ...body, [name]: { parts: [{ text }] } };
    const content = record(own);
    return before && content !== null
      ? { ...body, [name]: { ...content, parts: [{ text }, ...list(content.parts)] } }
      : body;
  }
  if (isEmpty(own)) return { ...body, [name]: text };
  return before ? { ...body, [name]: joined(text, own) } : body;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

function joined(text: string, own: unknown): unknown {
  if (Array.isArray(own)) return [{ type: 'text', text }, ...own];
  return typeof own === 'string' && own !== '' ? `${text}\n${own}` : text;
}
