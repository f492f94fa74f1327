/** Brings the frames of one stream to its client, as far as they can be paid for. */
import type { RawFrame } from '../../protocols/shared/sse.ts';
import { untilHeld } from '../admission/lender.ts';
import { type DeliveredText, nothingDelivered, textBefore } from '../shared/delivered-text.ts';
import { joining, type Outgoing, pieceOf, sizeOf } from '../shared/sink.ts';
import { type OpenStream, readLate } from '../upstream/open-stream.ts';
import type { ClientSide } from './client-side.ts';
import type { Ending } from './ending.ts';
import type { WordWatch } from './stop-words.ts';
import type { PumpOptions } from './stream-options.ts';
import type { Watchdog } from './watchdog.ts';

/** Whether that was the end, and the client has been told. Nothing is waited for where nobody has to wait. */
export type Over = boolean | Promise<boolean>;

export interface Frames {
  /** What was read while the stream was opened. */
  begin(): Promise<boolean>;
  /** What came in one piece goes on in one piece where it is covered, else frame by frame as far as it is. */
  deliver(frames: readonly RawFrame[]): Over;
  /** Notes what is owed now and then. */
  overdrawn(): Over;
}

export interface Ends {
  readonly client: ClientSide;
  readonly watchdog: Watchdog;
  readonly ending: Ending;
}

/** Frames on their way out. */
interface Chunk {
  readonly frames: readonly RawFrame[];
  /** The first that was not looked at. */
  next: number;
  wrote: boolean;
}

export function createFrames(options: PumpOptions, opened: OpenStream, { client, watchdog, ending }: Ends): Frames {
  const { departure, cover, watch } = options;
  const { frameRelay } = opened;
  let checkedMs = watchdog.startedMs;
  /** The client takes nothing until then. */
  let full: Promise<unknown> | null = null;
  const out = joining((piece) => {
    const written = client.write(piece);
    if (written instanceof Promise) full = full === null ? written : Promise.all([full, written]);
  });

  /** What the client had when a word of the list was about to be completed. */
  let cutAt: DeliveredText | null = null;
  /** @returns whether the frame just read says what must not be said. @param before how many texts the client has. */
  const saysWord = (asked: WordWatch, before: number): boolean => {
    const said = frameRelay.words();
    if (!asked(said)) return false;
    cutAt = textBefore(said, before);
    return true;
  };

  /** As far as nothing has to be waited for. @returns the piece of the frame that ends the answer, undefined = none did. */
  const pass = (chunk: Chunk): Outgoing | null | undefined => {
    while (chunk.next < chunk.frames.length && full === null) {
      const frame = chunk.frames[chunk.next++];
      if (frame === undefined) break;
      const before = watch === null ? 0 : frameRelay.words().texts.length;
      const piece = frameRelay.pass(frame);
      if (watch !== null && saysWord(watch, before)) {
        out.put();
        return null;
      }
      if (frameRelay.isLast() || frameRelay.error() !== null) {
        out.put();
        return piece;
      }
      if (!client.waited() && frameRelay.awaitsBill()) {
        out.put();
        if (piece !== null) client.hold([pieceOf(piece)]);
        continue;
      }
      if (client.holds()) {
        chunk.wrote = true;
        client.release();
      }
      if (piece === null) continue;
      chunk.wrote = true;
      out.add(piece);
    }
    out.put();
    return undefined;
  };

  const stayed = (): false => {
    // Read on for the bill, and the answer goes on instead.
    if (departure.forBillAlone() && !frameRelay.isLast() && !frameRelay.nearEnd() && !options.thinks(opened))
      throw new Error('client gone');
    return false;
  };
  const sent = ({ wrote }: Chunk): Over => {
    if (client.holds()) client.awaitBill();
    const flushed = wrote ? client.flush() : null;
    return flushed instanceof Promise ? flushed.then(stayed) : stayed();
  };

  const taken = async (): Promise<void> => {
    while (full !== null) {
      const written = full;
      full = null;
      await client.taken(written);
    }
  };

  /** The end, or a client that is slow. */
  const slowly = async (chunk: Chunk, ended: Outgoing | null | undefined): Promise<boolean> => {
    let end = ended;
    for (;;) {
      await taken();
      if (end === undefined) {
        if (chunk.next >= chunk.frames.length) return sent(chunk);
      } else if (cutAt !== null) {
        await ending.cutAtWord(opened, cutAt);
        return true;
      } else if (frameRelay.error() !== null) {
        await readLate(opened, chunk.frames.slice(chunk.next));
        departure.upstream.abort();
        await ending.end(opened, 'upstream_broken', 'error');
        client.release();
        client.write(ending.bad('failed'));
        return true;
      } else {
        if (!client.waited()) await readLate(opened, chunk.frames.slice(chunk.next));
        await ending.end(opened, 'completed');
        client.release();
        if (end !== null) out.add(end);
        out.put();
        chunk.wrote = true;
        await taken();
      }
      end = pass(chunk);
    }
  };

  const send = (frames: readonly RawFrame[]): Over => {
    options.delivered(frames.length);
    const chunk: Chunk = { frames, next: 0, wrote: false };
    const ended = pass(chunk);
    return ended !== undefined || full !== null ? slowly(chunk, ended) : sent(chunk);
  };

  /** @returns whether the stream goes on; else it was cut. */
  const borrowed = async (carried: () => boolean): Promise<boolean> => {
    if (await untilHeld(carried, options.borrow)) return true;
    await ending.cutForQuota(opened);
    return false;
  };
  /** Holds for what is about to be delivered. */
  const uncovered = async (bytes: number): Promise<boolean> => {
    if (cover === null || cover(bytes, frameRelay.words)) return false;
    return !(await borrowed(() => cover(bytes, frameRelay.words)));
  };
  const oneByOne = async (frames: readonly RawFrame[]): Promise<boolean> => {
    for (const frame of frames) if ((await uncovered(frame.size)) || (await send([frame]))) return true;
    return false;
  };
  const deliver = (frames: readonly RawFrame[]): Over => {
    if (cover === null) return send(frames);
    let bytes = 0;
    for (const frame of frames) bytes += frame.size;
    return cover(bytes, frameRelay.words) ? send(frames) : oneByOne(frames);
  };
  const overdrawn = (): Over => {
    const lastByteMs = watchdog.lastByteMs();
    const due = lastByteMs - checkedMs >= options.checkpointMs;
    if (due) checkedMs = lastByteMs;
    if (
      !(due || frameRelay.overdue()) ||
      frameRelay.isLast() ||
      frameRelay.billed() ||
      options.affordable(frameRelay.words(), due)
    )
      return false;
    return borrowed(() => options.affordable(frameRelay.words(), false)).then((goesOn) => !goesOn);
  };

  return {
    async begin() {
      const { head, last, ahead, done } = opened;
      let bytes = 0;
      if (watch !== null && saysWord(watch, 0)) {
        await ending.cutAtWord(opened, nothingDelivered);
        return true;
      }
      for (const one of head) bytes += sizeOf(one);
      if (await uncovered(bytes)) return true;
      options.delivered(head.length);
      if (frameRelay.awaitsBill()) client.hold(head.map(pieceOf));
      else {
        for (const one of head) out.add(one);
        out.put();
        await taken();
      }
      if (last !== null) {
        await readLate(opened, ahead);
        await ending.end(opened, 'completed');
        client.write(pieceOf(last));
      }
      const flushed = client.flush();
      if (flushed instanceof Promise) await flushed;
      return (await deliver(ahead)) || done || (await overdrawn());
    },
    deliver,
    overdrawn,
  };
}
