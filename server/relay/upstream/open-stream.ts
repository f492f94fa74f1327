/** Opens an upstream's event stream as far as its first content, or reads all of it. */
import type { UpstreamError, Usage } from '../../protocols/canonical.ts';
import type { Framing } from '../../protocols/codec.ts';
import { emptyRun, type FrameRun, type RawFrame, rawFrame, runOf, SseSplitter } from '../../protocols/shared/sse.ts';
import { createDeadlines } from '../shared/deadlines.ts';
import type { FrameRelay, Piece } from './frame-relay.ts';

/** A stream whose first content has been seen. */
export interface OpenStream {
  readonly reader: Bytes;
  readonly framing: Framing;
  readonly frameRelay: FrameRelay;
  /** Pieces for the client that have been read already. */
  readonly head: readonly Piece[];
  /** The piece that waits for the bill, when the end has been read too. */
  readonly last: Piece | null;
  /** Frames of the same chunk that were not looked at yet. */
  readonly ahead: FrameRun;
  readonly done: boolean;
  readonly firstByteMs: number | null;
  /** When the request was sent. */
  readonly sentMs: number;
}

export type Bytes = ReadableStreamDefaultReader<Uint8Array>;

export const sseFraming = (): Framing => new SseSplitter();

/** The frames that a chunk completes. */
export const runOfChunk = (framing: Framing, chunk: Uint8Array): FrameRun =>
  framing instanceof SseSplitter ? framing.advance(chunk) : runOf(framing.push(chunk));

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
}

const silences = createDeadlines(50);

/** Reads as far as the first content, so that until then the request can still go elsewhere. Never rejects. */
export async function openStream(options: OpenOptions): Promise<Opening> {
  const { framing, frameRelay, sentMs } = options;
  const reader = options.upstream.getReader();
  const head: Piece[] = [];
  let firstByteMs: number | null = null;
  let idle = false;
  const silence = silences.start(options.firstMs, () => {
    idle = true;
    void reader.cancel().catch(() => undefined);
  });
  const give = (reason: 'empty' | 'broken' | 'timeout' | 'error', error: UpstreamError | null = null): Opening => {
    void reader.cancel().catch(() => undefined);
    return { ok: false, reason: idle ? 'timeout' : reason, error, usage: frameRelay.usage() };
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (value !== undefined) {
        firstByteMs ??= options.now();
        silence.restart(options.idleMs);
      }
      const run = value === undefined ? emptyRun : runOfChunk(framing, value);
      const seen = firstContent(frameRelay, run, head);
      if (seen !== null) {
        const error = frameRelay.error();
        if (error !== null) return give('error', error);
        if (isEmpty(frameRelay)) return give('empty');
        const { last, count } = seen;
        const ahead = run.from(count);
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
        stream: {
          reader,
          framing,
          frameRelay,
          head,
          last: piece ?? '',
          firstByteMs,
          sentMs,
          ahead: emptyRun,
          done: true,
        },
      };
    }
  } catch {
    return give('broken');
  } finally {
    silence.end();
  }
}

/** @param head receives what goes to the client. @returns where the frames brought the first content, an end or an error; null = nowhere. */
function firstContent(
  frameRelay: FrameRelay,
  run: FrameRun,
  head: Piece[],
): { readonly last: Piece | null; readonly count: number } | null {
  for (let count = 1; count <= run.count; count++) {
    const frame = run.frame(count - 1);
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

/** So long the stream is read on behind its end where nothing of it says what it cost. */
const lateMs = 500;

/** Some upstreams report behind the end, or behind an error, what the answer cost. @param ahead frames that were read already. */
export async function readLate({ reader, framing, frameRelay, done }: OpenStream, ahead: readonly RawFrame[]) {
  if (isWholeBill(frameRelay, true)) return;
  for (const frame of ahead) frameRelay.late(frame);
  if (done || frameRelay.billed()) return;
  const { promise: tooLate, resolve } = Promise.withResolvers<null>();
  const limit = silences.start(lateMs, () => resolve(null));
  try {
    while (!frameRelay.billed()) {
      const read = await Promise.race([reader.read(), tooLate]);
      if (read === null) break;
      if (read.value !== undefined) for (const frame of framing.push(read.value)) frameRelay.late(frame);
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
  const silence = silences.start(idleMs, cut);
  let size = 0;
  try {
    for (const frame of stream.ahead.frames()) frameRelay.pass(frame);
    for (let done = stream.done; !done && !frameRelay.isLast(); ) {
      const read = await reader.read();
      done = read.done;
      silence.restart(idleMs);
      size += read.value?.length ?? 0;
      if (size > gatheredLimit) {
        cut();
        return false;
      }
      if (read.value !== undefined) for (const frame of framing.push(read.value)) frameRelay.pass(frame);
    }
    if (frameRelay.isLast()) await readLate(stream, []);
    else if (!stream.done) frameRelay.close(framing.end());
  } catch {
    return false;
  } finally {
    silence.end();
  }
  cut();
  return frameRelay.error() === null && frameRelay.finish() !== null;
}
