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

class OpenAiChatWriter implements StreamWriter {
  private head: string;
  private readonly more: string;
  private started = false;
  private calls = 0;
  private readonly tools = new Map<
    number,
    { readonly position: number; readonly custom: boolean; isSent: boolean; signed: boolean }
  >();
  private usage: string | null = null;
  /** UTF-16 units of text written so far, and where the open text began. */
  private length = 0;
  private textFrom = 0;
  /** Thoughts whose text is repeated together with its signature, so that a client can send both back. */
  private readonly thoughts = new Map<number, string>();

  constructor(private readonly context: ResponseContext) {
    this.head = this.headOf(null);
    this.more = context.includeUsage ? ',"usage":null' : '';
  }

  private headOf(id: string | null): string {
    return JSON.stringify({
      id: answerId(id, this.context.responseId),
      object: 'chat.completion.chunk',
      created: this.context.created,
      model: this.context.model,
    }).slice(0, -1);
  }

  private chunk(delta: string, finish = 'null'): string {
    const role = this.started ? '' : this.start();
    return `${role}data: ${this.head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${this.more}}\n\n`;
  }

  private start(): string {
    this.started = true;
    return `data: ${this.head},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]${this.more}}\n\n`;
  }

  private callChunk(index: number, text: string): string {
    const tool = this.tools.get(index);
    if (tool === undefined) return '';
    tool.isSent = true;
    const piece = tool.custom ? { custom: { input: text } } : { function: { arguments: text } };
    return this.chunk(JSON.stringify({ tool_calls: [{ index: tool.position, ...piece }] }));
  }

  private callStart(event: EventOf<'tool-call-start'>): string {
    const custom = event.custom === true;
    const signature = signatureOf(event);
    const tool = { position: this.calls++, custom, isSent: false, signed: signature !== null };
    this.tools.set(event.index, tool);
    const { name } = event;
    const called = custom ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
    const call = { index: tool.position, id: portableId(event.id), type: custom ? 'custom' : 'function', ...called };
    return this.chunk(JSON.stringify({ tool_calls: [{ ...call, ...signature }] }));
  }

  private callEnd(event: EventOf<'tool-call-end'>): string {
    const tool = this.tools.get(event.index);
    // Clients parse what they gathered: no arguments are an empty object.
    const empty = tool !== undefined && !tool.isSent && !tool.custom ? this.callChunk(event.index, '{}') : '';
    const signature = signatureOf(event);
    if (signature === null || tool === undefined || tool.signed) return empty;
    // Clients read the name or the arguments of every piece, whatever else it holds.
    const piece = tool.custom ? { custom: { input: '' } } : { function: { arguments: '' } };
    return empty + this.chunk(JSON.stringify({ tool_calls: [{ index: tool.position, ...piece, ...signature }] }));
  }

  private signature(event: EventOf<'reasoning-end'>): string {
    if ((event.signature ?? event.redacted) === null) return '';
    const words = this.thoughts.get(event.index) ?? '';
    const detail = { ...reasoningDetail({ ...event, type: 'reasoning', text: words }), index: event.index };
    return this.chunk(JSON.stringify({ reasoning_details: [detail] }));
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'response-start':
        if (this.started) return '';
        if (event.id !== null) this.head = this.headOf(event.id);
        return this.start();
      case 'text-start':
        this.textFrom = this.length;
        return '';
      case 'text-delta':
        this.length += event.text.length;
        return this.chunk(`{"content":${JSON.stringify(event.text)}}`);
      case 'text-end': {
        const annotations = annotationsOf(event.citations, this.textFrom, this.length - this.textFrom);
        return annotations.length === 0 ? '' : this.chunk(JSON.stringify({ annotations }));
      }
      case 'reasoning-delta':
        this.thoughts.set(event.index, (this.thoughts.get(event.index) ?? '') + event.text);
        return this.chunk(`{"reasoning_content":${JSON.stringify(event.text)}}`);
      case 'reasoning-end':
        return this.signature(event);
      case 'tool-call-start':
        return this.callStart(event);
      case 'tool-call-delta':
        return this.callChunk(event.index, event.arguments);
      case 'tool-call-end':
        return this.callEnd(event);
      case 'refusal-delta':
        return this.chunk(`{"refusal":${JSON.stringify(event.text)}}`);
      case 'media': {
        const { part } = event;
        if (part.type !== 'audio') return this.chunk(JSON.stringify({ content: mediaMarkdown(part) }));
        if (part.source.kind !== 'base64') return '';
        return this.chunk(
          JSON.stringify({ audio: { id: `audio_${this.context.responseId}`, data: part.source.data } }),
        );
      }
      case 'usage':
        this.usage = JSON.stringify(present(encodeUsage(event.usage)));
        return '';
      case 'finish': {
        const last = this.chunk('{}', JSON.stringify(finishWord(event.reason, this.calls > 0)));
        const counted =
          this.context.includeUsage && this.usage !== null
            ? `data: ${this.head},"choices":[],"usage":${this.usage}}\n\n`
            : '';
        return `${last}${counted}data: [DONE]\n\n`;
      }
      default:
        return '';
    }
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new OpenAiChatWriter(context);
