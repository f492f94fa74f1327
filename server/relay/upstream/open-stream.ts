/** Opens an upstream's event stream as far as its first content, or reads all of it. */
import type { UpstreamError, Usage } from '../../protocols/canonical.ts';
import { createSseSplitter, type RawFrame, rawFrame, type SseSplitter } from '../../protocols/shared/sse.ts';
import { createDeadlines } from '../shared/deadlines.ts';
import type { Outgoing } from '../shared/sink.ts';
import type { FrameRelay } from './frame-relay.ts';

/** A stream whose first content has been seen. */
export interface OpenStream {
  readonly reader: Bytes;
  readonly framing: Framing;
  readonly frameRelay: FrameRelay;
  /** Pieces for the client that have been read already. */
  readonly head: readonly Outgoing[];
  /** The piece that waits for the bill, when the end has been read too. */
  readonly last: Outgoing | null;
  /** Frames of the same chunk that were not looked at yet. */
  readonly ahead: readonly RawFrame[];
  readonly done: boolean;
  readonly firstByteMs: number | null;
  /** When the request was sent. */
  readonly sentMs: number;
}

export type Bytes = ReadableStreamDefaultReader<Uint8Array>;

/** Turns upstream bytes into frames. Server-sent events, or another framing told as such. */
export type Framing = Pick<SseSplitter, 'push' | 'end'>;

export const sseFraming = (): Framing => createSseSplitter();

export type Opening =
  | { readonly ok: true; readonly stream: OpenStream }
  | {
      readonly ok: false;
      readonly reason: 'empty' | 'broken' | 'timeout' | 'error';
      readonly error: UpstreamError | null;
      /** What had been reported before. */
      readonly usage: Usage | null;
    };

export interface OpenOptions {
  readonly upstream: ReadableStream<Uint8Array>;
  readonly framing: Framing;
  readonly frameRelay: FrameRelay;
  /** Milliseconds until the first byte. */
  readonly firstMs: number;
  /** Milliseconds without a byte from the upstream before it counts as broken. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly sentMs: number;
  readonly abort: AbortController;
}

/** Reads as far as the first content, so that until then the request can still go elsewhere. Never rejects. */
export async function openStream(options: OpenOptions): Promise<Opening> {
  const { framing, frameRelay, sentMs } = options;
  const reader = options.upstream.getReader();
  const head: Outgoing[] = [];
  let firstByteMs: number | null = null;
  let idle = false;
  let timer = setTimeout(cut, options.firstMs);
  function cut() {
    idle = true;
    void reader.cancel().catch(() => undefined);
  }
  const give = (reason: 'empty' | 'broken' | 'timeout' | 'error', error: UpstreamError | null = null): Opening => {
    void reader.cancel().catch(() => undefined);
    return { ok: false, reason: idle ? 'timeout' : reason, error, usage: frameRelay.usage() };
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (value !== undefined) {
        firstByteMs ??= options.now();
        clearTimeout(timer);
        timer = setTimeout(cut, options.idleMs);
      }
      const frames = value === undefined ? [] : framing.push(value);
      const seen = firstContent(frameRelay, frames, head);
      if (seen !== null) {
        const error = frameRelay.error();
        if (error !== null) return give('error', error);
        if (isEmpty(frameRelay)) return give('empty');
        const { last, count } = seen;
        const ahead = frames.slice(count);
        return {
          ok: true,
          stream: { reader, framing, frameRelay, head, last, ahead, done: false, firstByteMs, sentMs },
        };
      }
      if (!done) continue;
      const piece = frameRelay.close(framing.end());
      if (frameRelay.finish() === null) {
        const error = frameRelay.error();
        return error === null || error.code === null ? give('broken') : give('error', error);
      }
      if (isEmpty(frameRelay)) return give('empty');
      return {
        ok: true,
        stream: { reader, framing, frameRelay, head, last: piece ?? '', firstByteMs, sentMs, ahead: [], done: true },
      };
    }
  } catch {
    return give('broken');
  } finally {
    clearTimeout(timer);
  }
}

