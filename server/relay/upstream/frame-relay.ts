/** How an upstream's frames become the client's bytes: passed through while a reader watches, or translated into the client's dialect. */
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { FrameKind, StreamReader, StreamWriter, UpstreamHalf } from '../../protocols/codec.ts';
import type { CacheDiagnosis, CacheDiagnostics } from '../../protocols/shared/cache-diagnosis.ts';
import { type FrameRun, framesIn, type RawFrame, rawFrame } from '../../protocols/shared/sse.ts';
import { type DeliveredText, DeliveredTextTally, hasMedia } from '../shared/delivered-text.ts';
import { withoutAbsurdIn } from './absurd-usage.ts';
import { withoutDiagnosisIn } from './cache-diagnosis.ts';
import { failureIn } from './whole.ts';

/** Output for the client: whole frames. */
export type Piece = Uint8Array | string;

/** Facts about hidden thinking in the stream. */
export type Thinking = Readonly<Pick<FrameRelay, 'thought' | 'firstWordMs' | 'usageAfterWord'>>;

type Finish = ChatEvent & { type: 'finish' };

export abstract class FrameRelay {
  usage: Usage | null = null;
  /** The upstream reported what it all costs, with the end or behind it. */
  billed = false;
  error: UpstreamError | null = null;
  responseId: string | null = null;
  /** The answered model as the upstream names it. */
  answeredModel: string | null = null;
  /** Why the upstream says that its cache was missed. */
  diagnosis: CacheDiagnosis | null = null;
  /** Thoughts were mentioned, if only as sealed ones. */
  thought = false;
  /** When the first words came that are no thoughts. */
  firstWordMs: number | null = null;
  /** The last usage came with words of the answer, or behind them: what was thought before is in it. */
  usageAfterWord = false;
  /** The piece just returned ends the answer: it is sent after the bill. */
  isLast = false;
  /** The frames just returned end the answer, and its usage was not reported yet. */
  awaitsBill = false;
  /** The answer is whole with the piece just returned; an end mark may follow, or another part of what was ordered. */
  isComplete = false;
  /** Bytes of frames whose words were not read yet. */
  unreadBytes = 0;
  /** Bytes of all frames. */
  receivedBytes = 0;

  /** Defect of our reader, in words that have gone out already; null = none. */
  defect: { readonly error: unknown } | null = null;

  /** As it was before the last frame. */
  protected usageBefore: Usage | null = null;
  protected content = false;
  protected reason: Finish | null = null;
  protected readonly reader: StreamReader;
  protected readonly delivered: DeliveredTextTally;
  /** How much of it there was when the last usage was read. */
  protected deliveredAtUsage = 0;

  /** @param now epoch milliseconds. @param soundForm that the client asked for; null = it named none. */
  constructor(
    upstream: UpstreamHalf,
    protected readonly now: () => number,
    soundForm: string | null,
  ) {
    this.delivered = new DeliveredTextTally(soundForm);
    this.reader = upstream.reader();
  }

  /** @returns what the client gets for this frame, null = nothing. */
  abstract pass(frame: RawFrame): Piece | null;
  /** The upstream closed. @param rest bytes after the last whole frame. @returns what is left to send. */
  abstract close(rest: Uint8Array): Piece | null;
  /** Little but the bill is left to come. */
  abstract nearEnd(): boolean;
  /** Pictures, sound or files were delivered: what they cost is reported a little later. */
  deliversMedia(): boolean {
    return hasMedia(this.words());
  }

  /** Words followed the last usage: it is not the whole bill. */
  abstract deliveredSinceUsage(): boolean;
  /** Words the client received so far. */
  abstract words(): DeliveredText;
  /** The same, and what it received of pieces that are not whole yet. @param isFinal no more will come: those have texts, too. */
  owed(_isFinal: boolean): DeliveredText {
    return this.words();
  }

  /** All events, where they are gathered for an answer in one piece; else none. */
  abstract events(): readonly ChatEvent[];

  /** Units of words that were read, without reading more. */
  get readUnits(): number {
    return this.delivered.units;
  }

