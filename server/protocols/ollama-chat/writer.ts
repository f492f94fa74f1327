/** Answers as Ollama's stream, an object an event; clients get them as lines. Calls are written whole. */
import type { ChatEvent, Part, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { encodeCall, head, tail } from './encode-response.ts';

class OllamaWriter implements StreamWriter {
  private readonly open = new Map<number, Extract<Part, { type: 'tool-call' }>>();
  private readonly prefix: ReturnType<typeof head>;
  private called = 0;
  private usage: Usage | null = null;

  constructor(context: ResponseContext) {
    this.prefix = head(context);
  }

  private line(members: object): string {
    return `data: ${JSON.stringify({ ...this.prefix, ...members })}\n\n`;
  }

  private emit(found: object): string {
    return this.line({ message: { role: 'assistant', content: '', ...found }, done: false });
  }

  private words(content: string): string {
    return content === '' ? '' : this.emit({ content });
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return this.words(event.text);
      case 'reasoning-delta':
        return event.text === '' ? '' : this.emit({ thinking: event.text });
      case 'media':
        return this.words(mediaMarkdown(event.part));
      case 'tool-call-start': {
        const { id, name, custom } = event;
        const kind = custom === true ? { custom } : {};
        this.open.set(event.index, { type: 'tool-call', id, name, arguments: '', ...kind });
        return '';
      }
      case 'tool-call-delta': {
        const call = this.open.get(event.index);
        if (call !== undefined) this.open.set(event.index, { ...call, arguments: call.arguments + event.arguments });
        return '';
      }
      case 'tool-call-end': {
        const call = this.open.get(event.index);
        return call === undefined ? '' : this.emit({ tool_calls: [encodeCall(call, this.called++)] });
      }
      case 'usage':
        this.usage = event.usage;
        return '';
      case 'finish':
        return this.line({ message: { role: 'assistant', content: '' }, ...tail(event.reason, this.usage) });
      default:
        return '';
    }
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new OllamaWriter(context);
