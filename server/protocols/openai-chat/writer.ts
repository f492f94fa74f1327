/** Answers in the form of chat completion chunks. */
import type { ChatEvent, EventOf } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { present } from '../shared/json.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { portableId } from '../shared/tools.ts';
import { reasoningDetail } from './encode-messages.ts';
import { annotationsOf, answerId, encodeUsage, finishWord } from './encode-response.ts';

/** Google's own place for it; clients look for it on the piece with id and name. */
const signatureOf = ({ signature, origin }: EventOf<'tool-call-start'> | EventOf<'tool-call-end'>) =>
  signature === undefined || origin !== 'gemini-generate'
    ? null
    : { extra_content: { google: { thought_signature: signature } } };

export function createWriter(context: ResponseContext): StreamWriter {
  const headOf = (id: string | null) =>
    JSON.stringify({
      id: answerId(id, context.responseId),
      object: 'chat.completion.chunk',
      created: context.created,
      model: context.model,
    }).slice(0, -1);
  let head = headOf(null);
  const more = context.includeUsage ? ',"usage":null' : '';
  let started = false;
  let calls = 0;
  const tools = new Map<
    number,
    { readonly position: number; readonly custom: boolean; isSent: boolean; signed: boolean }
  >();
  let usage: string | null = null;
  /** UTF-16 units of text written so far, and where the open text began. */
  let length = 0;
  let textFrom = 0;
  /** Thoughts whose text is repeated together with its signature, so that a client can send both back. */
  const thoughts = new Map<number, string>();

  const chunk = (delta: string, finish = 'null'): string => {
    const role = started ? '' : start();
    return `${role}data: ${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${more}}\n\n`;
  };
  const start = (): string => {
    started = true;
    return `data: ${head},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]${more}}\n\n`;
  };
  const callChunk = (index: number, text: string): string => {
    const tool = tools.get(index);
    if (tool === undefined) return '';
    tool.isSent = true;
    const piece = tool.custom ? { custom: { input: text } } : { function: { arguments: text } };
    return chunk(JSON.stringify({ tool_calls: [{ index: tool.position, ...piece }] }));
  };
  const callStart = (event: EventOf<'tool-call-start'>): string => {
    const custom = event.custom === true;
    const signature = signatureOf(event);
    const tool = { position: calls++, custom, isSent: false, signed: signature !== null };
    tools.set(event.index, tool);
    const { name } = event;
    const called = custom ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
    const call = { index: tool.position, id: portableId(event.id), type: custom ? 'custom' : 'function', ...called };
    return chunk(JSON.stringify({ tool_calls: [{ ...call, ...signature }] }));
  };
  const callEnd = (event: EventOf<'tool-call-end'>): string => {
    const tool = tools.get(event.index);
    // Clients parse what they gathered: no arguments are an empty object.
    const empty = tool !== undefined && !tool.isSent && !tool.custom ? callChunk(event.index, '{}') : '';
    const signature = signatureOf(event);
    if (signature === null || tool === undefined || tool.signed) return empty;
    // Clients read the name or the arguments of every piece, whatever else it holds.
    const piece = tool.custom ? { custom: { input: '' } } : { function: { arguments: '' } };
    return empty + chunk(JSON.stringify({ tool_calls: [{ index: tool.position, ...piece, ...signature }] }));
  };
  const signature = (event: EventOf<'reasoning-end'>): string => {
    if ((event.signature ?? event.redacted) === null) return '';
    const words = thoughts.get(event.index) ?? '';
    const detail = { ...reasoningDetail({ ...event, type: 'reasoning', text: words }), index: event.index };
    return chunk(JSON.stringify({ reasoning_details: [detail] }));
  };

  return {
    write(event: ChatEvent): string {
      switch (event.type) {
        case 'response-start':
          if (started) return '';
          if (event.id !== null) head = headOf(event.id);
          return start();
        case 'text-start':
          textFrom = length;
          return '';
        case 'text-delta':
          length += event.text.length;
          return chunk(`{"content":${JSON.stringify(event.text)}}`);
        case 'text-end': {
          const annotations = annotationsOf(event.citations, textFrom, length - textFrom);
          return annotations.length === 0 ? '' : chunk(JSON.stringify({ annotations }));
        }
        case 'reasoning-delta':
          thoughts.set(event.index, (thoughts.get(event.index) ?? '') + event.text);
          return chunk(`{"reasoning_content":${JSON.stringify(event.text)}}`);
        case 'reasoning-end':
          return signature(event);
        case 'tool-call-start':
          return callStart(event);
        case 'tool-call-delta':
          return callChunk(event.index, event.arguments);
        case 'tool-call-end':
          return callEnd(event);
        case 'refusal-delta':
          return chunk(`{"refusal":${JSON.stringify(event.text)}}`);
        case 'media': {
          const { part } = event;
          if (part.type !== 'audio') return chunk(JSON.stringify({ content: mediaMarkdown(part) }));
          if (part.source.kind !== 'base64') return '';
          return chunk(JSON.stringify({ audio: { id: `audio_${context.responseId}`, data: part.source.data } }));
        }
        case 'usage':
          usage = JSON.stringify(present(encodeUsage(event.usage)));
          return '';
        case 'finish': {
          const last = chunk('{}', JSON.stringify(finishWord(event.reason, calls > 0)));
          const counted =
            context.includeUsage && usage !== null ? `data: ${head},"choices":[],"usage":${usage}}\n\n` : '';
          return `${last}${counted}data: [DONE]\n\n`;
        }
        default:
          return '';
      }
    },
  };
}
