/** Events gathered back into the parts of a message, for dialects that tell an answer in one piece. */
import type { ChatEvent, FinishReason, Part, Usage } from '../canonical.ts';

type ReasoningPart = Extract<Part, { type: 'reasoning' }>;
type ToolCallPart = Extract<Part, { type: 'tool-call' }>;

export interface Gathered {
  readonly parts: readonly Part[];
  readonly finish: FinishReason;
  readonly usage: Usage | null;
  readonly id: string | null;
  readonly hasToolCall: boolean;
}

export function gather(events: readonly ChatEvent[]): Gathered {
  const parts: Part[] = [];
  const places = new Map<number, number>();
  let finish: FinishReason = { unified: 'other', raw: null };
  let usage: Usage | null = null;
  let id: string | null = null;
  const at = (index: number): number => places.get(index) ?? -1;
  const change = (index: number, edit: (part: Part) => Part) => {
    const place = at(index);
    const part = parts[place];
    if (part !== undefined) parts[place] = edit(part);
  };
  const start = (index: number, part: Part) => {
    places.set(index, parts.length);
    parts.push(part);
  };
  for (const event of events) {
    switch (event.type) {
      case 'response-start':
        id ??= event.id;
        break;
      case 'text-start':
        start(event.index, { type: 'text', text: '' });
        break;
      case 'text-delta':
        change(event.index, (part) => (part.type === 'text' ? { ...part, text: part.text + event.text } : part));
        break;
      case 'text-end':
        if (event.citations !== undefined && event.citations.length > 0) {
          const { citations } = event;
          change(event.index, (part) => (part.type === 'text' ? { ...part, citations } : part));
        }
        break;
      case 'reasoning-start':
        start(event.index, {
          type: 'reasoning',
          text: '',
          signature: null,
          redacted: null,
          ...(event.id === undefined ? {} : { id: event.id }),
        });
        break;
      case 'reasoning-delta':
        change(event.index, (part) => ({
          ...(part as ReasoningPart),
          text: (part as ReasoningPart).text + event.text,
        }));
        break;
      case 'reasoning-end':
        change(event.index, (part) => ({
          ...(part as ReasoningPart),
          signature: event.signature,
          redacted: event.redacted,
          ...(event.origin === undefined ? {} : { origin: event.origin }),
        }));
        break;
      case 'tool-call-start':
        start(event.index, {
          type: 'tool-call',
          id: event.id,
          name: event.name,
          arguments: '',
          ...(event.custom === true ? { custom: true } : {}),
          ...(event.namespace === undefined ? {} : { namespace: event.namespace }),
        });
        break;
      case 'tool-call-delta':
        change(event.index, (part) => ({
          ...(part as ToolCallPart),
          arguments: (part as ToolCallPart).arguments + event.arguments,
        }));
        break;
      case 'tool-call-end':
        if (event.signature !== undefined) {
          const { signature, origin } = event;
          change(event.index, (part) => ({
            ...(part as ToolCallPart),
            signature,
            ...(origin === undefined ? {} : { origin }),
          }));
        }
        break;
      case 'refusal-delta': {
        const last = parts.at(-1);
        if (last?.type === 'refusal') parts[parts.length - 1] = { ...last, text: last.text + event.text };
        else parts.push({ type: 'refusal', text: event.text });
        break;
      }
      case 'media':
        parts.push(event.part);
        break;
      case 'usage':
        usage = event.usage;
        break;
      case 'finish':
        finish = event.reason;
        break;
      case 'unknown':
        parts.push(event);
        break;
      case 'error':
        break;
    }
  }
  return { parts, finish, usage, id, hasToolCall: parts.some(({ type }) => type === 'tool-call') };
}

/** Joined text of the parts that are plain text. */
export const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