  /** The last frames did not go out: neither their words nor what they reported counts. @param bytes of them. */
  takeBackFrame(bytes: number): void {
    if (bytes <= 0) return;
    this.usage = this.usageBefore;
    this.billed = false;
    this.forgetFrame(bytes);
  }

  /** Nor did what waited behind them: what was reported counts it too. @param bytes that waited. @param units of words that did go out. */
  takeBackWaiting(bytes: number, units: number): void {
    this.usage = null;
    this.billed = false;
    this.forgetWaiting(bytes, units);
  }

  protected abstract forgetFrame(bytes: number): void;
  protected abstract forgetWaiting(bytes: number, units: number): void;

  /** How many frames at the beginning of a run may pass unread; their text is read on demand. */
  passUnread(_run: FrameRun): number {
    return 0;
  }

  /** A frame behind the end, or behind an error, is read for its usage alone. */
  passTrailing(frame: RawFrame): void {
    for (const event of this.reader.feed(frame)) {
      if (event.type !== 'usage') continue;
      this.usage = event.usage;
      this.billed ||= event.repeated !== true;
    }
  }

  /** Something of worth has been seen: from here on nothing is tried elsewhere. */
  hasContent(): boolean {
    return this.content;
  }

  /** The finish reason that the upstream reported. */
  finish(): Finish | null {
    return this.reason;
  }

  /** What the stream says of its answer as a whole, where its dialect keeps something of it. */
  answer(): unknown {
    return this.reader.answer?.() ?? null;
  }

  protected note(event: ChatEvent): void {
    switch (event.type) {
      case 'response-start':
        this.responseId ??= event.id;
        this.answeredModel ??= event.model;
        this.diagnosis ??= event.diagnosis ?? null;
        return;
      case 'usage':
        this.usage = event.usage;
        if (event.repeated !== true) this.usageAfterWord = this.firstWordMs !== null;
        return;
      case 'finish':
        this.diagnosis ??= event.diagnosis ?? null;
        // A reason with words is the model's own failure, which its client reads in the bytes.
        if (event.reason.unified === 'error' && event.reason.message === undefined) this.error ??= failureIn(event);
        else this.reason ??= event;
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
        this.note(event.event);
        return;
      case 'omitted':
      case 'text-start':
      case 'text-end':
      case 'reasoning-end':
      case 'tool-call-end':
        return;
      default:
        this.content = true;
        this.firstWordMs ??= this.now();
    }
  }
}

const zero = 48;

/** Whether a member of that name is a positive number in the text of a frame. */
function isCountedIn(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    let behind = at + name.length;
    while (text[behind] === '"' || text[behind] === ':' || text[behind] === ' ') behind++;
    const digit = text.charCodeAt(behind) - zero;
    if (digit > 0 && digit <= 9) return true;
  }
  return false;
}

/** Grows with all text. */
const deliveredAmount = ({ units, audioSeconds, pictures, fileTokens }: DeliveredText): number =>
  units + audioSeconds + pictures + fileTokens;

/** Frames are kept unread up to this many bytes. */
export const unreadLimit = 16 * 1024;
const largeChunk = 1024;
const noBytes = new Uint8Array(0);
const none: readonly never[] = [];

/**
 * The bytes pass untouched, but for counts of tokens that cannot be. Two readers: one sees the frames that may carry usage, an end or an error (and all until the
 * first content); the other reads the text, and only on demand, because most streams report their usage.
 */
export class PassthroughRelay extends FrameRelay {
  /** Reads the text; null = not needed yet. */
  private wordReader: StreamReader | null = null;
  /**
   * Frames whose words were not read yet: large pieces as they are, and behind them the small ones copied into one buffer,
   * for a small piece of its own takes several times its size.
   */
  private unreadChunks: Uint8Array[] | null = null;
  private unread = noBytes;
  private unreadSize = 0;
  /** How many of the unread bytes were searched for each of `usageMembers`; null = none were. */
  private searchedBytes: number[] | null = null;
  /** Until the first words, and from the finish reason on, each frame is read. */
  private readsEach = true;
  /** A frame counted what cannot be: each is read from then on. */
  private isAbsurd = false;
  private proven: boolean;

