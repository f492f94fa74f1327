/** How an upstream's frames become the client's bytes: passed through while a reader watches, or translated into the client's dialect. */
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { StreamReader, StreamWriter, UpstreamHalf } from '../../protocols/codec.ts';
import { type FrameRun, framesIn, parseFrame, type RawFrame, rawFrame } from '../../protocols/shared/sse.ts';
import { createDeliveredText, type DeliveredText, wordOf } from '../shared/delivered-text.ts';
import { failureIn } from './whole.ts';

/** What goes to the client: whole frames. */
export type Piece = Uint8Array | string;

/** What the stream says of thoughts that need not be seen. */
export type Thinking = Readonly<Pick<Seen, 'thought' | 'firstWordMs' | 'usageAfterWord'>>;

/** What was read of a stream. */
class Seen {
  content = false;
  /** Usage that came with the end or behind it. */
  billed = false;
  usage: Usage | null = null;
  /** The last usage came with words of the answer, or behind them: what was thought before is in it. */
  usageAfterWord = false;
  /** Thoughts were mentioned, if only as sealed ones. */
  thought = false;
  /** When the first words came that are no thoughts. */
  firstWordMs: number | null = null;
  finish: (ChatEvent & { type: 'finish' }) | null = null;
  error: UpstreamError | null = null;
  responseId: string | null = null;

  note(event: ChatEvent, now: () => number): void {
    switch (event.type) {
      case 'response-start':
        this.responseId ??= event.id;
        return;
      case 'usage':
        this.usage = event.usage;
        if (event.repeated !== true) this.usageAfterWord = this.firstWordMs !== null;
        return;
      case 'finish':
        this.finish ??= event;
        return;
      case 'error':
        this.error ??= event.error;
        return;
      case 'reasoning-start':
      case 'reasoning-delta':
        this.thought = true;
        this.content = true;
        return;
      case 'other-choice':
        this.note(event.event, now);
        return;
      case 'text-start':
      case 'text-end':
      case 'reasoning-end':
      case 'tool-call-end':
        return;
      default:
        this.content = true;
        this.firstWordMs ??= now();
    }
  }
}

export abstract class FrameRelay {
  protected readonly seen = new Seen();
  protected readonly reader: StreamReader;
  protected readonly delivered = createDeliveredText();
  /** How much of it there was when the last usage was read. */
  protected deliveredAtUsage = 0;

  /** @param now epoch milliseconds. */
  constructor(
    upstream: UpstreamHalf,
    protected readonly now: () => number,
  ) {
    this.reader = upstream.reader();
  }

  /** @returns what the client gets for this frame, null = nothing. */
  abstract pass(frame: RawFrame): Piece | null;
  /** The piece just returned ends the answer: it is sent after the bill. */
  abstract isLast(): boolean;
  /** The upstream closed. @param rest bytes after the last whole frame. @returns what is left to send. */
  abstract close(rest: Uint8Array): Piece | null;
  /** The piece just returned says that the answer is over, and its usage was not reported yet. */
  abstract awaitsBill(): boolean;
  /** Little but the bill is left to come. */
  abstract nearEnd(): boolean;
  /** Words followed the last usage: it is not the whole bill. */
  abstract saidSinceUsage(): boolean;
  /** So much is unread that it should be read now to keep memory bounded. */
  abstract overdue(): boolean;
  /** Words the client received so far. */
  abstract words(): DeliveredText;
  /** All events, where they are gathered for an answer in one piece; else none. */
  abstract events(): readonly ChatEvent[];

  /** How many frames at the beginning of a run may pass without a look at each; their words are read when somebody asks. */
  passUnread(_run: FrameRun): number {
    return 0;
  }

  /** A frame behind the end, or behind an error, is read for its usage alone. */
  late(frame: RawFrame): void {
    for (const event of this.read(frame)) {
      if (event.type !== 'usage') continue;
      this.seen.usage = event.usage;
      this.seen.billed = true;
    }
  }

  /** The upstream reported what it all costs, with the end or behind it. */
  billed(): boolean {
    return this.seen.billed;
  }

  /** Something of worth has been seen: from here on nothing is tried elsewhere. */
  hasContent(): boolean {
    return this.seen.content;
  }

  usage(): Usage | null {
    return this.seen.usage;
  }

