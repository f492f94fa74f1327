/** Cuts a byte stream into server-sent events without copying or decoding more than it must; every frame keeps its exact bytes. */
import { AppError } from '../../contract/errors.ts';
import { rethrowOutOfMemory } from '../../contract/own-shortage.ts';
/** One server-sent event: `event` is '' when the stream names none, `data` the joined data lines. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
}

/** Upstream bytes as frames. */
export interface Framing {
  /** @returns the frames that a chunk completes. */
  advance(chunk: Uint8Array): FrameRun;
  end(): Uint8Array;
}

/** A frame may carry a picture in base64 (2 MB were seen), hence not the usual 1 MiB. */
const frameLimit = 16 * 1024 * 1024;
const lf = 10;
const cr = 13;
const nothing = new Uint8Array(0);
const noEnds: readonly number[] = [];

/** Called on plain bytes: a view of them as a buffer costs more than the text. */
const toText = Buffer.prototype.toString;
export const decode = (bytes: Uint8Array): string => toText.call(bytes, 'utf8');

/** One event with its bytes as they came, blank line included. A class with plain fields, since a stream makes thousands. */
export class RawFrame implements SseFrame {
  readonly event: string;
  readonly data: string;

  /** @param source bytes that contain the frame, from `start` to `end`. @param text the frame's bytes as text. */
  constructor(
    private readonly source: Uint8Array,
    private readonly start: number,
    private readonly end: number,
    readonly text: string,
  ) {
    // Nearly every frame is one data line.
    if (text.startsWith('data: ') && text.indexOf('\n') === text.length - 2 && !text.includes('\r')) {
      this.event = '';
      this.data = text.slice(6, -2);
    } else {
      const { event, data } = parseFrame(text);
      this.event = event;
      this.data = data;
    }
  }

  get size(): number {
    return this.end - this.start;
  }

  get bytes(): Uint8Array {
    const { source, start, end } = this;
    return end - start === source.length ? source : source.subarray(start, end);
  }
}

/** @param bytes one event. */
export const rawFrame = (bytes: Uint8Array): RawFrame => new RawFrame(bytes, 0, bytes.length, decode(bytes));

/** Whole frames that lie side by side: they can pass as one piece of bytes, or be looked at one by one. */
export class FrameRun {
  readonly count: number;

  /** @param ends where each frame ends; the last one with the bytes. */
  constructor(
    readonly bytes: Uint8Array,
    readonly ends: readonly number[],
  ) {
    this.count = ends.length;
  }

  /** What came together is decoded together: where it is all ASCII, places in the bytes are places in the text. */
  frames(): readonly RawFrame[] {
    const { bytes, ends } = this;
    if (ends.length === 0) return noFrames;
    const text = toText.call(bytes, 'utf8');
    if (ends.length === 1) return [new RawFrame(bytes, 0, bytes.length, text)];
    const isAscii = text.length === bytes.length;
    const frames: RawFrame[] = [];
    let start = 0;
    for (const end of ends) {
      const own = isAscii ? text.slice(start, end) : toText.call(bytes, 'utf8', start, end);
      frames.push(new RawFrame(bytes, start, end, own));
      start = end;
    }
    return frames;
  }

  /** One of them alone. */
  frame(index: number): RawFrame {
    const { bytes, ends } = this;
    const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
    const end = ends[index] ?? bytes.length;
    return new RawFrame(bytes, start, end, toText.call(bytes, 'utf8', start, end));
  }

  /** The number of the frame that a byte belongs to. */
  frameAt(byte: number): number {
    let index = 0;
    while ((this.ends[index] ?? Number.POSITIVE_INFINITY) <= byte) index++;
    return index;
  }

  /** The bytes of the first frames. */
  head(count: number): Uint8Array {
    if (count === this.count) return this.bytes;
    return this.bytes.subarray(0, count === 0 ? 0 : this.ends[count - 1]);
  }

  /** Without the first frames. */
  from(count: number): FrameRun {
    if (count === 0) return this;
    const start = this.ends[count - 1];
    if (count === this.count || start === undefined) return emptyRun;
    const ends: number[] = [];
    for (let at = count; at < this.count; at++) ends.push((this.ends[at] ?? 0) - start);
    return new FrameRun(this.bytes.subarray(start), ends);
  }
}

