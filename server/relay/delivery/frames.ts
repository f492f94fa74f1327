/** Brings the frames of one stream to its client, as far as they can be paid for. */
import type { RawFrame } from '../../protocols/shared/sse.ts';
import type { Piece } from '../shared/sink.ts';
import type { OpenStream } from '../upstream/open-stream.ts';
import type { ClientSide } from './client-side.ts';
import type { Ending } from './ending.ts';
import type { PumpOptions } from './stream-options.ts';
import type { Watchdog } from './watchdog.ts';

/** Each tells true when that was the end, and the client has been told. */
export interface Frames {
  /** What was read while the stream was opened. */
  begin(): Promise<boolean>;
  /** What came in one piece goes on in one piece where it is covered, else frame by frame as far as it is. */
  deliver(frames: readonly RawFrame[]): Promise<boolean>;
  /** Notes what is owed now and then. */
  overdrawn(): Promise<boolean>;
}

export interface Ends {
  readonly client: ClientSide;
  readonly watchdog: Watchdog;
  readonly ending: Ending;
}

const sizeOf = (pieces: readonly { readonly length: number }[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0);

export function createFrames(options: PumpOptions, opened: OpenStream, { client, watchdog, ending }: Ends): Frames {
  const { departure, cover } = options;
  const { passage } = opened;
  let checkedMs = watchdog.startedMs;

  const send = async (frames: readonly RawFrame[]): Promise<boolean> => {
    let wrote = false;
    options.delivered(frames.length);
    // What is told anew comes in many small texts: those of one chunk leave together.
    let told = '';
    const put = (piece: Piece): unknown => {
      wrote = true;
      return client.write(piece);
    };
    for (const frame of frames) {
      const piece = passage.pass(frame);
      const broken = passage.error() !== null;
      const last = passage.isLast();
      if (told !== '' && (broken || last || (piece !== null && typeof piece !== 'string'))) {
        const written = put(told);
        told = '';
        if (written instanceof Promise) await client.taken(written);
      }
      if (broken) {
        departure.upstream.abort();
        await ending.end(opened, 'upstream_broken', 'error');
        client.release();
        client.write(ending.bad('failed'));
        return true;
      }
      if (last) await ending.end(opened, 'completed');
      if (!client.waited() && passage.awaitsBill()) {
        if (piece !== null) client.hold([piece]);
        continue;
      }
      if (client.holds()) {
        wrote = true;
        client.release();
      }
      if (piece === null) continue;
      if (typeof piece === 'string' && !last) {
        told += piece;
        continue;
      }
      const written = put(piece);
      if (written instanceof Promise) await client.taken(written);
    }
    if (told !== '') {
      const written = put(told);
      if (written instanceof Promise) await client.taken(written);
    }
    if (client.holds()) client.awaitBill();
    if (wrote) await client.flush();
    // Read on for the bill, and the answer goes on instead.
    if (departure.forBillAlone() && !passage.isLast() && !passage.nearEnd()) throw new Error('client gone');
    return false;
  };

  /** Holds for what is about to be delivered. */
  const uncovered = async (bytes: number): Promise<boolean> => {
    if (cover === null || cover(bytes, passage.words)) return false;
    await ending.cutForQuota(opened);
    return true;
  };
  const deliver = async (frames: readonly RawFrame[]): Promise<boolean> => {
    if (cover === null || cover(sizeOf(frames.map(({ bytes }) => bytes)), passage.words)) return send(frames);
    for (const frame of frames) if ((await uncovered(frame.bytes.length)) || (await send([frame]))) return true;
    return false;
  };
  const overdrawn = async (): Promise<boolean> => {
    const lastByteMs = watchdog.lastByteMs();
    const due = lastByteMs - checkedMs >= options.checkpointMs;
    if (due) checkedMs = lastByteMs;
    if (!(due || passage.overdue()) || passage.isLast() || passage.billed() || options.affordable(passage.words(), due))
      return false;
    await ending.cutForQuota(opened);
    return true;
  };

  return {
    async begin() {
      if (await uncovered(sizeOf(opened.head))) return true;
      options.delivered(opened.head.length);
      if (passage.awaitsBill()) client.hold(opened.head);
      else {
        for (const piece of opened.head) {
          const written = client.write(piece);
          if (written instanceof Promise) await client.taken(written);
        }
      }
      if (opened.last !== null) {
        await ending.end(opened, 'completed');
        client.write(opened.last);
      }
      await client.flush();
      return (await deliver(opened.ahead)) || opened.done || (await overdrawn());
    },
    deliver,
    overdrawn,
  };
}
