/** How an upstream's frames become the client's bytes: untouched while a reader watches, or told anew in the client's dialect. */
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { StreamReader, StreamWriter, UpstreamHalf } from '../../protocols/codec.ts';
import { parseFrame, type RawFrame, rawFrame } from '../../protocols/shared/sse.ts';
import { createDeliveredText, type DeliveredText, type DeliveredTextTally } from '../shared/delivered-text.ts';
import type { Outgoing } from '../shared/sink.ts';

export interface FrameRelay {
  /** @returns what the client gets for this frame, null = nothing. */
  pass(frame: RawFrame): Outgoing | null;
  /** The piece just returned ends the answer: it is sent after the bill. */
  isLast(): boolean;
  /** The upstream closed. @param rest bytes after the last whole frame. @returns what is left to send. */
  close(rest: Uint8Array): Uint8Array | string | null;
  /** The piece just returned tells that the answer is over, and what it costs has not been told yet. */
  awaitsBill(): boolean;
  /** The upstream told what it all costs, with the end or behind it. */
  billed(): boolean;
  /** Little but the bill is left to come. */
  nearEnd(): boolean;
  /** Something of worth has been seen: from here on nothing is tried elsewhere. */
  hasContent(): boolean;
  usage(): Usage | null;
  /** How the upstream says it ended. */
  finish(): (ChatEvent & { type: 'finish' }) | null;
  error(): UpstreamError | null;
  responseId(): string | null;
  /** So much is unread that it should be read now to keep memory bounded. */
  overdue(): boolean;
  /** Words the client received so far. */
  words(): DeliveredText;
  /** Everything that was told, where it is gathered for an answer in one piece; else nothing. */
  events(): readonly ChatEvent[];
}

interface Seen {
  content: boolean;
  /** Usage that came with the end or behind it. */
  billed: boolean;
  usage: Usage | null;
  finish: (ChatEvent & { type: 'finish' }) | null;
  error: UpstreamError | null;
  responseId: string | null;
}

function note(seen: Seen, event: ChatEvent): void {
  switch (event.type) {
    case 'response-start':
      seen.responseId ??= event.id;
      return;
    case 'usage':
      seen.usage = event.usage;
      return;
    case 'finish':
      seen.finish ??= event;
      return;
    case 'error':
      seen.error ??= event.error;
      return;
    case 'text-start':
    case 'text-end':
    case 'reasoning-end':
    case 'tool-call-end':
      return;
    default:
      seen.content = true;
  }
}

const blank = (): Seen => ({ content: false, billed: false, usage: null, finish: null, error: null, responseId: null });

const isUsage = (event: ChatEvent): boolean => event.type === 'usage';

function wordOf(event: ChatEvent): string | null {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return event.text;
    case 'tool-call-delta':
      return event.arguments;
    default:
      return null;
  }
}

function tellTo(telling: DeliveredTextTally, event: ChatEvent): void {
  const word = wordOf(event);
  if (word !== null) telling.add(word);
  else if (event.type === 'media' && event.part.type === 'audio' && event.part.source.kind === 'base64')
    telling.speak(event.part.source.data);
}

/** Frames are kept unread up to this many characters. */
const unreadLimit = 16 * 1024;

/**
 * The bytes pass untouched. Two readers: one sees the frames that may carry usage, an end or an error (and all until the
 * first content); the other reads the words, and only when somebody asks, because most streams report their usage.
 * @param dropUsageFrame the frame was our wish, not the client's.
 */