  thinking(): Thinking {
    return this.seen;
  }

  /** How the upstream says it ended. */
  finish(): (ChatEvent & { type: 'finish' }) | null {
    return this.seen.finish;
  }

  error(): UpstreamError | null {
    return this.seen.error;
  }

  responseId(): string | null {
    return this.seen.responseId;
  }

  /** What the stream says of its answer as a whole, where its dialect keeps something of it. */
  answer(): unknown {
    return this.reader.answer?.() ?? null;
  }

  protected read(frame: RawFrame): readonly ChatEvent[] {
    return this.reader.feed({ event: frame.event(), data: frame.data() });
  }

  protected isStopped(): boolean {
    return this.reader.standing?.() === 'stopped';
  }
}

const isUsage = (event: ChatEvent): boolean => event.type === 'usage' && event.repeated !== true;

/** Grows with all that is said. */
const saidBy = ({ units, spokenSeconds }: DeliveredText): number => units + spokenSeconds;

/** Frames are kept unread up to this many bytes. */
const unreadLimit = 16 * 1024;
const noBytes = new Uint8Array(0);

/** Frames whose words were not read yet: copied into one buffer, for frames of their own are several times the size of their words. */
class UnreadFrames {
  private buffer = noBytes;
  size = 0;

  add(bytes: Uint8Array): void {
    const size = this.size + bytes.length;
    if (size > this.buffer.length) {
      const grown = new Uint8Array(Math.max(1024, 2 * this.buffer.length, size));
      grown.set(this.buffer.subarray(0, this.size));
      this.buffer = grown;
    }
    this.buffer.set(bytes, this.size);
    this.size = size;
  }

  take(): readonly RawFrame[] {
    const frames = framesIn(this.buffer.subarray(0, this.size));
    this.buffer = noBytes;
    this.size = 0;
    return frames;
  }
}

/**
 * The bytes pass untouched. Two readers: one sees the frames that may carry usage, an end or an error (and all until the
 * first content); the other reads the words, and only when somebody asks, because most streams report their usage.
 */
export class PassthroughRelay extends FrameRelay {
  /** Reads the words; null = nobody asked for them yet. */
  private wordReader: StreamReader | null = null;
  private readonly unread = new UnreadFrames();
  private last = false;
  private awaits = false;
  private proven: boolean;
  /** Until the first words, and from the finish reason on, each frame is read. */
  private readsEach = true;

  /**
   * @param dropUsageFrame the frame was our wish, not the client's.
   * @param proves nothing counts as content before a frame of which this is true; null = all content does.
   */
  constructor(
    private readonly upstream: UpstreamHalf,
    private readonly dropUsageFrame: boolean,
    now: () => number,
    private readonly proves: ((frame: string) => boolean) | null = null,
  ) {
    super(upstream, now);
    this.proven = proves === null;
  }

  override hasContent(): boolean {
    return this.proves === null ? this.seen.content : this.proven;
  }

  override passUnread(run: FrameRun): number {
    const { markers } = this.upstream;
    if (markers === null || this.readsEach) return 0;
    const at = markers.firstIn(run.bytes);
    const count = at < 0 ? run.count : run.frameAt(at);
    if (count > 0) this.unread.add(run.head(count));
    return count;
  }

  pass(frame: RawFrame): Piece | null {
    const { seen, upstream } = this;
    const { bytes } = frame;
    this.unread.add(bytes);
    if (!this.proven) this.proven = this.proves?.(frame.text()) === true;
    let events: readonly ChatEvent[] = [];
    if (this.readsEach || upstream.markers?.areIn(frame.text()) !== false) {
      events = this.read(frame);
      this.note(events);
      this.readsEach = !seen.content || (seen.thought && seen.firstWordMs === null) || this.isStopped();
      if (seen.error !== null) return null;
    }
    this.last = upstream.isTerminal(frame);
    if (!this.last && this.isStopped()) {
      const more = upstream.saysMore?.(frame) === true;
      seen.billed = events.some(isUsage) || (seen.billed && !more);
      this.awaits = !seen.billed && !more;
    } else {
      seen.billed ||= this.last && events.some(isUsage);
      this.awaits = false;
    }
    return this.dropUsageFrame && !this.last && upstream.isUsageOnly(frame) ? null : bytes;
  }

  isLast(): boolean {
    return this.last;
  }

