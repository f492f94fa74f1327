/** Answers in the form of a message, whole. */
import type { ChatEvent, FinishReason, Part } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { guardedLookup } from '../shared/json.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { markSignature } from '../shared/signature.ts';
import { argumentsObject, portableId, wrapCustom } from '../shared/tools.ts';
import { encodeCitations } from './citations.ts';
import { finishReasons } from './reader.ts';
import { encodeUsage } from './usage.ts';

/** @param rejected a refusal was sent, whatever the upstream calls the end. */
export function stopReason(reason: FinishReason, called: boolean, rejected: boolean): string {
  if (called && reason.unified === 'stop') return 'tool_use';
  // Agents repeat a turn that says it calls and does not, without end. Source: Wei-Shaw/sub2api#3338
  if (!called && reason.unified === 'tool_calls') return rejected ? 'refusal' : 'end_turn';
  // The dialect's own word, where the upstream gave it.
  if (reason.raw !== null && guardedLookup(finishReasons, reason.raw) === reason.unified) return reason.raw;
  switch (reason.unified) {
    case 'length':
      return 'max_tokens';
    case 'tool_calls':
      return 'tool_use';
    case 'content_filter':
    case 'refusal':
      return 'refusal';
    default:
      return called ? 'tool_use' : rejected ? 'refusal' : 'end_turn';
  }
}

export const messageId = (id: string): string => (id.startsWith('msg_') ? id : `msg_${id}`);

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage, id, hasToolCall } = collect(events);
  const rejected = parts.some(({ type }) => type === 'refusal');
  return {
    id: messageId(id ?? context.responseId),
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: parts.flatMap(encodeBlock),
    stop_reason: stopReason(finish, hasToolCall, rejected),
    stop_sequence: null,
    usage: encodeUsage(usage),
  };
}

function encodeBlock(part: Part): Record<string, unknown>[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [textBlock(part)];
    case 'unknown':
      return part.dialect === 'anthropic-messages' ? [part.raw as Record<string, unknown>] : [];
    case 'refusal':
      return [{ type: 'text', text: part.text }];
    case 'image':
    case 'file':
      return [{ type: 'text', text: mediaMarkdown(part) }];
    case 'reasoning':
      return [encodeThought(part)];
    case 'tool-call': {
      const words = part.custom === true ? wrapCustom(part.arguments) : part.arguments;
      return [{ type: 'tool_use', id: portableId(part.id), name: part.name, input: argumentsObject(words) }];
    }
    default:
      return [];
  }
}

function textBlock({ text, citations }: Extract<Part, { type: 'text' }>): Record<string, unknown> {
  const sources = encodeCitations(citations);
  return { type: 'text', text, ...(sources.length === 0 ? {} : { citations: sources }) };
}

/** Thoughts sealed elsewhere keep their words; the seal travels in the place of the signature. */
export function encodeThought(part: Extract<Part, { type: 'reasoning' }>): Record<string, unknown> {
  const { origin } = part;
  if (part.redacted !== null && part.text === '' && origin === 'anthropic-messages') {
    return { type: 'redacted_thinking', data: part.redacted };
  }
  const signature = part.signature ?? part.redacted;
  return {
    type: 'thinking',
    thinking: part.text,
    signature: signature === null ? '' : markSignature(signature, origin, 'anthropic-messages'),
  };
}
