/** Cuts a byte stream into server-sent events without copying or decoding more than it must; every frame keeps its exact bytes. */
import type { RawFrame, SseFrame } from '../codec.ts';

export type { RawFrame };

export interface SseSplitter {
  /** @returns the frames completed by this chunk, in order. @throws RangeError when one frame outgrows the limit. */
  push(chunk: Uint8Array): RawFrame[];
  /** Bytes after the last blank line. `rawFrame` reads them as an event. */
  end(): Uint8Array;
}

/** A frame may carry a picture in base64 (2 MB were seen), hence not the usual 1 MiB. */
export const frameLimit = 16 * 1024 * 1024;
const lf = 10;
const cr = 13;
const nothing = new Uint8Array(0);

export function createSseSplitter(limit: number = frameLimit): SseSplitter {
  /** An unfinished frame: the first `size` bytes of a buffer that grows by doubling, so that many small chunks stay cheap. */
  let held = nothing;
  let size = 0;
  // How much of the held bytes is known to contain no frame end.
  let scanned = 0;
  let sawCr = false;
  /** Known with the first event. */
  let lines: LineSplitter | null = null;
  let known = false;

  const hold = (rest: Uint8Array): void => {
    if (size + rest.length > held.length) {
      const grown = new Uint8Array(Math.max(1024, 2 * (size + rest.length)));
      grown.set(held.subarray(0, size));
      held = grown;
    }
    held.set(rest, size);
    size += rest.length;
  };

  return {
    push(chunk) {
      if (lines !== null) return lines.push(chunk);
      sawCr ||= chunk.indexOf(cr) >= 0;
      const joined = size > 0;
      if (joined) hold(chunk);
      const bytes = joined ? held.subarray(0, size) : chunk;
      const frames: RawFrame[] = [];
      const start = cut(bytes, joined ? scanned : 0, sawCr, frames);
      if (!known) {
        const [first] = frames;
        const text = first?.text() ?? (bytes.length < longestLook ? decode(bytes) : '');
        if (separatedByLines(text)) {
          lines = new LineSplitter(limit);
          const all = bytes.slice();
          held = nothing;
          size = 0;
          return lines.push(all);
        }
        known = text.includes('data:') && first !== undefined;
      }
      const rest = bytes.length - start;
      if (rest > limit) throw new RangeError('event stream frame too large');
      if (!joined || start > 0) {
        // The frames given out look into the old buffer, so it is never written again.
        held = nothing;
        size = 0;
        if (rest > 0) hold(bytes.subarray(start));
      }
      // A line end at the border may be half of a blank line: look at the last three bytes again.
      scanned = Math.max(0, rest - 3);
      return frames;
    },
    end() {
      if (lines !== null) return lines.end();
      const rest = held.subarray(0, size);
      held = nothing;
      size = 0;
      scanned = 0;
      return rest;
    },
  };
}

/** An event without its end is looked into only while it is short. */
const longestLook = 64 * 1024;

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
  } catch {
    return false;
  }
}

/** Makes an event of each line of data and the lines before it, with the blank line that it lacks. */
class LineSplitter {
  #rest: Uint8Array = nothing;
  /** Lines of the event that has no data yet. */
  #before = '';

  constructor(private readonly limit: number) {}

  push(chunk: Uint8Array): RawFrame[] {
    const bytes = this.#rest.length === 0 ? chunk : new Uint8Array(Buffer.concat([this.#rest, chunk]));
    const frames: RawFrame[] = [];
    let start = 0;
    for (let at = bytes.indexOf(lf); at >= 0; at = bytes.indexOf(lf, start)) {
      const frame = this.#take(decode(bytes.subarray(start, at)));
      if (frame !== null) frames.push(rawFrame(Buffer.from(frame)));
      start = at + 1;
    }
    this.#rest = bytes.slice(start);
    if (this.#rest.length + this.#before.length > this.limit) throw new RangeError('event stream frame too large');
    return frames;
  }

  end(): Uint8Array {
    const frame = this.#take(decode(this.#rest));
    this.#rest = nothing;
    return frame === null ? nothing : Buffer.from(frame);
  }

  /** @returns the event that a line completes. */
  #take(given: string): string | null {
    const line = given.endsWith('\r') ? given.slice(0, -1) : given;
    if (!line.startsWith('data:')) {
      if (line !== '') this.#before += `${line}\n`;
      return null;
    }
    const frame = `${this.#before}${line}\n\n`;
    this.#before = '';
    return frame;
  }
}

