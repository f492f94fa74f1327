/** What of an answer has no place in the dialect that it is written in: the log lists it as it does what a request loses. */
import type { ChatEvent, Citation, DeliveredPart, ProtocolId } from '../canonical.ts';
import { record, text } from './json.ts';
import { mediaMarkdown } from './media.ts';

/** Dialects in which a thought, or a call, can bear the signature that its upstream wants to see again. */
const sealedThoughts: ReadonlySet<ProtocolId> = new Set([
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
]);
const signedCalls: ReadonlySet<ProtocolId> = new Set(['openai-chat', 'gemini-generate']);

/** Dialects that write items of their own again as they came. */
const keepsItems: ReadonlySet<ProtocolId> = new Set(['openai-responses', 'anthropic-messages']);

const kindOf = (raw: unknown): string => {
  const item = record(raw);
  return text(item?.type) ?? Object.keys(item ?? {})[0] ?? 'a part';
};

const holdsMedia = (part: DeliveredPart, client: ProtocolId): boolean => {
  if (client === 'gemini-generate') return part.source.kind !== 'id';
  if (client === 'openai-chat' && part.type === 'audio') return part.source.kind === 'base64';
  return mediaMarkdown(part) !== '';
};

/** Sources are pages with addresses, but among their own. */
function holdsCitations(citations: readonly Citation[], client: ProtocolId): boolean {
  if (client === 'ollama-chat') return citations.length === 0;
  return citations.every(({ url, dialect }) => url !== null || dialect === client);
}

/** @param client the dialect it is written in. @returns what is lost of it, as a line of the log; null = nothing. */
function lossOf(event: ChatEvent, client: ProtocolId): string | null {
  switch (event.type) {
    case 'unknown':
      return event.dialect === client && keepsItems.has(client)
        ? null
        : `/output: ${kindOf(event.raw)} has no place in the client's format`;
    case 'omitted':
      return `/output: ${event.what} has no place in the client's format`;
    case 'media':
      return holdsMedia(event.part, client) ? null : `/output: ${event.part.type} has no place in the client's format`;
    case 'media-draft':
      return "/output: drafts of pictures have no place in the client's format";
    case 'text-end':
      return holdsCitations(event.citations ?? [], client)
        ? null
        : "/output: a source of the words has no place in the client's format";
    case 'reasoning-end':
      return (event.signature ?? event.redacted) === null || sealedThoughts.has(client)
        ? null
        : "/output: the seal of a thought has no place in the client's format";
    case 'tool-call-end':
      return event.signature === undefined || signedCalls.has(client)
        ? null
        : "/output: the signature of a call has no place in the client's format";
    default:
      return null;
  }
}

/** Kinds that are told apart in one answer: an upstream may name as many as it likes. */
const most = 32;

/** @param dropped receives what an answer loses, each kind once. @returns what looks at each event. */
export function lossesInto(dropped: string[], client: ProtocolId): (event: ChatEvent) => void {
  let known: Set<string> | null = null;
  return (event) => {
    const loss = lossOf(event, client);
    if (loss === null) return;
    known ??= new Set();
    if (known.has(loss) || known.size >= most) return;
    known.add(loss);
    dropped.push(loss);
  };
}
