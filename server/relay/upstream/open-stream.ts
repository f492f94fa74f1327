/** Opens an upstream's event stream as far as its first content, or reads all of it. */
import type { UpstreamError, Usage } from '../../protocols/canonical.ts';
import { emptyRun, type FrameRun, type Framing, type RawFrame, rawFrame } from '../../protocols/shared/sse.ts';
import type { Deadline, Deadlines } from '../shared/deadline.ts';
import { isOurs, readChunk } from '../shared/defect.ts';
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
  /** Frames of the same chunk that were not read yet. */
  readonly early: FrameRun;
  readonly done: boolean;
  readonly firstByteMs: number | null;
  /** When the request was sent. */
  readonly sentMs: number;
  /** Where its silence is watched. */
  readonly deadlines: Deadlines;
}

export type Bytes = ReadableStreamDefaultReader<Uint8Array>;

export type Opening =
  | { readonly ok: true; readonly stream: OpenStream }
  | {
      readonly ok: false;
      readonly reason: 'empty' | 'broken' | 'timeout' | 'error';
      readonly error: UpstreamError | null;
      /** Usage that had been reported before. */
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
  readonly deadlines: Deadlines;
  readonly sentMs: number;
}

/** Reads as far as the first content, so that until then the request can still go elsewhere. What it throws is a defect of ours. */
export async function openStream(options: OpenOptions): Promise<Opening> {
  const { framing, frameRelay } = options;
  const opened = new BeingOpened(options.upstream.getReader(), options);
  const { reader } = opened;
  try {
    for (;;) {
      const { done, value } = await readChunk(reader);
      if (value !== undefined) {
        opened.firstByteMs ??= options.now();
        opened.silence.restart(options.idleMs);
        const found = opened.read(framing.advance(value));
        if (found !== null) return found;
      }
      if (!done) continue;
      const rest = frameRelay.close(framing.end());
      if (frameRelay.finish() !== null) return opened.open(rest ?? '', emptyRun, true);
      const { error } = frameRelay;
      return error === null || error.code === null ? opened.fail('broken') : opened.fail('error', error);
    }
  } catch (error) {
    const failed = opened.fail('broken');
    if (isOurs(error)) throw error;
    return failed;
  } finally {
    opened.silence.end();
  }
}

/** A stream of which nothing but its beginning was read. */
class BeingOpened {
  firstByteMs: number | null = null;
  readonly silence: Deadline;
  private readonly head: Piece[] = [];
  private isSilent = false;

  constructor(
    readonly reader: Bytes,
    private readonly options: OpenOptions,
  ) {
    this.silence = options.deadlines.start(options.firstMs, () => {
      this.isSilent = true;
      void reader.cancel().catch(() => undefined);
    });
  }

  /** @returns null = nothing in it decides anything. */
  read(run: FrameRun): Opening | null {
    const { frameRelay } = this.options;
    for (let index = 0; index < run.count; index++) {
      const chunk = frameRelay.pass(run.frame(index));
      if (frameRelay.error !== null) return this.fail('error', frameRelay.error);
      if (frameRelay.isLast) return this.open(chunk ?? '', run.from(index + 1), false);
      if (chunk !== null) this.head.push(chunk);
      if (frameRelay.hasContent()) return this.open(null, run.from(index + 1), false);
    }
    return null;
  }

  open(last: Piece | null, early: FrameRun, done: boolean): Opening {
    const { reader, head, firstByteMs, options } = this;
    const { framing, frameRelay, sentMs, deadlines } = options;
    return isEmpty(frameRelay)
      ? this.fail('empty')
      : { ok: true, stream: { reader, framing, frameRelay, head, last, early, done, firstByteMs, sentMs, deadlines } };
  }

  fail(reason: 'empty' | 'broken' | 'timeout' | 'error', error: UpstreamError | null = null): Opening {
    void this.reader.cancel().catch(() => undefined);
    return { ok: false, reason: this.isSilent ? 'timeout' : reason, error, usage: this.options.frameRelay.usage };
  }
}

/** A complete response without content or cost is a failure; one that was cut off or filtered is not. */
function isEmpty(frameRelay: FrameRelay): boolean {
  if (frameRelay.hasContent() || frameRelay.usage !== null) return false;
  const reason = frameRelay.finish()?.reason.unified;
  return reason === 'stop' || reason === 'other';
}

/** Whether what was reported is all that the answer cost. @param complete it came to its end. */
export const isWholeBill = (frameRelay: FrameRelay, complete: boolean): boolean =>
  // Words that are read to find out may bring a usage.
  (frameRelay.billed || (complete && !frameRelay.deliveredSinceUsage())) && frameRelay.usage !== null;

/** How long a stream without usage is read on after its end, and one without an end mark when its answer is whole. */
export const trailingMs = 500;

/** Some upstreams report behind the end, or behind an error, what the answer cost. @param early frames that were read already. */
export const readTrailing = (stream: OpenStream, early: readonly RawFrame[]): Promise<void> | undefined =>
  isWholeBill(stream.frameRelay, true) ? undefined : readForBill(stream, early);

async function readForBill(
  { reader, framing, frameRelay, done, deadlines }: OpenStream,
  early: readonly RawFrame[],
): Promise<void> {
  for (const frame of early) frameRelay.passTrailing(frame);
  if (done || frameRelay.billed) return;
  const { promise: timedOut, resolve } = Promise.withResolvers<null>();
  const limit = deadlines.start(trailingMs, () => resolve(null));
  try {
    while (!frameRelay.billed) {
      const read = await Promise.race([readChunk(reader), timedOut]);
      if (read === null) break;
      if (read.value !== undefined)
        for (const frame of framing.advance(read.value).frames()) frameRelay.passTrailing(frame);
      if (!read.done) continue;
      const rest = framing.end();
      if (rest.length > 0) frameRelay.passTrailing(rawFrame(rest));
      break;
    }
  } catch (error) {
    // It broke off behind its end: what was delivered is counted.
    if (isOurs(error)) throw error;
  } finally {
    limit.end();
    void reader.cancel().catch(() => undefined);
  }
}

/** Answers that are gathered are kept whole. */
const collectedLimit = 64 * 1024 * 1024;

/** Lets the frame relay see the rest. @returns false when the stream broke off, fell silent or grew too large. What it throws is a defect of ours. */
export async function readToEnd(stream: OpenStream, idleMs: number): Promise<boolean> {
  const { reader, framing, frameRelay } = stream;
  const cut = () => void reader.cancel().catch(() => undefined);
  const silence = stream.deadlines.start(idleMs, cut);
  let size = 0;
  try {
    for (const frame of stream.early.frames()) frameRelay.pass(frame);
    for (let done = stream.done; !done && !frameRelay.isLast; ) {
      const read = await readChunk(reader);
      done = read.done;
      size += read.value?.length ?? 0;
      if (size > collectedLimit) {
        cut();
        return false;
      }
      if (read.value !== undefined) for (const frame of framing.advance(read.value).frames()) frameRelay.pass(frame);
      silence.restart(frameRelay.isComplete ? trailingMs : idleMs);
    }
    if (frameRelay.isLast) await readTrailing(stream, []);
    else if (!stream.done) frameRelay.close(framing.end());
  } catch (error) {
    cut();
    if (isOurs(error)) throw error;
    return false;
  } finally {
    silence.end();
  }
  cut();
  return frameRelay.error === null && frameRelay.finish() !== null;
}
