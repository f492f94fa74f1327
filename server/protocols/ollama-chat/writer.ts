/** Answers as Ollama's stream, an object an event; clients get them as lines. Calls are written whole. */
import type { ChatEvent, Part, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { encodeCall, head, tail } from './encode-response.ts';

export function createWriter(context: ResponseContext): StreamWriter {
  const open = new Map<number, Extract<Part, { type: 'tool-call' }>>();
  const prefix = head(context);
  let called = 0;
  let usage: Usage | null = null;
  const line = (members: object): string => `data: ${JSON.stringify({ ...prefix, ...members })}\n\n`;
  const emit = (found: object): string => line({ message: { role: 'assistant', content: '', ...found }, done: false });
  const words = (content: string): string => (content === '' ? '' : emit({ content }));

  return {
    write(event: ChatEvent) {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return words(event.text);
        case 'reasoning-delta':
          return event.text === '' ? '' : emit({ thinking: event.text });
        case 'media':
          return words(mediaMarkdown(event.part));
        case 'tool-call-start': {
          const { id, name, custom } = event;
          const kind = custom === true ? { custom } : {};
          open.set(event.index, { type: 'tool-call', id, name, arguments: '', ...kind });
          return '';
        }
        case 'tool-call-delta': {
          const call = open.get(event.index);
          if (call !== undefined) open.set(event.index, { ...call, arguments: call.arguments + event.arguments });
          return '';
        }
        case 'tool-call-end': {
          const call = open.get(event.index);
          return call === undefined ? '' : emit({ tool_calls: [encodeCall(call, called++)] });
        }
        case 'usage':
          usage = event.usage;
          return '';
        case 'finish':
          return line({ message: { role: 'assistant', content: '' }, ...tail(event.reason, usage) });
        default:
          return '';
      }
    },
  };
}