const noFrames: readonly RawFrame[] = [];
export const emptyRun = new FrameRun(nothing, noEnds);

/** Frames that were made one by one, as one run. */
export function runOf(frames: readonly RawFrame[]): FrameRun {
  if (frames.length === 0) return emptyRun;
  let end = 0;
  const ends = frames.map(({ size }) => (end += size));
  const [first] = frames;
  return new FrameRun(
    first !== undefined && frames.length === 1 ? first.bytes : concat(frames.map(({ bytes }) => bytes)),
    ends,
  );
}

/** All frames of bytes that were whole frames before; what has no end is one too. */
export function framesIn(bytes: Uint8Array): readonly RawFrame[] {
  const ends: number[] = [];
  frameEnds(bytes, 0, ends);
  if ((ends.at(-1) ?? 0) < bytes.length) ends.push(bytes.length);
  return new FrameRun(bytes, ends).frames();
}

const concat = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

/** Bytes that wait for more: a buffer that grows by doubling, so that many small chunks cost no more than their bytes. */
export class HeldBytes {
  #buffer = nothing;
  #start = 0;
  #end = 0;

  get size(): number {
    return this.#end - this.#start;
  }

  /** All that is held. What was given out is never written again. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** @returns what is held with a chunk behind it, which is the chunk where nothing is. */
  join(chunk: Uint8Array): Uint8Array {
    if (this.size === 0) return chunk;
    this.#add(chunk);
    return this.bytes;
  }

  /** @param joined what `join` returned. @param used so many of its first bytes are needed no more. */
  keep(joined: Uint8Array, used: number): void {
    if (this.size === 0) this.#add(joined.subarray(used));
    else this.#drop(used);
  }

  clear(): void {
    this.#drop(this.size);
  }

  #add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const end = this.#end + chunk.length;
    if (end > this.#buffer.length) {
      const held = this.bytes;
      const grown = new Uint8Array(Math.max(1024, 2 * (held.length + chunk.length)));
      grown.set(held);
      this.#buffer = grown;
      this.#start = 0;
      this.#end = held.length;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  #drop(count: number): void {
    this.#start += count;
    if (this.#start < this.#end) return;
    this.#buffer = nothing;
    this.#start = 0;
    this.#end = 0;
  }
}

/** Cuts the chunks of a stream behind each blank line. */
export class SseSplitter implements Framing {
  /** An unfinished frame: the first `size` bytes of a buffer that grows by doubling, so that many small chunks stay cheap. */
  #held = nothing;
  #size = 0;
  /** How much of the held bytes is known to contain no frame end. */
  #scanned = 0;
  #sawCr = false;
  /** How much of an unfinished event was searched for lines of data, and how many were found. */
  #looked = 0;
  #dataLines = 0;
  /** Known with the first event. */
  #lines: LineSplitter | null = null;
  #known = false;

  constructor(private readonly limit: number = frameLimit) {}

  /** @returns the frames completed by this chunk, in order. @throws AppError upstream_broken when one frame outgrows the limit. */
  push(chunk: Uint8Array): readonly RawFrame[] {
    return this.advance(chunk).frames();
  }