  /**
   * @param dropUsageFrame the frame was our wish, not the client's.
   * @param proves nothing counts as content before a frame of which this is true; null = all content does.
   * @param asked we asked for a diagnosis, which the client did not; null = we did not.
   */
  constructor(
    private readonly upstream: UpstreamHalf,
    private readonly dropUsageFrame: boolean,
    now: () => number,
    private readonly proves: ((frame: string) => boolean) | null = null,
    soundForm: string | null = null,
    private readonly asked: CacheDiagnostics | null = null,
  ) {
    super(upstream, now, soundForm);
    this.proven = proves === null;
  }

  override hasContent(): boolean {
    return this.proves === null ? this.content : this.proven;
  }

  override passUnread({ bytes, ends, count }: FrameRun): number {
    const { markers } = this.upstream;
    if (markers === null || this.readsEach) return 0;
    this.usageBefore = this.usage;
    const at = markers.firstIn(bytes);
    if (at < 0) {
      this.keepUnread(bytes);
      return count;
    }
    let passed = 0;
    while ((ends[passed] ?? bytes.length) <= at) passed++;
    if (passed > 0) this.keepUnread(bytes.subarray(0, ends[passed - 1]));
    return passed;
  }

  pass(frame: RawFrame): Piece | null {
    const { upstream, reader, asked } = this;
    let bytes = asked === null ? frame.bytes : withoutDiagnosisIn(frame, asked);
    this.usageBefore = this.usage;
    if (!this.proven) this.proven = this.proves?.(frame.text) === true;
    let kind: FrameKind = 'plain';
    let isStopped = false;
    let isReported = false;
    if (this.readsEach || upstream.markers?.areIn(frame.text) !== false) {
      for (const event of reader.feed(frame)) {
        this.note(event);
        if (event.type === 'usage' && event.repeated !== true) isReported = true;
      }
      kind = reader.frameKind ?? 'plain';
      isStopped = reader.progress === 'stopped';
      this.readsEach = this.isAbsurd || !this.content || (this.thought && this.firstWordMs === null) || isStopped;
    }
    // Not before it was read: what our reader cannot read does not go out.
    this.keepUnread(bytes);
    bytes = this.shown(frame, bytes);
    if (this.error !== null) return null;
    this.isLast = kind === 'terminal';
    this.isComplete = kind === 'complete';
    if (this.isComplete) {
      this.billed = isReported;
      this.awaitsBill = true;
    } else if (this.isLast || !isStopped) {
      this.billed ||= this.isLast && isReported;
      this.awaitsBill = false;
    } else {
      this.billed = isReported || (this.billed && kind !== 'more');
      this.awaitsBill = !this.billed && kind !== 'more';
    }
    if (isReported && this.billed) this.completeUsage(frame.text);
    return this.dropUsageFrame && kind === 'usage-only' ? null : bytes;
  }

  override passTrailing(frame: RawFrame): void {
    this.keepUnread(frame.bytes);
    super.passTrailing(frame);
    if (this.billed) this.completeUsage(frame.text);
  }

  nearEnd(): boolean {
    return this.reader.progress === 'stopped' || (this.readWords().progress ?? 'going') !== 'going';
  }

  close(rest: Uint8Array): Piece | null {
    // A last event without its blank line is an event all the same.
    if (rest.length > 0) {
      this.keepUnread(rest);
      for (const event of this.reader.feed(rawFrame(rest))) this.note(event);
    }
    for (const event of this.reader.end()) this.note(event);
    return rest.length > 0 ? this.shown(rawFrame(rest), rest) : null;
  }

  /** The bytes of a frame as the client gets them: our readers have it as it came. */
  private shown(frame: RawFrame, bytes: Uint8Array): Uint8Array {
    const possible = withoutAbsurdIn(frame, bytes);
    if (possible === null) return bytes;
    this.isAbsurd = true;
    this.readsEach = true;
    return possible;
  }

  deliveredSinceUsage(): boolean {
    return deliveredAmount(this.owed(false)) > this.deliveredAtUsage;
  }

