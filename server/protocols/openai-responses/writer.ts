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

export function createWriter(context: ResponseContext): StreamWriter {
  let sequence = 0;
  let started = false;
  let usage: Usage | null = null;
  const output: Item[] = [];
  const open = new Map<number | 'refusal', Open>();

  context.made?.(() => {
    const items: (Item | null)[] = [...output];
    for (const entry of open.values()) items[entry.output] = unfinished(entry);
    return madeOf(items.filter((item) => item !== null));
  });
  const send = (type: string, members: string): string =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence++},${members}}\n\n`;
  const sendObject = (type: string, members: Item): string => send(type, JSON.stringify(members).slice(1, -1));
  const start = (): string => {
    if (started) return '';
    started = true;
    const response = responseObject(context, 'in_progress', { output: [], usage: null, reason: null });
    return sendObject('response.created', { response }) + sendObject('response.in_progress', { response });
  };
  const place = (entry: Open): string => `"item_id":"${entry.id}","output_index":${entry.output},"content_index":0`;
  const idOf = (kind: string): string => `${kind}_${context.responseId}_${output.length}`;
  const added = (item: Item): string => {
    output.push(item);
    return start() + sendObject('response.output_item.added', { output_index: output.length - 1, item });
  };
  const done = (entry: Open, item: Item): string => {
    output[entry.output] = item;
    return sendObject('response.output_item.done', { output_index: entry.output, item });
  };

  const openMessage = (kind: 'text' | 'refusal', key: number | 'refusal'): string => {
    const id = idOf('msg');
    const out = added(messageItem(id, [], 'in_progress'));
    const entry: Open = { kind, output: output.length - 1, id, text: '' };
    open.set(key, entry);
    const part = kind === 'text' ? textPart('') : { type: 'refusal', refusal: '' };
    return out + send('response.content_part.added', `${place(entry)},"part":${JSON.stringify(part)}`);
  };
  const closeMessage = (key: number | 'refusal', citations: readonly Citation[] = []): string => {
    const entry = open.get(key);
    if (entry === undefined || (entry.kind !== 'text' && entry.kind !== 'refusal')) return '';
    open.delete(key);
    const words = JSON.stringify(entry.text);
    const part = entry.kind === 'text' ? textPart(entry.text, citations) : { type: 'refusal', refusal: entry.text };
    const events =
      entry.kind === 'text'
        ? send('response.output_text.done', `${place(entry)},"text":${words},"logprobs":[]`)
        : send('response.refusal.done', `${place(entry)},"refusal":${words}`);
    return (
      events +
      send('response.content_part.done', `${place(entry)},"part":${JSON.stringify(part)}`) +
      done(entry, messageItem(entry.id, [part]))
    );
  };
  const emit = (key: number | 'refusal', kind: 'text' | 'refusal', words: string): string => {
    const before = open.has(key) ? '' : openMessage(kind, key);
    const entry = open.get(key);
    if (entry === undefined || (entry.kind !== 'text' && entry.kind !== 'refusal')) return before;
    entry.text += words;
    const type = kind === 'text' ? 'response.output_text.delta' : 'response.refusal.delta';
    const probabilities = kind === 'text' ? ',"logprobs":[]' : '';
    return before + send(type, `${place(entry)},"delta":${JSON.stringify(words)}${probabilities}`);
  };

  const think = (index: number, words: string): string => {
    const entry = open.get(index);
    if (entry?.kind !== 'reasoning') return '';
    entry.part = { ...entry.part, text: entry.part.text + words };
    const at = `"item_id":"${entry.id}","output_index":${entry.output},"summary_index":0`;
    const first = entry.summarised
      ? ''
      : send('response.reasoning_summary_part.added', `${at},"part":{"type":"summary_text","text":""}`);
    entry.summarised = true;
    return first + send('response.reasoning_summary_text.delta', `${at},"delta":${JSON.stringify(words)}`);
  };
  const endThought = (event: Extract<ChatEvent, { type: 'reasoning-end' }>): string => {
    const entry = open.get(event.index);
    if (entry?.kind !== 'reasoning') return '';
    open.delete(event.index);
    const { signature, redacted, origin } = event;
    const part: Thought = { ...entry.part, signature, redacted, ...(origin === undefined ? {} : { origin }) };
    const at = `"item_id":"${entry.id}","output_index":${entry.output},"summary_index":0`;
    const words = JSON.stringify(part.text);
    const events = entry.summarised
      ? send('response.reasoning_summary_text.done', `${at},"text":${words}`) +
        send('response.reasoning_summary_part.done', `${at},"part":{"type":"summary_text","text":${words}}`)
      : '';
    return events + done(entry, thoughtItem(entry.id, part));
  };

  const callWord = (part: Call): string =>
    part.custom === true ? 'custom_tool_call_input' : 'function_call_arguments';
  const callMore = (index: number, words: string): string => {
    const entry = open.get(index);
    if (entry?.kind !== 'tool-call') return '';
    entry.part = { ...entry.part, arguments: entry.part.arguments + words };
    const at = `"item_id":"${entry.id}","output_index":${entry.output}`;
    return send(`response.${callWord(entry.part)}.delta`, `${at},"delta":${JSON.stringify(words)}`);
  };
  const endCall = (index: number): string => {
    const entry = open.get(index);
    if (entry?.kind !== 'tool-call') return '';
    open.delete(index);
    const custom = entry.part.custom === true;
    const part = custom || entry.part.arguments !== '' ? entry.part : { ...entry.part, arguments: '{}' };
    const at = `"item_id":"${entry.id}","output_index":${entry.output}`;
    const words = JSON.stringify(part.arguments);
    const events = send(`response.${callWord(part)}.done`, `${at},"${custom ? 'input' : 'arguments'}":${words}`);
    return events + done(entry, callItem(entry.id, part));
  };

  /** An item of this dialect's own, as it is. */
  const whole = ({ dialect, raw }: EventOf<'unknown'>): string => {
    if (dialect !== 'openai-responses') return '';
    const item = raw as Item;
    return added(item) + sendObject('response.output_item.done', { output_index: output.length - 1, item });
  };

  return {
    write(event) {
      switch (event.type) {
        case 'response-start':
          return start();
        case 'text-start':
          return '';
        case 'text-delta':
          return emit(event.index, 'text', event.text);
        case 'text-end':
          return closeMessage(event.index, event.citations);
        case 'refusal-delta':
          return emit('refusal', 'refusal', event.text);
        case 'media':
          return emit(-1, 'text', mediaMarkdown(event.part)) + closeMessage(-1);
        case 'reasoning-start': {
          const id = event.id ?? idOf('rs');
          const part: Thought = { type: 'reasoning', text: '', signature: null, redacted: null, id };
          const out = added({ id, type: 'reasoning', status: 'in_progress', summary: [] });
          open.set(event.index, { kind: 'reasoning', output: output.length - 1, id, part, summarised: false });
          return out;
        }
        case 'reasoning-delta':
          return think(event.index, event.text);
        case 'reasoning-end':
          return endThought(event);
        case 'tool-call-start': {
          const id = idOf('fc');
          const { custom, namespace } = event;
          const part: Call = {
            type: 'tool-call',
            id: event.id,
            name: event.name,
            arguments: '',
            ...(custom === true ? { custom } : {}),
            ...(namespace === undefined ? {} : { namespace }),
          };
          const out = added(callItem(id, part, 'in_progress'));
          open.set(event.index, { kind: 'tool-call', output: output.length - 1, id, part });
          return out;
        }
        case 'tool-call-delta':
          return callMore(event.index, event.arguments);
        case 'tool-call-end':
          return endCall(event.index);
        case 'unknown':
          return whole(event);
        case 'usage':
          usage = event.usage;
          return '';
        case 'finish': {
          let out = start();
          for (const [key, entry] of [...open]) {
            if (entry.kind === 'tool-call') out += endCall(Number(key));
            else if (entry.kind === 'reasoning')
              out += endThought({ type: 'reasoning-end', index: Number(key), signature: null, redacted: null });
            else out += closeMessage(key);
          }
          const status = statusOf(event.reason, output);
          const response = responseObject(context, status, { output, usage, reason: event.reason });
          return out + sendObject(`response.${status}`, { response });
        }
        default:
          return '';
      }
    },
  };
}