/** Adds the complete frames to `frames`. @returns where the unfinished one begins. */
function cut(bytes: Uint8Array, from: number, withCr: boolean, frames: RawFrame[]): number {
  let start = 0;
  const source = new Source(bytes);
  if (!withCr) {
    for (let at = bytes.indexOf(lf, from); at >= 0; ) {
      if (bytes[at + 1] === lf) {
        frames.push(new Frame(source, start, at + 2 - start));
        start = at + 2;
        at = bytes.indexOf(lf, start);
      } else {
        at = bytes.indexOf(lf, at + 1);
      }
    }
    return start;
  }
  const end = lineEnds(bytes);
  let at = from;
  for (;;) {
    const line = end(at);
    // A CR at the very end may be the first half of CR LF; the next chunk tells.
    if (line === null || line.next >= bytes.length) return start;
    const blank = bytes[line.next];
    if (blank !== lf && blank !== cr) {
      at = line.next;
      continue;
    }
    if (blank === cr && line.next + 1 >= bytes.length) return start;
    const past = blank === cr && bytes[line.next + 1] === lf ? line.next + 2 : line.next + 1;
    frames.push(new Frame(source, start, past - start));
    start = past;
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

/** @param bytes one event; decoded when somebody looks at it. */
export const rawFrame = (bytes: Uint8Array): RawFrame => new Frame(new Source(bytes), 0, bytes.length);

/** What came together is decoded together: where it is all ASCII, places in the bytes are places in the text. */
class Source {
  readonly bytes: Uint8Array;
  #text: string | null = null;
  #plain = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  part(start: number, size: number): Uint8Array {
    return size === this.bytes.length ? this.bytes : this.bytes.subarray(start, start + size);
  }

  textOf(start: number, size: number): string {
    if (this.#text === null) {
      this.#text = decode(this.bytes);
      this.#plain = this.#text.length === this.bytes.length;
    }
    if (size === this.bytes.length) return this.#text;
    return this.#plain ? this.#text.slice(start, start + size) : decode(this.part(start, size));
  }
}

const decode = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('utf8');

/** A class, since a stream makes thousands: three closures for each would be most of its cost. */
class Frame implements RawFrame {
  readonly start: number;
  readonly size: number;
  readonly #source: Source;
  #parsed: SseFrame | null = null;

  constructor(source: Source, start: number, size: number) {
    this.#source = source;
    this.start = start;
    this.size = size;
  }

  get within(): Uint8Array {
    return this.#source.bytes;
  }

  get bytes(): Uint8Array {
    return this.#source.part(this.start, this.size);
  }

  text(): string {
    return this.#source.textOf(this.start, this.size);
  }

  event(): string {
    return this.#fields().event;
  }

  data(): string {
    return this.#fields().data;
  }

  #fields(): SseFrame {
    this.#parsed ??= parseFrame(this.text());
    return this.#parsed;
  }
}

/** Field rules of the event stream format: one leading space is dropped, comments and unknown fields are ignored. */
export function parseFrame(source: string): SseFrame {
  const body = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  // Nearly every frame is one data line.
  if (body.startsWith('data: ') && body.indexOf('\n') === body.length - 2 && !body.includes('\r')) {
    return { event: '', data: body.slice(6, -2) };
  }
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
  push(chunk: string): SseFrame[];
  /** The event without a blank line behind it; null when there is none. */
  end(): SseFrame | null;
}

/** The same for streams that arrive as text. */
export function createSseTextSplitter(limit: number = frameLimit): SseTextSplitter {
  const splitter = createSseSplitter(limit);
  const encoder = new TextEncoder();
  let half = '';
  return {
    push(chunk) {
      const joined = half + chunk;
      const last = joined.charCodeAt(joined.length - 1);
      // The first half of a surrogate pair waits for the second.
      half = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : '';
      const whole = half === '' ? joined : joined.slice(0, -1);
      return splitter.push(encoder.encode(whole)).map((frame) => ({ event: frame.event(), data: frame.data() }));
    },
    end() {
      const rest = splitter.end();
      if (rest.length === 0) return null;
      const frame = rawFrame(rest);
      return { event: frame.event(), data: frame.data() };
    },
  };
}