  awaitsBill(): boolean {
    return this.awaits;
  }

  nearEnd(): boolean {
    return this.isStopped() || (this.readWords().standing?.() ?? 'going') !== 'going';
  }

  close(rest: Uint8Array): Piece | null {
    // A last event without its blank line is an event all the same.
    if (rest.length > 0) {
      this.unread.add(rest);
      this.note(this.read(rawFrame(rest)));
    }
    this.note(this.reader.end());
    return rest.length > 0 ? rest : null;
  }

  saidSinceUsage(): boolean {
    this.readWords();
    return saidBy(this.delivered) > this.deliveredAtUsage;
  }

  override finish(): (ChatEvent & { type: 'finish' }) | null {
    // The frame that ends it says nothing else, and was not read.
    if (this.last && this.seen.finish === null) this.note(this.reader.end());
    return this.seen.finish;
  }

  overdue(): boolean {
    return this.unread.size > unreadLimit;
  }

  words(): DeliveredText {
    this.readWords();
    return this.delivered;
  }

  events(): readonly ChatEvent[] {
    return [];
  }

  private note(events: readonly ChatEvent[]): void {
    for (const event of events) this.seen.note(event, this.now);
  }

  private readWords(): StreamReader {
    const { seen, delivered } = this;
    this.wordReader ??= this.upstream.reader();
    if (this.unread.size === 0) return this.wordReader;
    for (const frame of this.unread.take()) {
      for (const event of this.wordReader.feed({ event: frame.event(), data: frame.data() })) {
        delivered.take(event);
        if (event.type !== 'usage' || event.repeated === true) continue;
        this.deliveredAtUsage = saidBy(delivered);
        if (seen.billed) continue;
        seen.usage = event.usage;
        seen.usageAfterWord ||= this.deliveredAtUsage > 0 && seen.firstWordMs !== null;
      }
    }
    return this.wordReader;
  }
}

const unchanged = (event: ChatEvent): readonly ChatEvent[] => [event];

/** Every event is read and written again in the client's dialect. */
export class TranslatingRelay extends FrameRelay {
  private readonly gathered: ChatEvent[] = [];

  /** @param writer null = gather the events. @param change applied to each event in between. */
  constructor(
    upstream: UpstreamHalf,
    private readonly writer: StreamWriter | null,
    now: () => number,
    private readonly change: (event: ChatEvent) => readonly ChatEvent[] = unchanged,
  ) {
    super(upstream, now);
  }

  pass(frame: RawFrame): string | null {
    return this.write(this.read(frame));
  }

  isLast(): boolean {
    return this.seen.finish !== null;
  }

  /** The end is written with the last event, which waits for the bill anyway. */
  awaitsBill(): boolean {
    return false;
  }

  nearEnd(): boolean {
    return (this.reader.standing?.() ?? 'going') !== 'going';
  }

  close(rest: Uint8Array): string | null {
    const before = rest.length > 0 ? this.write(this.reader.feed(parseFrame(rawFrame(rest).text()))) : null;
    const after = this.write(this.reader.end());
    return before === null ? after : before + (after ?? '');
  }

  saidSinceUsage(): boolean {
    return saidBy(this.delivered) > this.deliveredAtUsage;
  }

  overdue(): boolean {
    return false;
  }

  words(): DeliveredText {
    return this.delivered;
  }

  events(): readonly ChatEvent[] {
    return this.gathered;
  }

  private write(events: readonly ChatEvent[]): string | null {
    const { seen, delivered, writer } = this;
    let out = '';
    let more = false;
    for (const event of events) {
      const failed = event.type === 'finish' ? failureIn(event) : null;
      if (failed !== null) {
        seen.error ??= failed;
        continue;
      }
      seen.note(event, this.now);
      delivered.take(event);
      if (isUsage(event)) this.deliveredAtUsage = saidBy(delivered);
      more ||= wordOf(event) !== null;
      // Errors are written by whoever ends the stream, redacted.
      if (event.type === 'error' || event.type === 'other-choice') continue;
      if (writer === null) this.gathered.push(...this.change(event));
      else for (const changed of this.change(event)) out += writer.write(changed);
    }
    if (this.isStopped() || seen.finish !== null) seen.billed = events.some(isUsage) || (seen.billed && !more);
    return out === '' ? null : out;
  }
}
