/** Answers as a stream of Gemini answers: words as they come, calls when they are whole. */
import type { ChatEvent, Citation, EventOf, Part, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { markSignature } from '../shared/signature.ts';
import { encodePart, finishWord } from './encode-response.ts';
import { encodeGrounding } from './grounding.ts';
import { encodeUsage } from './usage.ts';

type Call = Extract<Part, { type: 'tool-call' }>;

/** Positions of sources in longer texts are not reported. */
const citableUnits = 1024 * 1024;

class GeminiWriter implements StreamWriter {
  private readonly foot: string;
  private readonly calls = new Map<number, Call>();
  private usage: Usage | null = null;
  /** Texts and what they rest on. */
  private readonly texts: { words: string; citations?: readonly Citation[] }[] = [];

  constructor(context: ResponseContext) {
    this.foot = `"modelVersion":${JSON.stringify(context.model)},"responseId":${JSON.stringify(context.responseId)}}`;
  }

  private frame(parts: string, finish: string | null = null): string {
    const grounding = finish === null ? null : encodeGrounding(this.texts);
    const sources = grounding === null ? '' : `,"groundingMetadata":${JSON.stringify(grounding)}`;
    const reason = finish === null ? '' : `,"finishReason":"${finish}"${sources}`;
    const counted = this.usage === null ? '' : `"usageMetadata":${JSON.stringify(encodeUsage(this.usage))},`;
    return `data: {"candidates":[{"content":{"role":"model","parts":[${parts}]}${reason},"index":0}],${counted}${this.foot}\n\n`;
  }

  private whole(part: Part): string {
    const encoded = encodePart(part);
    return encoded.length === 0 ? '' : this.frame(encoded.map((item) => JSON.stringify(item)).join(','));
  }

  private callEnd({ index, signature, origin }: EventOf<'tool-call-end'>): string {
    const call = this.calls.get(index);
    this.calls.delete(index);
    if (call === undefined) return '';
    const sealed = signature === undefined ? {} : { signature };
    return this.whole({ ...call, ...sealed, ...(origin === undefined ? {} : { origin }) });
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'text-start':
        this.texts.push({ words: '' });
        return '';
      case 'text-end': {
        const last = this.texts.at(-1);
        if (last !== undefined && event.citations !== undefined) last.citations = event.citations;
        return '';
      }
      case 'text-delta':
        for (const last of this.texts.slice(-1)) if (last.words.length < citableUnits) last.words += event.text;
        return this.frame(`{"text":${JSON.stringify(event.text)}}`);
      case 'refusal-delta':
        return this.frame(`{"text":${JSON.stringify(event.text)}}`);
      case 'reasoning-delta':
        return this.frame(`{"text":${JSON.stringify(event.text)},"thought":true}`);
      case 'reasoning-end': {
        const signature = event.signature ?? event.redacted;
        if (signature === null) return '';
        const marked = JSON.stringify(markSignature(signature, event.origin, 'gemini-generate'));
        return this.frame(`{"text":"","thought":true,"thoughtSignature":${marked}}`);
      }
      case 'tool-call-start':
        this.calls.set(event.index, {
          type: 'tool-call',
          id: event.id,
          name: event.name,
          arguments: '',
          ...(event.custom === true ? { custom: true } : {}),
        });
        return '';
      case 'tool-call-delta': {
        const call = this.calls.get(event.index);
        if (call !== undefined) this.calls.set(event.index, { ...call, arguments: call.arguments + event.arguments });
        return '';
      }
      case 'tool-call-end':
        return this.callEnd(event);
      case 'media':
        return this.whole(event.part);
      case 'usage':
        this.usage = event.usage;
        return '';
      case 'finish': {
        const left = [...this.calls.values()].map((call) => this.whole(call)).join('');
        this.calls.clear();
        return left + this.frame('', finishWord(event.reason));
      }
      default:
        return '';
    }
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new GeminiWriter(context);
