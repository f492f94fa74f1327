/** Answers as Cohere's stream of events: one block open at a time, the last event with the bill. */
import type { ChatEvent, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { oneAtATime } from '../shared/one-at-a-time.ts';
import { portableId, wrapCustom } from '../shared/tools.ts';
import { citationsOf, finishWord } from './encode-response.ts';
import { encodeUsage } from './usage.ts';

type Block = 'text' | 'thinking' | 'call';

const send = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

class CohereWriter implements StreamWriter {
  private readonly order = oneAtATime();
  private started = false;
  private next = 0;
  private open: Block | null = null;
  private called = false;
  /** Free text of a tool, written as JSON when it is complete. */
  private custom: string | null = null;
  private words = '';
  private offset = 0;
  private usage: Usage | null = null;

  constructor(private readonly context: ResponseContext) {}

  private inMessage(type: string, message: object): string {
    return send(type, { index: this.next, delta: { message } });
  }

  private start(id: string | null): string {
    if (this.started) return '';
    this.started = true;
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
    return send('message-start', { id: id ?? this.context.responseId, delta: { message } });
  }

  private close(): string {
    if (this.open === null) return '';
    const type = this.open === 'call' ? 'tool-call-end' : 'content-end';
    this.open = null;
    return send(type, { index: this.next++ });
  }

  private begin(kind: 'text' | 'thinking'): string {
    if (this.open === kind) return '';
    const before = this.start(null) + this.close();
    this.open = kind;
    if (kind === 'text') {
      this.offset += this.words.length;
      this.words = '';
    }
    return before + this.inMessage('content-start', { content: { type: kind, [kind]: '' } });
  }

  private emit(kind: 'text' | 'thinking', found: string): string {
    const before = this.begin(kind);
    if (kind === 'text') this.words += found;
    return found === '' ? before : before + this.inMessage('content-delta', { content: { [kind]: found } });
  }

  private writeArguments(found: string): string {
    return this.inMessage('tool-call-delta', { tool_calls: { function: { arguments: found } } });
  }

  private encode(event: ChatEvent): string {
    switch (event.type) {
      case 'response-start':
        return this.start(event.id);
      case 'text-start':
        return this.begin('text');
      case 'text-delta':
        return this.emit('text', event.text);
      case 'text-end': {
        const marks = citationsOf(event.citations, this.offset, this.words);
        const found = marks.map(
          (citations) => this.inMessage('citation-start', { citations }) + send('citation-end', { index: this.next }),
        );
        return this.close() + found.join('');
      }
      case 'reasoning-delta':
        return this.emit('thinking', event.text);
      case 'reasoning-end':
        return this.open === 'thinking' ? this.close() : '';
      case 'tool-call-start': {
        const before = this.start(null) + this.close();
        this.called = true;
        this.open = 'call';
        this.custom = event.custom === true ? '' : null;
        const found = { name: event.name, arguments: '' };
        const call = { id: portableId(event.id), type: 'function', function: found };
        return before + this.inMessage('tool-call-start', { tool_calls: call });
      }
      case 'tool-call-delta':
        if (this.custom === null) return this.writeArguments(event.arguments);
        this.custom += event.arguments;
        return '';
      case 'tool-call-end': {
        const found = this.custom === null ? '' : this.writeArguments(wrapCustom(this.custom));
        this.custom = null;
        return found + this.close();
      }
      case 'refusal-delta':
        return this.emit('text', event.text);
      case 'media':
        return mediaMarkdown(event.part) === '' ? '' : this.emit('text', mediaMarkdown(event.part));
      case 'usage':
        this.usage = event.usage;
        return '';
      default:
        return '';
    }
  }

  write(event: ChatEvent): string {
    if (event.type !== 'finish')
      return this.order
        .next(event)
        .map((one) => this.encode(one))
        .join('');
    const before =
      this.start(null) +
      this.order
        .rest()
        .map((one) => this.encode(one))
        .join('') +
      this.close();
    const counted = this.usage === null ? {} : { usage: encodeUsage(this.usage) };
    const delta = { finish_reason: finishWord(event.reason, this.called), ...counted };
    return before + send('message-end', { delta });
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new CohereWriter(context);
