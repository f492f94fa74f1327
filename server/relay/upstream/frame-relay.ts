/** How an upstream's frames become the client's bytes: untouched while a reader watches, or told anew in the client's dialect. */
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { StreamReader, StreamWriter, UpstreamHalf } from '../../protocols/codec.ts';
import { parseFrame, type RawFrame, rawFrame } from '../../protocols/shared/sse.ts';
import { createDeliveredText, type DeliveredText, wordOf } from '../shared/delivered-text.ts';
import type { Outgoing } from '../shared/sink.ts';
import { failureIn } from './whole.ts';

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
  /** Words followed the last usage: it is not the whole bill. */
  saidSinceUsage(): boolean;
  /** A frame behind the end, or behind an error, is read for its usage alone. */
  late(frame: RawFrame): void;
  thinking(): Thinking;
  /** How the upstream says it ended. */
  finish(): (ChatEvent & { type: 'finish' }) | null;
  error(): UpstreamError | null;
  responseId(): string | null;
  /** What the stream says of its answer as a whole, where its dialect keeps something of it. */
  answer(): unknown;
  /** So much is unread that it should be read now to keep memory bounded. */
  overdue(): boolean;
  /** Words the client received so far. */
  words(): DeliveredText;
  /** Everything that was told, where it is gathered for an answer in one piece; else nothing. */
  events(): readonly ChatEvent[];
}

/** What the stream says of thoughts that need not be seen. */
export type Thinking = Readonly<Pick<Seen, 'thought' | 'firstWordMs' | 'usageAfterWord'>>;

interface Seen {
  content: boolean;
  /** Usage that came with the end or behind it. */
  billed: boolean;
  usage: Usage | null;
  /** The last usage came with words of the answer, or behind them: what was thought before is in it. */
  usageAfterWord: boolean;
  /** Thoughts were mentioned, if only as sealed ones. */
  thought: boolean;
  /** When the first words came that are no thoughts. */
  firstWordMs: number | null;
  finish: (ChatEvent & { type: 'finish' }) | null;
  error: UpstreamError | null;
  responseId: string | null;
}

function note(seen: Seen, event: ChatEvent, now: () => number): void {
  switch (event.type) {
    case 'response-start':
      seen.responseId ??= event.id;
      return;
    case 'usage':
      seen.usage = event.usage;
      if (event.repeated !== true) seen.usageAfterWord = seen.firstWordMs !== null;
      return;
    case 'finish':
      seen.finish ??= event;
      return;
    case 'error':
      seen.error ??= event.error;
      return;
    case 'reasoning-start':
    case 'reasoning-delta':
      seen.thought = true;
      seen.content = true;
      return;
    case 'other-choice':
      note(seen, event.event, now);
      return;
    case 'text-start':
    case 'text-end':
    case 'reasoning-end':
    case 'tool-call-end':
      return;
    default:
      seen.content = true;
      seen.firstWordMs ??= now();
  }
}

const blank = (): Seen => ({
  content: false,
  billed: false,
  usage: null,
  usageAfterWord: false,
  thought: false,
  firstWordMs: null,
  finish: null,
  error: null,
  responseId: null,
});

const isUsage = (event: ChatEvent): boolean => event.type === 'usage' && event.repeated !== true;

const noteLate = (seen: Seen, events: readonly ChatEvent[]): void => {
  for (const event of events) {
    if (event.type !== 'usage') continue;
    seen.usage = event.usage;
    seen.billed = true;
  }
};

/** Grows with all that is said. */
const saidBy = ({ units, spokenSeconds }: DeliveredText): number => units + spokenSeconds;

/** Frames are kept unread up to this many characters. */
const unreadLimit = 16 * 1024;

/**
 * The bytes pass untouched. Two readers: one sees the frames that may carry usage, an end or an error (and all until the
 * first content); the other reads the words, and only when somebody asks, because most streams report their usage.
 * @param dropUsageFrame the frame was our wish, not the client's. @param now epoch milliseconds.
 */
export function verbatimRelay(upstream: UpstreamHalf, dropUsageFrame: boolean, now: () => number): FrameRelay {
  const signals = upstream.reader();
  const seen = blank();
  let words: StreamReader | null = null;
  // As text: a frame object with its byte view is several times the size of its words.
  let unread: string[] = [];
  let unreadSize = 0;
  let last = false;
  let awaits = false;
  const telling = createDeliveredText();
  /** Of the words when the last usage was read among them. */
  let saidAtUsage = 0;
  const take = (events: readonly ChatEvent[]) => {
    for (const event of events) note(seen, event, now);
  };
  const read = (): StreamReader => {
    words ??= upstream.reader();
    for (const text of unread) {
      for (const event of words.feed(parseFrame(text))) {
        telling.take(event);
        if (event.type !== 'usage' || event.repeated === true) continue;
        saidAtUsage = saidBy(telling);
        if (seen.billed) continue;
        seen.usage = event.usage;
        seen.usageAfterWord ||= saidAtUsage > 0 && seen.firstWordMs !== null;
      }
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
      const stopped = signals.standing?.() === 'stopped';
      const thinks = seen.thought && seen.firstWordMs === null;
      if (!seen.content || thinks || stopped || upstream.mayMatter(text)) {
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
    saidSinceUsage() {
      read();
      return saidBy(telling) > saidAtUsage;
    },
    late: (frame) => noteLate(seen, signals.feed({ event: frame.event(), data: frame.data() })),
    thinking: () => seen,
    finish() {
      // The frame that ends it says nothing else, and was not read.
      if (last && seen.finish === null) take(signals.end());
      return seen.finish;
    },
    error: () => seen.error,
    responseId: () => seen.responseId,
    answer: () => signals.answer?.() ?? null,
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
  now: () => number,
  change: (event: ChatEvent) => readonly ChatEvent[] = (event) => [event],
): FrameRelay {
  const reader = upstream.reader();
  const seen = blank();
  const telling = createDeliveredText();
  const gathered: ChatEvent[] = [];
  let saidAtUsage = 0;
  const tell = (events: readonly ChatEvent[]): string | null => {
    let out = '';
    let more = false;
    for (const event of events) {
      const failed = event.type === 'finish' ? failureIn(event) : null;
      if (failed !== null) {
        seen.error ??= failed;
        continue;
      }
      note(seen, event, now);
      telling.take(event);
      if (isUsage(event)) saidAtUsage = saidBy(telling);
      more ||= wordOf(event) !== null;
      // Errors are told by whoever ends the stream, redacted.
      if (event.type === 'error' || event.type === 'other-choice') continue;
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
    saidSinceUsage: () => saidBy(telling) > saidAtUsage,
    late: (frame) => noteLate(seen, reader.feed({ event: frame.event(), data: frame.data() })),
    thinking: () => seen,
    finish: () => seen.finish,
    error: () => seen.error,
    responseId: () => seen.responseId,
    answer: () => reader.answer?.() ?? null,
    overdue: () => false,
    words: () => telling,
    events: () => gathered,
  };
}
