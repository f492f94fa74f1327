/** Answers as a response event stream: the whole life of every item, numbered. */

import type { ChatEvent, Citation, EventOf, Part, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { madeOf } from './references.ts';
import { callItem, type Item, messageItem, responseObject, statusOf, textPart, thoughtItem } from './response.ts';

type Thought = Extract<Part, { type: 'reasoning' }>;
type Call = Extract<Part, { type: 'tool-call' }>;

type Open =
  | { readonly kind: 'text'; readonly output: number; readonly id: string; text: string }
  | { readonly kind: 'refusal'; readonly output: number; readonly id: string; text: string }
  | { readonly kind: 'reasoning'; readonly output: number; readonly id: string; part: Thought; summarised: boolean }
  | { readonly kind: 'tool-call'; readonly output: number; readonly id: string; part: Call };

/** As far as it came: a call that is not over names no arguments. */
function unfinished(entry: Open): Item | null {
  if (entry.kind === 'tool-call') return null;
  if (entry.kind === 'reasoning') return thoughtItem(entry.id, entry.part, 'incomplete');
  const part = entry.kind === 'text' ? textPart(entry.text) : { type: 'refusal', refusal: entry.text };
  return messageItem(entry.id, [part], 'incomplete');
}

class ResponsesWriter implements StreamWriter {
  private sequence = 0;
  private started = false;
  private usage: Usage | null = null;
  private readonly output: Item[] = [];
  private readonly open = new Map<number | 'refusal', Open>();

  constructor(private readonly context: ResponseContext) {
    context.made?.(() => {
      const items: (Item | null)[] = [...this.output];
      for (const entry of this.open.values()) items[entry.output] = unfinished(entry);
      return madeOf(items.filter((item) => item !== null));
    });
  }

  private send(type: string, members: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sequence++},${members}}\n\n`;
  }

  private sendObject(type: string, members: Item): string {
    return this.send(type, JSON.stringify(members).slice(1, -1));
  }

  private start(): string {
    if (this.started) return '';
    this.started = true;
    const response = responseObject(this.context, 'in_progress', { output: [], usage: null, reason: null });
    return this.sendObject('response.created', { response }) + this.sendObject('response.in_progress', { response });
  }

  private place(entry: Open): string {
    return `"item_id":"${entry.id}","output_index":${entry.output},"content_index":0`;
  }

  private idOf(kind: string): string {
    return `${kind}_${this.context.responseId}_${this.output.length}`;
  }

  private added(item: Item): string {
    this.output.push(item);
    return this.start() + this.sendObject('response.output_item.added', { output_index: this.output.length - 1, item });
  }

  private done(entry: Open, item: Item): string {
    this.output[entry.output] = item;
    return this.sendObject('response.output_item.done', { output_index: entry.output, item });
  }

  private openMessage(kind: 'text' | 'refusal', key: number | 'refusal'): string {
    const id = this.idOf('msg');
    const out = this.added(messageItem(id, [], 'in_progress'));
    const entry: Open = { kind, output: this.output.length - 1, id, text: '' };
    this.open.set(key, entry);
    const part = kind === 'text' ? textPart('') : { type: 'refusal', refusal: '' };
    return out + this.send('response.content_part.added', `${this.place(entry)},"part":${JSON.stringify(part)}`);
  }

  private closeMessage(key: number | 'refusal', citations: readonly Citation[] = []): string {
    const entry = this.open.get(key);
    if (entry === undefined || (entry.kind !== 'text' && entry.kind !== 'refusal')) return '';
    this.open.delete(key);
    const words = JSON.stringify(entry.text);
    const part = entry.kind === 'text' ? textPart(entry.text, citations) : { type: 'refusal', refusal: entry.text };
    const events =
      entry.kind === 'text'
        ? this.send('response.output_text.done', `${this.place(entry)},"text":${words},"logprobs":[]`)
        : this.send('response.refusal.done', `${this.place(entry)},"refusal":${words}`);
    return (
      events +
      this.send('response.content_part.done', `${this.place(entry)},"part":${JSON.stringify(part)}`) +
      this.done(entry, messageItem(entry.id, [part]))
    );
  }

  private emit(key: number | 'refusal', kind: 'text' | 'refusal', words: string): string {
    const before = this.open.has(key) ? '' : this.openMessage(kind, key);
    const entry = this.open.get(key);
    if (entry === undefined || (entry.kind !== 'text' && entry.kind !== 'refusal')) return before;
    entry.text += words;
    const type = kind === 'text' ? 'response.output_text.delta' : 'response.refusal.delta';
    const probabilities = kind === 'text' ? ',"logprobs":[]' : '';
    return before + this.send(type, `${this.place(entry)},"delta":${JSON.stringify(words)}${probabilities}`);
  }

  private think(index: number, words: string): string {
    const entry = this.open.get(index);
    if (entry?.kind !== 'reasoning') return '';
    entry.part = { ...entry.part, text: entry.part.text + words };
    const at = `"item_id":"${entry.id}","output_index":${entry.output},"summary_index":0`;
    const first = entry.summarised
      ? ''
      : this.send('response.reasoning_summary_part.added', `${at},"part":{"type":"summary_text","text":""}`);
    entry.summarised = true;
    return first + this.send('response.reasoning_summary_text.delta', `${at},"delta":${JSON.stringify(words)}`);
  }

  private endThought(event: Extract<ChatEvent, { type: 'reasoning-end' }>): string {
    const entry = this.open.get(event.index);
    if (entry?.kind !== 'reasoning') return '';
    this.open.delete(event.index);
    const { signature, redacted, origin } = event;
    const part: Thought = { ...entry.part, signature, redacted, ...(origin === undefined ? {} : { origin }) };
    const at = `"item_id":"${entry.id}","output_index":${entry.output},"summary_index":0`;
    const words = JSON.stringify(part.text);
    const events = entry.summarised
      ? this.send('response.reasoning_summary_text.done', `${at},"text":${words}`) +
        this.send('response.reasoning_summary_part.done', `${at},"part":{"type":"summary_text","text":${words}}`)
      : '';
    return events + this.done(entry, thoughtItem(entry.id, part));
  }

  private callWord(part: Call): string {
    return part.custom === true ? 'custom_tool_call_input' : 'function_call_arguments';
  }

  private callMore(index: number, words: string): string {
    const entry = this.open.get(index);
    if (entry?.kind !== 'tool-call') return '';
    entry.part = { ...entry.part, arguments: entry.part.arguments + words };
    const at = `"item_id":"${entry.id}","output_index":${entry.output}`;
    return this.send(`response.${this.callWord(entry.part)}.delta`, `${at},"delta":${JSON.stringify(words)}`);
  }

  private endCall(index: number): string {
    const entry = this.open.get(index);
    if (entry?.kind !== 'tool-call') return '';
    this.open.delete(index);
    const custom = entry.part.custom === true;
    const part = custom || entry.part.arguments !== '' ? entry.part : { ...entry.part, arguments: '{}' };
    const at = `"item_id":"${entry.id}","output_index":${entry.output}`;
    const words = JSON.stringify(part.arguments);
    const events = this.send(
      `response.${this.callWord(part)}.done`,
      `${at},"${custom ? 'input' : 'arguments'}":${words}`,
    );
    return events + this.done(entry, callItem(entry.id, part));
  }

  /** An item of this dialect's own, as it is. */
  private whole({ dialect, raw }: EventOf<'unknown'>): string {
    if (dialect !== 'openai-responses') return '';
    const item = raw as Item;
    return (
      this.added(item) + this.sendObject('response.output_item.done', { output_index: this.output.length - 1, item })
    );
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'response-start':
        return this.start();
      case 'text-start':
        return '';
      case 'text-delta':
        return this.emit(event.index, 'text', event.text);
      case 'text-end':
        return this.closeMessage(event.index, event.citations);
      case 'refusal-delta':
        return this.emit('refusal', 'refusal', event.text);
      case 'media':
        return this.emit(-1, 'text', mediaMarkdown(event.part)) + this.closeMessage(-1);
      case 'reasoning-start': {
        const id = event.id ?? this.idOf('rs');
        const part: Thought = { type: 'reasoning', text: '', signature: null, redacted: null, id };
        const out = this.added({ id, type: 'reasoning', status: 'in_progress', summary: [] });
        this.open.set(event.index, { kind: 'reasoning', output: this.output.length - 1, id, part, summarised: false });
        return out;
      }
      case 'reasoning-delta':
        return this.think(event.index, event.text);
      case 'reasoning-end':
        return this.endThought(event);
      case 'tool-call-start': {
        const id = this.idOf('fc');
        const { custom, namespace } = event;
        const part: Call = {
          type: 'tool-call',
          id: event.id,
          name: event.name,
          arguments: '',
          ...(custom === true ? { custom } : {}),
          ...(namespace === undefined ? {} : { namespace }),
        };
        const out = this.added(callItem(id, part, 'in_progress'));
        this.open.set(event.index, { kind: 'tool-call', output: this.output.length - 1, id, part });
        return out;
      }
      case 'tool-call-delta':
        return this.callMore(event.index, event.arguments);
      case 'tool-call-end':
        return this.endCall(event.index);
      case 'unknown':
        return this.whole(event);
      case 'usage':
        this.usage = event.usage;
        return '';
      case 'finish': {
        let out = this.start();
        for (const [key, entry] of [...this.open]) {
          if (entry.kind === 'tool-call') out += this.endCall(Number(key));
          else if (entry.kind === 'reasoning')
            out += this.endThought({ type: 'reasoning-end', index: Number(key), signature: null, redacted: null });
          else out += this.closeMessage(key);
        }
        const status = statusOf(event.reason, this.output);
        const response = responseObject(this.context, status, {
          output: this.output,
          usage: this.usage,
          reason: event.reason,
        });
        return out + this.sendObject(`response.${status}`, { response });
      }
      default:
        return '';
    }
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new ResponsesWriter(context);
