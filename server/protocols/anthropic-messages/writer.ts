/** Answers as an Anthropic event stream: one block open at a time, in rising order. */
import type { ChatEvent, Usage } from '../canonical.ts';
import type { ResponseContext, StreamWriter } from '../codec.ts';
import { mediaUrl } from '../shared/media.ts';
import { markSignature } from '../shared/signatures.ts';
import { portableId, wrapCustom } from '../shared/tools.ts';
import { messageId, stopReason } from './encode-response.ts';
import { encodeUsage } from './usage.ts';

const send = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}"${members}}\n\n`;

export function createWriter(context: ResponseContext): StreamWriter {
  let started = false;
  let next = 0;
  /** Canonical index of the open block; -1 = a block of our own, null = none. */
  let open: number | null = null;
  /** Blocks that began while another was open: told when their turn comes. */
  const waiting = new Map<number, ChatEvent[]>();
  const custom = new Map<number, string>();
  let called = false;
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
      usage: encodeUsage(usage, 1),
    };
    return send('message_start', `,"message":${JSON.stringify(message)}`);
  };
  const openBlock = (index: number, block: unknown): string => {
    open = index;
    return start(null) + send('content_block_start', `,"index":${next},"content_block":${JSON.stringify(block)}`);
  };
  const delta = (change: string): string => send('content_block_delta', `,"index":${next},"delta":${change}`);
  const close = (): string => {
    if (open === null) return '';
    open = null;
    return send('content_block_stop', `,"index":${next++}`);
  };
  const textDelta = (text: string): string => delta(`{"type":"text_delta","text":${JSON.stringify(text)}}`);
  const jsonDelta = (text: string): string =>
    delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(text)}}`);
  /** Words that came without a block of their own. */
  const aside = (text: string): string =>
    close() + openBlock(-1, { type: 'text', text: '' }) + textDelta(text) + close();

  const begin = (event: ChatEvent): string => {
    switch (event.type) {
      case 'text-start':
        return openBlock(event.index, { type: 'text', text: '' });
      case 'reasoning-start':
        return openBlock(event.index, { type: 'thinking', thinking: '', signature: '' });
      case 'tool-call-start': {
        called = true;
        if (event.custom === true) custom.set(event.index, '');
        return openBlock(event.index, { type: 'tool_use', id: portableId(event.id), name: event.name, input: {} });
      }
      default:
        return '';
    }
  };
  const finishBlock = (event: ChatEvent): string => {
    let out = '';
    if (event.type === 'reasoning-end') {
      const seal = event.signature ?? event.redacted;
      const marked = seal === null ? '' : markSignature(seal, event.origin, 'anthropic-messages');
      if (marked !== '') out = delta(`{"type":"signature_delta","signature":${JSON.stringify(marked)}}`);
    } else if (event.type === 'tool-call-end') {
      const words = custom.get(event.index);
      if (words !== undefined) out = jsonDelta(wrapCustom(words));
    }
    return out + close();
  };
  const inside = (event: ChatEvent): string => {
    switch (event.type) {
      case 'text-delta':
        return textDelta(event.text);
      case 'reasoning-delta':
        return delta(`{"type":"thinking_delta","thinking":${JSON.stringify(event.text)}}`);
      case 'tool-call-delta': {
        const words = custom.get(event.index);
        if (words === undefined) return jsonDelta(event.arguments);
        custom.set(event.index, words + event.arguments);
        return '';
      }
      default:
        return finishBlock(event);
    }
  };
  const nextWaiting = (): string => {
    let out = '';
    for (const [index, events] of waiting) {
      if (open !== null) break;
      waiting.delete(index);
      for (const event of events) out += block(event, index);
    }
    return out;
  };
  const block = (event: ChatEvent, index: number): string => {
    if (event.type.endsWith('-start')) {
      if (open === null) return begin(event);
      waiting.set(index, [event]);
      return '';
    }
    if (open === index) return event.type.endsWith('-end') ? inside(event) + nextWaiting() : inside(event);
    waiting.get(index)?.push(event);
    return '';
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
          return aside(event.text);
        case 'media':
          return event.part.type === 'image' ? aside(`![image](${mediaUrl(event.part.source)})`) : '';
        case 'finish': {
          let out = start(null) + close() + nextWaiting();
          while (open !== null || waiting.size > 0) out += close() + nextWaiting();
          const reason = stopReason(event.reason, called);
          const counted = JSON.stringify(encodeUsage(usage));
          return `${out}${send('message_delta', `,"delta":{"stop_reason":"${reason}","stop_sequence":null},"usage":${counted}`)}${send('message_stop', '')}`;
        }
        case 'error':
        case 'unknown':
          return '';
        default:
          return block(event, event.index);
      }
    },
  };
}