export function verbatimRelay(upstream: UpstreamHalf, dropUsageFrame: boolean): FrameRelay {
  const signals = upstream.reader();
  const seen = blank();
  let words: StreamReader | null = null;
  // As text: a frame object with its byte view is several times the size of its words.
  let unread: string[] = [];
  let unreadSize = 0;
  let last = false;
  let awaits = false;
  const telling = createDeliveredText();
  const take = (events: readonly ChatEvent[]) => {
    for (const event of events) note(seen, event);
  };
  const read = (): StreamReader => {
    words ??= upstream.reader();
    for (const text of unread) {
      for (const event of words.feed(parseFrame(text))) tellTo(telling, event);
    }
    unread = [];
    unreadSize = 0;
    return words;
  };

  return {
    pass(frame) {
      const text = frame.text();
      unread.push(text);
      unreadSize += text.length;
      let told: readonly ChatEvent[] = [];
      if (!seen.content || upstream.mayMatter(text)) {
        told = signals.feed({ event: frame.event(), data: frame.data() });
        take(told);
        if (seen.error !== null) return null;
      }
      last = upstream.isTerminal(frame);
      if (signals.standing?.() === 'stopped' && !last) {
        const more = upstream.saysMore?.(frame) === true;
        seen.billed = told.some(isUsage) || (seen.billed && !more);
        awaits = !seen.billed && !more;
      } else {
        seen.billed ||= last && told.some(isUsage);
        awaits = false;
      }
      return dropUsageFrame && !last && upstream.isUsageOnly(frame) ? null : frame;
    },
    isLast: () => last,
    awaitsBill: () => awaits,
    billed: () => seen.billed,
    nearEnd: () => signals.standing?.() === 'stopped' || (read().standing?.() ?? 'going') !== 'going',
    close(rest) {
      // A last event without its blank line is an event all the same.
      if (rest.length > 0) {
        const frame = rawFrame(rest);
        unread.push(frame.text());
        take(signals.feed({ event: frame.event(), data: frame.data() }));
      }
      take(signals.end());
      return rest.length > 0 ? rest : null;
    },
    hasContent: () => seen.content,
    usage: () => seen.usage,
    finish() {
      // The frame that ends it says nothing else, and was not read.
      if (last && seen.finish === null) take(signals.end());
      return seen.finish;
    },
    error: () => seen.error,
    responseId: () => seen.responseId,
    overdue: () => unreadSize > unreadLimit,
    words() {
      read();
      return telling;
    },
    events: () => [],
  };
}

/** Every event is read and written again in the client's dialect. @param writer null = gather them. @param change applied to each event in between. */
export function translatingRelay(
  upstream: UpstreamHalf,
  writer: StreamWriter | null,
  change: (event: ChatEvent) => readonly ChatEvent[] = (event) => [event],
): FrameRelay {
  const reader = upstream.reader();
  const seen = blank();
  const telling = createDeliveredText();
  const gathered: ChatEvent[] = [];
  const tell = (events: readonly ChatEvent[]): string | null => {
    let out = '';
    let more = false;
    for (const event of events) {
      note(seen, event);
      tellTo(telling, event);
      more ||= wordOf(event) !== null;
      // Errors are told by whoever ends the stream, redacted.
      if (event.type === 'error') continue;
      if (writer === null) gathered.push(...change(event));
      else for (const told of change(event)) out += writer.write(told);
    }
    if (reader.standing?.() === 'stopped' || seen.finish !== null)
      seen.billed = events.some(isUsage) || (seen.billed && !more);
    return out === '' ? null : out;
  };
  return {
    pass: (frame) => tell(reader.feed({ event: frame.event(), data: frame.data() })),
    isLast: () => seen.finish !== null,
    // The end is told with the last event, which waits for the bill anyway.
    awaitsBill: () => false,
    billed: () => seen.billed,
    nearEnd: () => (reader.standing?.() ?? 'going') !== 'going',
    close(rest) {
      const before = rest.length > 0 ? tell(reader.feed(parseFrame(rawFrame(rest).text()))) : null;
      const after = tell(reader.end());
      return before === null ? after : before + (after ?? '');
    },
    hasContent: () => seen.content,
    usage: () => seen.usage,
    finish: () => seen.finish,
    error: () => seen.error,
    responseId: () => seen.responseId,
    overdue: () => false,
    words: () => telling,
    events: () => gathered,
  };
}