  /** The same in one piece. */
  advance(chunk: Uint8Array): FrameRun {
    if (this.#lines !== null) return this.#lines.advance(chunk);
    this.#sawCr ||= chunk.indexOf(cr) >= 0;
    const joined = this.#size > 0;
    if (joined) this.#hold(chunk);
    const bytes = joined ? this.#held.subarray(0, this.#size) : chunk;
    const from = joined ? this.#scanned : 0;
    const ends: number[] = [];
    if (this.#sawCr) frameEnds(bytes, from, ends);
    else
      for (let at = bytes.indexOf(lf, from); at >= 0; ) {
        const isEnd = bytes[at + 1] === lf;
        if (isEnd) ends.push(at + 2);
        at = bytes.indexOf(lf, isEnd ? at + 2 : at + 1);
      }
    if (!this.#known) {
      const before = this.#beforeLines(bytes, ends);
      if (before !== null) {
        const lines = new LineSplitter(this.limit);
        this.#lines = lines;
        this.#held = nothing;
        this.#size = 0;
        const start = ends[before - 1] ?? 0;
        const rest = lines.advance(bytes.slice(start));
        return before === 0
          ? rest
          : runOf([...new FrameRun(bytes.slice(0, start), ends.slice(0, before)).frames(), ...rest.frames()]);
      }
    }
    const start = ends.at(-1) ?? 0;
    const rest = bytes.length - start;
    if (rest > this.limit) throw new AppError('upstream_broken', {}, 'event stream frame too large');
    if (!joined || start > 0) {
      // The frames given out look into the old buffer, so it is never written again.
      this.#held = nothing;
      this.#size = 0;
      if (rest > 0) this.#hold(bytes.subarray(start));
    }
    // A line end at the border may be half of a blank line: look at the last three bytes again.
    this.#scanned = Math.max(0, rest - 3);
    return start === 0 ? emptyRun : new FrameRun(rest === 0 ? bytes : bytes.subarray(0, start), ends);
  }

  /** The first event with data decides, however the stream is cut. @returns how many events stand before lines that are events; null = no line is known to be one. */
  #beforeLines(bytes: Uint8Array, ends: readonly number[]): number | null {
    let start = 0;
    for (let count = 0; ; count++) {
      const end = ends[count];
      if (end === undefined) return this.#unfinishedIsLines(bytes.subarray(start), count > 0) ? count : null;
      const text = decode(bytes.subarray(start, end));
      if (separatedByLines(text)) return count;
      this.#known = text.includes('data:');
      if (this.#known) return null;
      start = end;
    }
  }

  /** Decided by the first two lines of data, so nothing is looked at twice until they are there. @param isFresh another event has ended in front of it. */
  #unfinishedIsLines(event: Uint8Array, isFresh: boolean): boolean {
    if (isFresh) {
      this.#looked = 0;
      this.#dataLines = 0;
    }
    if (event.length >= maxLookahead) return false;
    if (this.#looked === 0 && find.call(event, dataLine.subarray(1)) === 0) this.#dataLines = 1;
    while (this.#dataLines < 2) {
      const at = find.call(event, dataLine, this.#looked);
      if (at < 0) {
        this.#looked = Math.max(0, event.length - dataLine.length + 1);
        return false;
      }
      this.#dataLines++;
      this.#looked = at + 1;
    }
    if (this.#dataLines > 2) return false;
    // Both are there: what follows changes nothing.
    this.#dataLines++;
    return separatedByLines(decode(event));
  }

  /** Bytes after the last blank line. `rawFrame` reads them as an event. */
  end(): Uint8Array {
    if (this.#lines !== null) return this.#lines.end();
    const rest = this.#held.subarray(0, this.#size);
    this.#held = nothing;
    this.#size = 0;
    this.#scanned = 0;
    return rest;
  }

  #hold(rest: Uint8Array): void {
    const size = this.#size + rest.length;
    if (size > this.#held.length) {
      const grown = new Uint8Array(Math.max(1024, 2 * size));
      grown.set(this.#held.subarray(0, this.#size));
      this.#held = grown;
    }
    this.#held.set(rest, this.#size);
    this.#size = size;
  }
}

/** An event without its end is looked into only while it is short. */
const maxLookahead = 64 * 1024;
const dataLine = Buffer.from('\ndata:');
const find = Buffer.prototype.indexOf;

/** Whether what looks like one event is several with one newline between them: its first line of data is a whole object, and another follows. */
function separatedByLines(text: string): boolean {
  const start = text.startsWith('data:') ? 0 : text.indexOf('\ndata:') + 1;
  const next = text.indexOf('\ndata:', start + 1);
  if (next < 0 || !text.startsWith('data:', start)) return false;
  const data = text.slice(start + 5, text.indexOf('\n', start + 5)).trim();
  if (!data.startsWith('{')) return false;
  try {
    JSON.parse(data);
    return true;
  } catch (error) {
    // reason: the parser alone.
    rethrowOutOfMemory(error);
    return false;
  }
}

/** Makes an event of each line of data and the lines before it, with the blank line that it lacks. */
class LineSplitter {
  readonly #rest = new HeldBytes();
  /** How much of it is known to hold no line end. */
  #scanned = 0;
  /** Lines of the event that has no data yet. */
  #before = '';

  constructor(private readonly limit: number) {}

  advance(chunk: Uint8Array): FrameRun {
    const bytes = this.#rest.join(chunk);
    const frames: RawFrame[] = [];
    let start = 0;
    for (let at = bytes.indexOf(lf, this.#scanned); at >= 0; at = bytes.indexOf(lf, start)) {
      const frame = this.#take(decode(bytes.subarray(start, at)));
      if (frame !== null) frames.push(rawFrame(Buffer.from(frame)));
      start = at + 1;
    }
    this.#rest.keep(bytes, start);
    this.#scanned = this.#rest.size;
    if (this.#rest.size + this.#before.length > this.limit)
      throw new AppError('upstream_broken', {}, 'event stream frame too large');
    return runOf(frames);
  }

  end(): Uint8Array {
    const frame = this.#take(decode(this.#rest.bytes));
    this.#rest.clear();
    this.#scanned = 0;
    return frame === null ? nothing : Buffer.from(frame);
  }

  /** @returns the event that a line completes. */
  #take(text: string): string | null {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text;
    if (!line.startsWith('data:')) {
      if (line !== '') this.#before += `${line}\n`;
      return null;
    }
    const frame = `${this.#before}${line}\n\n`;
    this.#before = '';
    return frame;
  }
}

/** Where lines may end in all three ways. @param ends receives where each complete frame ends. */
function frameEnds(bytes: Uint8Array, from: number, ends: number[]): void {
  const end = lineEnds(bytes);
  let at = from;
  for (;;) {
    const line = end(at);
    // A CR at the very end may be the first half of CR LF; the next chunk decides.
    if (line === null || line.next >= bytes.length) return;
    const blank = bytes[line.next];
    if (blank !== lf && blank !== cr) {
      at = line.next;
      continue;
    }
    if (blank === cr && line.next + 1 >= bytes.length) return;
    const past = blank === cr && bytes[line.next + 1] === lf ? line.next + 2 : line.next + 1;
    ends.push(past);
    at = past;
  }
}

/** Finds line ends of all three kinds; a search that found nothing is not repeated. */
function lineEnds(bytes: Uint8Array): (from: number) => { readonly next: number } | null {
  let nextLf = -2;
  let nextCr = -2;
  const search = (code: number, known: number, from: number): number =>
    known === -1 || known >= from ? known : bytes.indexOf(code, from);
  return (from) => {
    nextLf = search(lf, nextLf, from);
    nextCr = search(cr, nextCr, from);
    if (nextLf < 0 && nextCr < 0) return null;
    if (nextCr < 0 || (nextLf >= 0 && nextLf < nextCr)) return { next: nextLf + 1 };
    return { next: bytes[nextCr + 1] === lf ? nextCr + 2 : nextCr + 1 };
  };
}

/** Field rules of the event stream format: one leading space is dropped, comments and unknown fields are ignored. */
export function parseFrame(source: string): SseFrame {
  const body = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  // Dialects that name their events send a line with the name and a line of data.
  const second = body.startsWith('event: ') ? body.indexOf('\n') + 1 : -1;
  if (
    second > 0 &&
    body.startsWith('data: ', second) &&
    body.indexOf('\n', second) === body.length - 2 &&
    !body.includes('\r')
  )
    return { event: body.slice(7, second - 1).trim(), data: body.slice(second + 6, -2) };
  let event = '';
  let data = '';
  let hasData = false;
  for (const line of body.split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:') || line === 'data') {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5);
      data = hasData ? `${data}\n${value}` : value;
      hasData = true;
    } else if (line.startsWith('event:')) {
      event = line.slice(6).trim();
    }
  }
  return { event, data };
}

export interface SseTextSplitter {
  push(chunk: string): readonly SseFrame[];
  /** The event without a blank line behind it; null when there is none. */
  end(): SseFrame | null;
}

/** The same for streams that arrive as text. */
export function createSseTextSplitter(limit: number = frameLimit): SseTextSplitter {
  const splitter = new SseSplitter(limit);
  const encoder = new TextEncoder();
  let half = '';
  return {
    push(chunk) {
      const joined = half + chunk;
      const last = joined.charCodeAt(joined.length - 1);
      // The first half of a surrogate pair waits for the second.
      half = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : '';
      const whole = half === '' ? joined : joined.slice(0, -1);
      return splitter.push(encoder.encode(whole));
    },
    end() {
      const rest = splitter.end();
      return rest.length === 0 ? null : rawFrame(rest);
    },
  };
}
