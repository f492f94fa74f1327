/** The form of an answer as words in the prompt, for upstreams that have no member for it. */
import type { ChatRequest, Message, Part } from '../canonical.ts';

type Format = NonNullable<ChatRequest['responseFormat']>;

const wordsOf = (format: Format): string =>
  format.type === 'json'
    ? 'Answer with JSON only.'
    : `Answer with JSON only that matches this JSON schema: ${JSON.stringify(format.schema)}`;

/**
 * They stand behind the instructions, or behind the first turn where there are none: the beginning of a conversation stays
 * the same from turn to turn, and every piece keeps its place.
 */
export function inWords(request: ChatRequest, format: Format): ChatRequest {
  const part: Part = { type: 'text', text: wordsOf(format) };
  const { messages } = request;
  const turn = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = turn < 0 ? messages.length : turn;
  const at = leading > 0 ? leading - 1 : messages.findIndex(({ role }) => role === 'user');
  if (at < 0) return { ...request, messages: [{ role: 'system', parts: [part] }, ...messages] };
  const changed = (message: Message, index: number): Message =>
    index === at ? { ...message, parts: [...message.parts, part] } : message;
  return { ...request, messages: messages.map(changed) };
}
