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

export function createWriter(context: ResponseContext): StreamWriter {
  let started = false;
  let next = 0;
  /** Canonical index of the open block; null = none. Blocks of our own count down below `ownRefusal`. */
  let open: number | null = null;
  let own = ownRefusal - 1;
  /** The open block is a thought that said nothing yet: it may turn out to be a sealed one. */
  let held = false;
  /** Blocks that began while another was open: written when their turn comes. */
  const waiting = new Map<number, ChatEvent[]>();
  /** They are being written. */
  let advancing = false;
  const custom = new Map<number, string>();
  let called = false;
  let rejected = false;
  let usage: Usage | null = null;

  const start = (id: string | null): string => {
    if (started) return '';
    started = true;
    const message = {
      id: messageId(id ?? context.responseId),
      type: 'message',
      role: 'assistant',
      model: context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: encodeUsage(usage, context.promptTokens),
    };
    return send('message_start', `,"message":${JSON.stringify(message)}`);
  };
  const openBlock = (index: number, block: unknown): string => {
    open = index;
    held = false;
    return start(null) + send('content_block_start', `,"index":${next},"content_block":${JSON.stringify(block)}`);
  };
  const delta = (change: string): string => send('content_block_delta', `,"index":${next},"delta":${change}`);
  const close = (): string => {
    if (open === null) return '';
    open = null;
    return held ? '' : send('content_block_stop', `,"index":${next++}`);
  };
  const openThought = (index: number): string => openBlock(index, { type: 'thinking', thinking: '', signature: '' });
  const jsonDelta = (text: string): string =>
    delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(text)}}`);

  const begin = (event: ChatEvent): string => {
    switch (event.type) {
      case 'text-start':
        return openBlock(event.index, { type: 'text', text: '' });
      case 'reasoning-start':
        open = event.index;
        held = true;
        return '';
      case 'tool-call-start': {
        called = true;
        if (event.custom === true) custom.set(event.index, '');
        return openBlock(event.index, { type: 'tool_use', id: portableId(event.id), name: event.name, input: {} });
      }
      case 'unknown':
        return openBlock(ownRefusal, event.raw) + close();
      default:
        return '';
    }
  };
  const endThought = (event: Extract<ChatEvent, { type: 'reasoning-end' }>): string => {
    const thought = encodeThought({ ...event, type: 'reasoning', text: '' });
    if (thought.type === 'redacted_thinking') return held ? openBlock(event.index, thought) : '';
    if (thought.signature === '') return '';
    const opening = held ? openThought(event.index) : '';
    return opening + delta(`{"type":"signature_delta","signature":${JSON.stringify(thought.signature)}}`);
  };
  const inside = (event: ChatEvent): string => {
    switch (event.type) {
      case 'text-delta':
        return delta(`{"type":"text_delta","text":${JSON.stringify(event.text)}}`);
      case 'text-end':
        return encodeCitations(event.citations)
          .map((citation) => delta(`{"type":"citations_delta","citation":${JSON.stringify(citation)}}`))
          .join('');
      case 'reasoning-delta':
        return (
          (held ? openThought(event.index) : '') +
          delta(`{"type":"thinking_delta","thinking":${JSON.stringify(event.text)}}`)
        );
      case 'reasoning-end':
        return endThought(event);
      case 'tool-call-delta': {
        const words = custom.get(event.index);
        if (words === undefined) return jsonDelta(event.arguments);
        custom.set(event.index, words + event.arguments);
        return '';
      }
      case 'tool-call-end': {
        const words = custom.get(event.index);
        return words === undefined ? '' : jsonDelta(wrapCustom(words));
      }
      default:
        return '';
    }
  };
  const nextWaiting = (): string => {
    // The end of one that waited lets the next have its turn here, not one call deeper.
    if (advancing) return '';
    advancing = true;
    let out = '';
    for (const [index, events] of waiting) {
      if (open !== null) break;
      waiting.delete(index);
      for (const event of events) out += block(event, index);
    }
    advancing = false;
    return out;
  };
  const block = (event: ChatEvent, index: number): string => {
    if (event.type.endsWith('-start') || event.type === 'unknown') {
      const out = open === ownRefusal ? close() : '';
      if (open === null) return out + begin(event);
      waiting.set(index, [event]);
      return out;
    }
    if (open !== index) {
      waiting.get(index)?.push(event);
      return '';
    }
    return event.type.endsWith('-end') ? inside(event) + close() + nextWaiting() : inside(event);
  };
  /** The dialect has no place for a refusal's words but a text. */
  const reject = (text: string): string => {
    rejected = true;
    const index = ownRefusal;
    const opening = open === index || waiting.has(index) ? '' : block({ type: 'text-start', index }, index);
    return opening + block({ type: 'text-delta', index, text }, index);
  };
  const image = (text: string): string => {
    const index = own--;
    return (
      block({ type: 'text-start', index }, index) +
      block({ type: 'text-delta', index, text }, index) +
      block({ type: 'text-end', index }, index)
    );
  };

  return {
    write(event) {
      switch (event.type) {
        case 'response-start':
          return start(event.id);
        case 'usage':
          usage = event.usage;
          return '';
        case 'refusal-delta':
          return reject(event.text);
        case 'media':
          return event.part.type === 'audio' ? '' : image(mediaMarkdown(event.part));
        case 'unknown':
          return event.dialect === 'anthropic-messages' ? block(event, own--) : '';
        case 'finish': {
          let out = start(null) + close() + nextWaiting();
          while (open !== null || waiting.size > 0) out += close() + nextWaiting();
          const reason = stopReason(event.reason, called, rejected);
          const counted = JSON.stringify(encodeUsage(usage));
          return `${out}${send('message_delta', `,"delta":{"stop_reason":"${reason}","stop_sequence":null},"usage":${counted}`)}${send('message_stop', '')}`;
        }
        case 'error':
        case 'omitted':
        case 'other-choice':
        case 'media-draft':
          return '';
        default:
          return block(event, event.index);
      }
    },
  };
}
