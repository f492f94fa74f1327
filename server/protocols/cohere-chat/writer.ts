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

export function createWriter(context: ResponseContext): StreamWriter {
  const order = oneAtATime();
  let started = false;
  let next = 0;
  let open: Block | null = null;
  let called = false;
  /** Free text of a tool, written as JSON when it is complete. */
  let custom: string | null = null;
  let words = '';
  let offset = 0;
  let usage: Usage | null = null;

  const inMessage = (type: string, message: object): string => send(type, { index: next, delta: { message } });
  const start = (id: string | null): string => {
    if (started) return '';
    started = true;
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
    return send('message-start', { id: id ?? context.responseId, delta: { message } });
  };
  const close = (): string => {
    if (open === null) return '';
    const type = open === 'call' ? 'tool-call-end' : 'content-end';
    open = null;
    return send(type, { index: next++ });
  };
  const begin = (kind: 'text' | 'thinking'): string => {
    if (open === kind) return '';
    const before = start(null) + close();
    open = kind;
    if (kind === 'text') {
      offset += words.length;
      words = '';
    }
    return before + inMessage('content-start', { content: { type: kind, [kind]: '' } });
  };
  const emit = (kind: 'text' | 'thinking', found: string): string => {
    const before = begin(kind);
    if (kind === 'text') words += found;
    return found === '' ? before : before + inMessage('content-delta', { content: { [kind]: found } });
  };
  const writeArguments = (found: string): string =>
    inMessage('tool-call-delta', { tool_calls: { function: { arguments: found } } });

  const encode = (event: ChatEvent): string => {
    switch (event.type) {
      case 'response-start':
        return start(event.id);
      case 'text-start':
        return begin('text');
      case 'text-delta':
        return emit('text', event.text);
      case 'text-end': {
        const marks = citationsOf(event.citations, offset, words);
        const found = marks.map(
          (citations) => inMessage('citation-start', { citations }) + send('citation-end', { index: next }),
        );
        return close() + found.join('');
      }
      case 'reasoning-delta':
        return emit('thinking', event.text);
      case 'reasoning-end':
        return open === 'thinking' ? close() : '';
      case 'tool-call-start': {
        const before = start(null) + close();
        called = true;
        open = 'call';
        custom = event.custom === true ? '' : null;
        const found = { name: event.name, arguments: '' };
        const call = { id: portableId(event.id), type: 'function', function: found };
        return before + inMessage('tool-call-start', { tool_calls: call });
      }
      case 'tool-call-delta':
        if (custom === null) return writeArguments(event.arguments);
        custom += event.arguments;
        return '';
      case 'tool-call-end': {
        const found = custom === null ? '' : writeArguments(wrapCustom(custom));
        custom = null;
        return found + close();
      }
      case 'refusal-delta':
        return emit('text', event.text);
      case 'media':
        return mediaMarkdown(event.part) === '' ? '' : emit('text', mediaMarkdown(event.part));
      case 'usage':
        usage = event.usage;
        return '';
      default:
        return '';
    }
  };

  return {
    write(event) {
      if (event.type !== 'finish') return order.next(event).map(encode).join('');
      const before = start(null) + order.rest().map(encode).join('') + close();
      const counted = usage === null ? {} : { usage: encodeUsage(usage) };
      const delta = { finish_reason: finishWord(event.reason, called), ...counted };
      return before + send('message-end', { delta });
    },
  };
}
