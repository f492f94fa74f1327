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

export function createWriter(context: ResponseContext): StreamWriter {
  const foot = `"modelVersion":${JSON.stringify(context.model)},"responseId":${JSON.stringify(context.responseId)}}`;
  const calls = new Map<number, Call>();
  let usage: Usage | null = null;
  /** Texts and what they rest on. */
  const texts: { words: string; citations?: readonly Citation[] }[] = [];

  const frame = (parts: string, finish: string | null = null): string => {
    const grounding = finish === null ? null : encodeGrounding(texts);
    const sources = grounding === null ? '' : `,"groundingMetadata":${JSON.stringify(grounding)}`;
    const reason = finish === null ? '' : `,"finishReason":"${finish}"${sources}`;
    const counted = usage === null ? '' : `"usageMetadata":${JSON.stringify(encodeUsage(usage))},`;
    return `data: {"candidates":[{"content":{"role":"model","parts":[${parts}]}${reason},"index":0}],${counted}${foot}\n\n`;
  };
  const whole = (part: Part): string => {
    const encoded = encodePart(part);
    return encoded.length === 0 ? '' : frame(encoded.map((item) => JSON.stringify(item)).join(','));
  };
  const callEnd = ({ index, signature, origin }: EventOf<'tool-call-end'>): string => {
    const call = calls.get(index);
    calls.delete(index);
    if (call === undefined) return '';
    const sealed = signature === undefined ? {} : { signature };
    return whole({ ...call, ...sealed, ...(origin === undefined ? {} : { origin }) });
  };

  return {
    write(event: ChatEvent): string {
      switch (event.type) {
        case 'text-start':
          texts.push({ words: '' });
          return '';
        case 'text-end': {
          const last = texts.at(-1);
          if (last !== undefined && event.citations !== undefined) last.citations = event.citations;
          return '';
        }
        case 'text-delta':
          for (const last of texts.slice(-1)) if (last.words.length < citableUnits) last.words += event.text;
          return frame(`{"text":${JSON.stringify(event.text)}}`);
        case 'refusal-delta':
          return frame(`{"text":${JSON.stringify(event.text)}}`);
        case 'reasoning-delta':
          return frame(`{"text":${JSON.stringify(event.text)},"thought":true}`);
        case 'reasoning-end': {
          const signature = event.signature ?? event.redacted;
          if (signature === null) return '';
          const marked = JSON.stringify(markSignature(signature, event.origin, 'gemini-generate'));
          return frame(`{"text":"","thought":true,"thoughtSignature":${marked}}`);
        }
        case 'tool-call-start':
          calls.set(event.index, {
            type: 'tool-call',
            id: event.id,
            name: event.name,
            arguments: '',
            ...(event.custom === true ? { custom: true } : {}),
          });
          return '';
        case 'tool-call-delta': {
          const call = calls.get(event.index);
          if (call !== undefined) calls.set(event.index, { ...call, arguments: call.arguments + event.arguments });
          return '';
        }
        case 'tool-call-end':
          return callEnd(event);
        case 'media':
          return whole(event.part);
        case 'usage':
          usage = event.usage;
          return '';
        case 'finish': {
          const left = [...calls.values()].map(whole).join('');
          calls.clear();
          return left + frame('', finishWord(event.reason));
        }
        default:
          return '';
      }
    },
  };
}