/** @param head receives what goes to the client. @returns where the frames brought the first content, an end or an error; null = nowhere. */
function firstContent(
  frameRelay: FrameRelay,
  frames: readonly RawFrame[],
  head: Outgoing[],
): { readonly last: Outgoing | null; readonly count: number } | null {
  let count = 0;
  for (const frame of frames) {
    count++;
    const piece = frameRelay.pass(frame);
    if (frameRelay.error() !== null) return { last: null, count };
    if (frameRelay.isLast()) return { last: piece ?? '', count };
    if (piece !== null) head.push(piece);
    if (frameRelay.hasContent()) return { last: null, count };
  }
  return null;
}

/** An answer that ended well, says nothing and costs nothing is a failure in disguise; one that was cut off or filtered is not. */
export function isEmpty(frameRelay: FrameRelay): boolean {
  if (frameRelay.hasContent() || frameRelay.usage() !== null) return false;
  const reason = frameRelay.finish()?.reason.unified;
  return reason === 'stop' || reason === 'other';
}

/** Whether what was reported is all that the answer cost. @param complete it came to its end. */
export const isWholeBill = (frameRelay: FrameRelay, complete: boolean): boolean =>
  frameRelay.usage() !== null && (frameRelay.billed() || (complete && !frameRelay.saidSinceUsage()));

const lateness = createDeadlines(50);
/** So long the stream is read on behind its end where nothing of it says what it cost. */
const lateMs = 500;

/** Some upstreams report behind the end, or behind an error, what the answer cost. @param ahead frames that were read already. */
export async function readLate({ reader, framing, frameRelay, done }: OpenStream, ahead: readonly RawFrame[]) {
  if (isWholeBill(frameRelay, true)) return;
  for (const frame of ahead) frameRelay.late(frame);
  if (done || frameRelay.billed()) return;
  const { promise: tooLate, resolve } = Promise.withResolvers<null>();
  const limit = lateness.start(lateMs, () => resolve(null));
  try {
    while (!frameRelay.billed()) {
      const read = await Promise.race([reader.read(), tooLate]);
      if (read === null) break;
      for (const frame of read.value === undefined ? [] : framing.push(read.value)) frameRelay.late(frame);
      if (!read.done) continue;
      const rest = framing.end();
      if (rest.length > 0) frameRelay.late(rawFrame(rest));
      break;
    }
  } catch {
    // It broke off behind its end: what was delivered is counted.
  } finally {
    limit.end();
    void reader.cancel().catch(() => undefined);
  }
}

/** Answers that are gathered are kept whole. */
export const gatheredLimit = 64 * 1024 * 1024;

/** Lets the frame relay see the rest. @returns false when the stream broke off, fell silent or grew too large. */
export async function readToEnd(stream: OpenStream, idleMs: number): Promise<boolean> {
  const { reader, framing, frameRelay } = stream;
  const cut = () => void reader.cancel().catch(() => undefined);
  let idle = setTimeout(cut, idleMs);
  let size = 0;
  try {
    for (const frame of stream.ahead) frameRelay.pass(frame);
    for (let done = stream.done; !done && !frameRelay.isLast(); ) {
      const read = await reader.read();
      done = read.done;
      clearTimeout(idle);
      idle = setTimeout(cut, idleMs);
      size += read.value?.length ?? 0;
      if (size > gatheredLimit) {
        cut();
        return false;
      }
      for (const frame of read.value === undefined ? [] : framing.push(read.value)) frameRelay.pass(frame);
    }
    if (frameRelay.isLast()) await readLate(stream, []);
    else if (!stream.done) frameRelay.close(framing.end());
  } catch {
    return false;
  } finally {
    clearTimeout(idle);
  }
  cut();
  return frameRelay.error() === null && frameRelay.finish() !== null;
}
