/** Collects events into the parts of a message, for dialects that write a response in one piece. */
import type { ChatEvent, FinishReason, Part, Usage } from '../canonical.ts';

export interface Collected {
  readonly parts: readonly Part[];
  readonly finish: FinishReason;
  readonly usage: Usage | null;
  readonly id: string | null;
  readonly hasToolCall: boolean;
}

/** @returns the part that an event opens or brings whole; null = neither. */
function opened(event: ChatEvent): Part | null {
  switch (event.type) {
    case 'text-start':
      return { type: 'text', text: '' };
    case 'reasoning-start': {
      const id = event.id === undefined ? {} : { id: event.id };
      return { type: 'reasoning', text: '', signature: null, redacted: null, ...id };
    }
    case 'tool-call-start': {
      const { id, name, custom, namespace } = event;
      const kind = custom === true ? { custom } : {};
      return { type: 'tool-call', id, name, arguments: '', ...kind, ...(namespace === undefined ? {} : { namespace }) };
    }
    case 'refusal-delta':
      return { type: 'refusal', text: event.text };
    case 'media':
      return event.part;
    case 'unknown':
      return event;
    default:
      return null;
  }
}

/** @returns the part with what an event adds to it. */
function grown(part: Part, event: ChatEvent): Part {
  const origin = 'origin' in event && event.origin !== undefined ? { origin: event.origin } : {};
  switch (part.type) {
    case 'text':
      if (event.type === 'text-delta') return { ...part, text: part.text + event.text };
      if (event.type !== 'text-end' || event.citations === undefined || event.citations.length === 0) return part;
      return { ...part, citations: event.citations };
    case 'reasoning':
      if (event.type === 'reasoning-delta') return { ...part, text: part.text + event.text };
      if (event.type !== 'reasoning-end') return part;
      return { ...part, signature: event.signature, redacted: event.redacted, ...origin };
    case 'tool-call':
      if (event.type === 'tool-call-delta') return { ...part, arguments: part.arguments + event.arguments };
      if (event.type !== 'tool-call-end' || event.signature === undefined) return part;
      return { ...part, signature: event.signature, ...origin };
    case 'refusal':
      return event.type === 'refusal-delta' ? { ...part, text: part.text + event.text } : part;
    default:
      return part;
  }
}

export function collect(events: readonly ChatEvent[]): Collected {
  const parts: Part[] = [];
  const places = new Map<number, number>();
  let finish: FinishReason = { unified: 'other', raw: null };
  let usage: Usage | null = null;
  let id: string | null = null;
  /** Where the part stands that an event belongs to; undefined = nowhere yet. */
  const placeOf = (event: ChatEvent): number | undefined => {
    if (event.type === 'refusal-delta') return parts.at(-1)?.type === 'refusal' ? parts.length - 1 : undefined;
    return 'index' in event && !event.type.endsWith('-start') ? places.get(event.index) : undefined;
  };
  for (const event of events) {
    if (event.type === 'response-start') id ??= event.id;
    else if (event.type === 'usage') usage = event.usage;
    else if (event.type === 'finish') finish = event.reason;
    const place = placeOf(event);
    const known = place === undefined ? undefined : parts[place];
    if (place !== undefined && known !== undefined) {
      parts[place] = grown(known, event);
      continue;
    }
    const part = opened(event);
    if (part === null) continue;
    if ('index' in event) places.set(event.index, parts.length);
    parts.push(part);
  }
  return { parts, finish, usage, id, hasToolCall: parts.some(({ type }) => type === 'tool-call') };
}

/** Joined text of the parts that are plain text. */
export const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