  override finish(): Finish | null {
    // The frame that ends it contains nothing else, and was not read.
    if (this.isLast && this.reason === null) for (const event of this.reader.end()) this.note(event);
    return this.reason;
  }

  words(): DeliveredText {
    this.readWords();
    return this.delivered;
  }

  override owed(isFinal: boolean): DeliveredText {
    const held = this.readWords().held?.() ?? none;
    return held.length === 0 ? this.delivered : this.delivered.with(held, isFinal);
  }

  events(): readonly ChatEvent[] {
    return [];
  }

  protected forgetWaiting(bytes: number): void {
    this.forgetFrame(bytes);
  }

  /** As far as they were not read. */
  protected forgetFrame(bytes: number): void {
    let left = Math.min(bytes, this.unreadBytes);
    this.unreadBytes -= left;
    const { unreadBytes } = this;
    this.searchedBytes = this.searchedBytes?.map((searched) => Math.min(searched, unreadBytes)) ?? null;
    const small = Math.min(left, this.unreadSize);
    this.unreadSize -= small;
    left -= small;
    const chunks = this.unreadChunks ?? [];
    while (left > 0) {
      const last = chunks.pop() ?? noBytes;
      if (last.length > left) chunks.push(last.subarray(0, last.length - left));
      left -= Math.min(left, last.length);
      if (last.length === 0) return;
    }
  }

  /** Frames that were not read may have stated what the last one leaves out. */
  private completeUsage(last: string): void {
    const { usageMembers } = this.upstream;
    if (usageMembers === undefined) return;
    const stands = (name: string, index: number) => !isCountedIn(last, name) && this.isUnread(name, index);
    if (this.wordReader !== null || usageMembers.some(stands)) this.readWords();
  }

  /** Each byte is looked at once for each name: whoever reports in each frame would have all of them read again. */
  private isUnread(name: string, index: number): boolean {
    const { unread, unreadChunks, unreadBytes } = this;
    this.searchedBytes ??= [];
    const { searchedBytes } = this;
    const searched = searchedBytes[index] ?? 0;
    searchedBytes[index] = unreadBytes;
    let piece: Uint8Array = unread.subarray(0, this.unreadSize);
    let start = unreadBytes;
    for (let at = unreadChunks?.length ?? 0; ; ) {
      start -= piece.length;
      if (Buffer.prototype.includes.call(piece, name, Math.max(0, searched - start - name.length))) return true;
      at--;
      if (start <= searched || at < 0) return false;
      piece = unreadChunks?.[at] ?? noBytes;
    }
  }

  private keepUnread(bytes: Uint8Array): void {
    this.unreadBytes += bytes.length;
    this.receivedBytes += bytes.length;
    if (bytes.length >= largeChunk) {
      this.unreadChunks ??= [];
      if (this.unreadSize > 0) this.unreadChunks.push(this.unread.subarray(0, this.unreadSize));
      this.unreadChunks.push(bytes);
      this.unread = noBytes;
      this.unreadSize = 0;
      return;
    }
    const size = this.unreadSize + bytes.length;
    if (size > this.unread.length) {
      const grown = new Uint8Array(Math.max(1024, 2 * this.unread.length, size));
      grown.set(this.unread.subarray(0, this.unreadSize));
      this.unread = grown;
    }
    this.unread.set(bytes, this.unreadSize);
    this.unreadSize = size;
  }

  private readWords(): StreamReader {
    this.wordReader ??= this.upstream.reader();
    const { wordReader, delivered, unreadChunks, unread, unreadSize } = this;
    if (this.unreadBytes === 0) return wordReader;
    this.unreadChunks = null;
    this.unread = noBytes;
    this.unreadSize = 0;
    this.unreadBytes = 0;
    this.searchedBytes = null;
    for (const chunk of [...(unreadChunks ?? []), unread.subarray(0, unreadSize)])
      for (const frame of framesIn(chunk))
        for (const event of this.wordsIn(frame, wordReader)) {
          delivered.take(event);
          if (event.type !== 'usage') continue;
          // This reader sees every frame, and so every usage.
          this.usage = event.usage;
          if (event.repeated === true) continue;
          this.deliveredAtUsage = deliveredAmount(delivered);
          if (this.billed) continue;
          this.usageAfterWord ||= this.deliveredAtUsage > 0 && this.firstWordMs !== null;
        }
    return wordReader;
  }

