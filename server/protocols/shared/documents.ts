/** Sources that a client gives beside the conversation, for dialects that have no member for them: they become words of the user. */
import type { ChatRequest, Message, Part } from '../canonical.ts';
import type { Dropped } from '../codec.ts';
import { record, text } from './json.ts';

type Documents = NonNullable<ChatRequest['documents']>;

/** @returns the same list where there are no documents. */
export function withDocuments(
  messages: readonly Message[],
  documents: Documents = [],
  dropped: Dropped,
): readonly Message[] {
  if (documents.length === 0) return messages;
  dropped.push('/documents: sent as text in front of the question');
  const parts = documents.map((document, index): Part => ({ type: 'text', text: inWords(document, index) }));
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return asked < 0
    ? [...messages, { role: 'user', parts }]
    : messages.map((message, at) => (at === asked ? { ...message, parts: [...parts, ...message.parts] } : message));
}

/** The name of a document and its members, a line each. Source of the form: https://docs.cohere.com/v2/docs/retrieval-augmented-generation-rag */
function inWords(document: Documents[number], index: number): string {
  const members = typeof document === 'string' ? document : (document.data ?? document);
  const id = typeof document === 'string' ? null : text(document.id);
  return [`Document: ${id ?? index}`, ...linesOf(members)].join('\n');
}

function linesOf(members: unknown): readonly string[] {
  const named = record(members);
  if (named === null) return [typeof members === 'string' ? members : JSON.stringify(members)];
  return Object.entries(named).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
}
