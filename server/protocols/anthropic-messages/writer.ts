/** Answers as an Anthropic event stream: one block open at a time, in rising order. */
import type { ChatEvent, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { portableId, wrapCustom } from '../shared/tools.ts';
import { encodeCitations } from './citations.ts';
import { encodeThought, messageId, stopReason } from './encode-response.ts';
import { encodeUsage } from './usage.ts';

const send = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}"${members}}\n\n`;

/** Index of the block that a refusal's words make up. */
const ownRefusal = -1;

class AnthropicWriter implements StreamWriter {
  private started = false;
  private next = 0;
  /** Canonical index of the open block; null = none. Blocks of our own count down below `ownRefusal`. */
  private open: number | null = null;
  private own = ownRefusal - 1;
  /** The open block is a thought that said nothing yet: it may turn out to be a sealed one. */
  private held = false;
  /** Blocks that began while another was open: written when their turn comes. */
  private readonly waiting = new Map<number, ChatEvent[]>();
  /** They are being written. */
  private advancing = false;
  private readonly custom = new Map<number, string>();
  private called = false;
  private rejected = false;
  private usage: Usage | null = null;

  constructor(private readonly context: ResponseContext) {}

  private start(id: string | null): string {
    if (this.started) return '';
    this.started = true;
    const message = {
      id: messageId(id ?? this.context.responseId),
      type: 'message',
      role: 'assistant',
      model: this.context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: encodeUsage(this.usage, this.context.promptTokens),
    };
    return send('message_start', `,"message":${JSON.stringify(message)}`);
  }

  private openBlock(index: number, block: unknown): string {
    this.open = index;
    this.held = false;
    return (
      this.start(null) + send('content_block_start', `,"index":${this.next},"content_block":${JSON.stringify(block)}`)
    );
  }

  private delta(change: string): string {
    return send('content_block_delta', `,"index":${this.next},"delta":${change}`);
  }

  private close(): string {
    if (this.open === null) return '';
    this.open = null;
    return this.held ? '' : send('content_block_stop', `,"index":${this.next++}`);
  }

  private openThought(index: number): string {
    return this.openBlock(index, { type: 'thinking', thinking: '', signature: '' });
  }

  private jsonDelta(text: string): string {
    return this.delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(text)}}`);
  }

  private begin(event: ChatEvent): string {
    switch (event.type) {
      case 'text-start':
        return this.openBlock(event.index, { type: 'text', text: '' });
      case 'reasoning-start':
        this.open = event.index;
        this.held = true;
        return '';
      case 'tool-call-start': {
        this.called = true;
        if (event.custom === true) this.custom.set(event.index, '');
        return this.openBlock(event.index, { type: 'tool_use', id: portableId(event.id), name: event.name, input: {} });
      }
      case 'unknown':
        return this.openBlock(ownRefusal, event.raw) + this.close();
      default:
        return '';
    }
  }

  private endThought(event: Extract<ChatEvent, { type: 'reasoning-end' }>): string {
    const thought = encodeThought({ ...event, type: 'reasoning', text: '' });
    if (thought.type === 'redacted_thinking') return this.held ? this.openBlock(event.index, thought) : '';
    if (thought.signature === '') return '';
    const opening = this.held ? this.openThought(event.index) : '';
    return opening + this.delta(`{"type":"signature_delta","signature":${JSON.stringify(thought.signature)}}`);
  }

  private inside(event: ChatEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.delta(`{"type":"text_delta","text":${JSON.stringify(event.text)}}`);
      case 'text-end':
        return encodeCitations(event.citations)
          .map((citation) => this.delta(`{"type":"citations_delta","citation":${JSON.stringify(citation)}}`))
          .join('');
      case 'reasoning-delta':
        return (
          (this.held ? this.openThought(event.index) : '') +
          this.delta(`{"type":"thinking_delta","thinking":${JSON.stringify(event.text)}}`)
        );
      case 'reasoning-end':
        return this.endThought(event);
      case 'tool-call-delta': {
        const words = this.custom.get(event.index);
        if (words === undefined) return this.jsonDelta(event.arguments);
        this.custom.set(event.index, words + event.arguments);
        return '';
      }
      case 'tool-call-end': {
        const words = this.custom.get(event.index);
        return words === undefined ? '' : this.jsonDelta(wrapCustom(words));
      }
      default:
        return '';
    }
  }

  private nextWaiting(): string {
    // The end of one that waited lets the next have its turn here, not one call deeper.
    if (this.advancing) return '';
    this.advancing = true;
    let out = '';
    for (const [index, events] of this.waiting) {
      if (this.open !== null) break;
      this.waiting.delete(index);
      for (const event of events) out += this.block(event, index);
    }
    this.advancing = false;
    return out;
  }

  private block(event: ChatEvent, index: number): string {
    if (event.type.endsWith('-start') || event.type === 'unknown') {
      const out = this.open === ownRefusal ? this.close() : '';
      if (this.open === null) return out + this.begin(event);
      this.waiting.set(index, [event]);
      return out;
    }
    if (this.open !== index) {
      this.waiting.get(index)?.push(event);
      return '';
    }
    return event.type.endsWith('-end') ? this.inside(event) + this.close() + this.nextWaiting() : this.inside(event);
  }

  /** The dialect has no place for a refusal's words but a text. */
  private reject(text: string): string {
    this.rejected = true;
    const index = ownRefusal;
    const opening =
      this.open === index || this.waiting.has(index) ? '' : this.block({ type: 'text-start', index }, index);
    return opening + this.block({ type: 'text-delta', index, text }, index);
  }

  private image(text: string): string {
    const index = this.own--;
    return (
      this.block({ type: 'text-start', index }, index) +
      this.block({ type: 'text-delta', index, text }, index) +
      this.block({ type: 'text-end', index }, index)
    );
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'response-start':
        return this.start(event.id);
      case 'usage':
        this.usage = event.usage;
        return '';
      case 'refusal-delta':
        return this.reject(event.text);
      case 'media':
        return event.part.type === 'audio' ? '' : this.image(mediaMarkdown(event.part));
      case 'unknown':
        return event.dialect === 'anthropic-messages' ? this.block(event, this.own--) : '';
      case 'finish': {
        let out = this.start(null) + this.close() + this.nextWaiting();
        while (this.open !== null || this.waiting.size > 0) out += this.close() + this.nextWaiting();
        const reason = stopReason(event.reason, this.called, this.rejected);
        const counted = JSON.stringify(encodeUsage(this.usage));
        return `${out}${send('message_delta', `,"delta":{"stop_reason":"${reason}","stop_sequence":null},"usage":${counted}`)}${send('message_stop', '')}`;
      }
      case 'error':
      case 'omitted':
      case 'other-choice':
      case 'media-draft':
        return '';
      default:
        return this.block(event, event.index);
    }
  }
}

export const createWriter = (context: ResponseContext): StreamWriter => new AnthropicWriter(context);