  /** The client has it, so a frame that our reader cannot read counts for what it holds at most, and ends the stream. */
  private wordsIn(frame: RawFrame, wordReader: StreamReader): readonly ChatEvent[] {
    try {
      return wordReader.feed(frame);
    } catch (error) {
      this.defect ??= { error };
      return [{ type: 'text-delta', index: 0, text: longestString(frame.text) }];
    }
  }
}

/** The longest JSON string in it: in a piece of an answer, its words. A pattern would look for the end of an open string from each of its quotes. */
function longestString(text: string): string {
  let longest = '';
  for (let at = text.indexOf('"'); at >= 0; ) {
    let end = at + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    if (end >= text.length) break;
    if (end + 1 - at > longest.length) longest = text.slice(at, end + 1);
    at = text.indexOf('"', end + 1);
  }
  return longest;
}

/** Every event is read and written again in the client's dialect. */
export class TranslatingRelay extends FrameRelay {
  private readonly collected: ChatEvent[] = [];

  /** @param writer null = gather the events. @param change applied to each event in between; null = none is. */
  constructor(
    upstream: UpstreamHalf,
    private readonly writer: StreamWriter | null,
    now: () => number,
    private readonly change: ((event: ChatEvent) => readonly ChatEvent[]) | null = null,
    soundForm: string | null = null,
  ) {
    super(upstream, now, soundForm);
  }

  pass(frame: RawFrame): string | null {
    this.usageBefore = this.usage;
    this.delivered.mark();
    this.receivedBytes += frame.size;
    return this.write(this.reader.feed(frame));
  }

  protected forgetFrame(): void {
    this.delivered.backToMark();
  }

  protected forgetWaiting(_bytes: number, units: number): void {
    this.delivered.backToUnits(units);
  }

  nearEnd(): boolean {
    return (this.reader.progress ?? 'going') !== 'going';
  }

  close(rest: Uint8Array): string | null {
    const before = rest.length > 0 ? this.pass(rawFrame(rest)) : null;
    this.usageBefore = this.usage;
    this.delivered.mark();
    const after = this.write(this.reader.end());
    return before === null ? after : before + (after ?? '');
  }

  deliveredSinceUsage(): boolean {
    return deliveredAmount(this.delivered) > this.deliveredAtUsage;
  }

  words(): DeliveredText {
    return this.delivered;
  }

  events(): readonly ChatEvent[] {
    return this.collected;
  }

  private write(events: readonly ChatEvent[]): string | null {
    try {
      return this.writeAll(events);
    } catch (error) {
      // The client gets nothing of this frame.
      this.delivered.backToMark();
      this.usage = this.usageBefore;
      throw error;
    }
  }

  private writeAll(events: readonly ChatEvent[]): string | null {
    const { delivered, writer, change } = this;
    let out = '';
    let hasMore = false;
    let isReported = false;
    for (const event of events) {
      const failed = event.type === 'finish' ? failureIn(event) : null;
      if (failed !== null) {
        this.error ??= failed;
        continue;
      }
      this.note(event);
      // Events that the client's dialect has no place for do not reach it.
      if (event.type !== 'omitted') hasMore = delivered.take(event) || hasMore;
      if (event.type === 'usage' && event.repeated !== true) {
        isReported = true;
        this.deliveredAtUsage = deliveredAmount(delivered);
      }
      // The caller that ends the stream writes errors, redacted.
      if (event.type === 'error' || event.type === 'other-choice') continue;
      if (writer === null && change === null) this.collected.push(event);
      else if (writer === null) for (const changed of change?.(event) ?? none) this.collected.push(changed);
      else if (change === null) out += writer.write(event);
      else for (const changed of change(event)) out += writer.write(changed);
    }
    this.isLast = this.reason !== null;
    if (this.isLast || this.reader.progress === 'stopped') this.billed = isReported || (this.billed && !hasMore);
    return out === '' ? null : out;
  }
}
