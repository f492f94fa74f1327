/** Cuts a byte stream into server-sent events without copying or decoding more than it must; every frame keeps its exact bytes. */
import type { LazyFrame, SseFrame } from '../codec.ts';

/** One event with its bytes as they came, blank line included. */
export interface RawFrame extends LazyFrame {
  readonly bytes: Uint8Array;
}

export interface SseSplitter {
  /** @returns the frames completed by this chunk, in order. @throws RangeError when one frame outgrows the limit. */
  push(chunk: Uint8Array): RawFrame[];
  /** Bytes after the last blank line. */
  end(): Uint8Array;
}

/** A frame may carry a picture in base64, hence not the usual 1 MiB. */
const defaultLimit = 16 * 1024 * 1024;
const lf = 10;
const cr = 13;

export function createSseSplitter(limit: number = defaultLimit): SseSplitter {
  let held: Uint8Array | null = null;
  // How much of `held` is known to contain no frame end.
  let scanned = 0;

  return {
    push(chunk) {
      const bytes: Uint8Array = held === null ? chunk : concat(held, chunk);
      const frames: RawFrame[] = [];
      let start = 0;
      let from = held === null ? 0 : scanned;
      const hasCr = bytes.includes(cr);
      for (;;) {
        const end = hasCr ? frameEnd(bytes, from) : frameEndLf(bytes, from);
        if (end < 0) break;
        frames.push(rawFrame(bytes.subarray(start, end)));
        start = end;
        from = end;
      }
      const rest = bytes.length - start;
      if (rest > limit) throw new RangeError('event stream frame too large');
      held = rest === 0 ? null : start === 0 ? bytes : bytes.slice(start);
      // A line end at the border may be half of a blank line: look at the last three bytes again.
      scanned = Math.max(0, rest - 3);
      return frames;
    },
    end() {
      const rest = held ?? new Uint8Array(0);
      held = null;
      return rest;
    },
  };
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

/** The common case: line feeds only. */
function frameEndLf(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(lf, from);
  while (at >= 0) {
    if (bytes[at + 1] === lf) return at + 2;
    at = bytes.indexOf(lf, at + 1);
  }
  return -1;
}

/** Index just past the blank line that ends the frame, or -1. Line ends are LF, CR LF or CR. */
function frameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const line = nextLineEnd(bytes, at);
    if (line < 0) return -1;
    const after = pastLineEnd(bytes, line);
    if (after < 0) return -1;
    const code = bytes[after];
    if (code === lf) return after + 1;
    if (code === cr) {
      // A CR at the very end may be the first half of CR LF.
      if (after + 1 >= bytes.length) return -1;
      return bytes[after + 1] === lf ? after + 2 : after + 1;
    }
    if (code === undefined) return -1;
    at = after;
  }
}

function nextLineEnd(bytes: Uint8Array, from: number): number {
  const atLf = bytes.indexOf(lf, from);
  const atCr = bytes.indexOf(cr, from);
  if (atLf < 0) return atCr;
  return atCr < 0 || atLf < atCr ? atLf : atCr;
}

/** -1 when it cannot be told yet whether a CR is followed by LF. */
function pastLineEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] === lf) return at + 1;
  if (at + 1 >= bytes.length) return -1;
  return bytes[at + 1] === lf ? at + 2 : at + 1;
}

function rawFrame(bytes: Uint8Array): RawFrame {
  let text: string | null = null;
  let parsed: SseFrame | null = null;
  const read = (): string => {
    text ??= Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    return text;
  };
  const fields = (): SseFrame => {
    parsed ??= parseFrame(read());
    return parsed;
  };
  return { bytes, text: read, event: () => fields().event, data: () => fields().data };
}

/** Field rules of the event stream format: one leading space is dropped, comments and unknown fields are ignored. */
export function parseFrame(text: string): SseFrame {
  let event = '';
  let data = '';
  let hasData = false;
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  for (const line of body.split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5);
      data = hasData ? `${data}\n${value}` : value;
      hasData = true;
    } else if (line.startsWith('event:')) {
      event = line.slice(6).trim();
    }
  }
  return { event, data };
}
