/** Carries an upstream's event stream to the client; the last frame waits for the bill. */
import type { EndReason, UsageSource } from '../../contract/enums.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { Reshape } from '../../protocols/codec.ts';
import type { RawFrame } from '../../protocols/shared/sse.ts';
import { createDeadlines } from '../shared/deadlines.ts';
import { nothingTold, type Told } from '../shared/delivered-text.ts';
import { nowhere, type Piece, reshaped, type Sink, whilePresent } from '../shared/sink.ts';
import type { Departure } from '../upstream/client-disconnect.ts';
import type { OpenStream } from '../upstream/open-stream.ts';
import type { Cover } from './cover.ts';

export interface StreamEnd {
  readonly endReason: EndReason;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Text the client received, when no usage came. */
  readonly delivered: Told;
  readonly firstByteMs: number | null;
  readonly failure?: string;
}

export interface PumpOptions {
  /** The opened stream; a text is the whole answer, null = every attempt failed and an error frame tells so. */
  readonly opening: OpenStream | Promise<OpenStream | string | null>;
  /** Text that keeps an idle stream alive. */
  readonly ping: string;
  readonly pingMs: number | null;
  readonly idleMs: number;
  /** Milliseconds between notes of what is owed so far. */
  readonly checkpointMs: number;
  /** Milliseconds that the end of an answer waits for the upstream to tell what it costs. */
  readonly billMs: number;
  readonly now: () => number;
  readonly departure: Departure;
  /** Settles; the terminal frame is sent when it resolves. */
  readonly finish: (end: StreamEnd) => Promise<void>;
  /** Text of an error frame in the client's dialect. */
  readonly errorFrame: (kind: 'broken' | 'quota' | 'failed' | 'stopped') => string;
  /** Between signs of life while the end waits for its bill. */
  readonly commitPingMs: number;
  /** What the client gets instead of events. */
  readonly reshape: Reshape | null;
  /** Asked before bytes are delivered, where the hold grows with them; false cuts the stream. */
  readonly cover: Cover | null;
  /** Asked now and then with the text delivered so far; false cuts the stream for want of quota. @param durably what is owed is written down too. */
  readonly affordable: (delivered: Told, durably: boolean) => boolean;
}

const patience = createDeadlines(250);

/** A client that takes nothing for so long is given up. */
const stallLimitMs = 60_000;

const sizeOf = (pieces: readonly { readonly length: number }[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0);

export function relayStream(options: PumpOptions): ReadableStream<Uint8Array> {
  let started = false;
  const start = (sink: Sink) => {
    if (started) return;
    started = true;
    return pump(options, sink);
  };
  // A client that left before the answer began never pulls, and what it owes would stay open.
  void options.departure.whenGone().then(() => start(nowhere));
  return new ReadableStream({
    type: 'direct',
    pull: start,
    cancel: () => options.departure.leave(),
  } as unknown as UnderlyingDefaultSource<Uint8Array>);
}

async function pump(options: PumpOptions, raw: Sink): Promise<void> {
  const { departure, now } = options;
  const client = whilePresent(raw, departure.gone);
  const sink = options.reshape === null ? client : reshaped(client, options.reshape);
  const abort = departure.upstream;
  const gone = departure.gone;
  let lastByteMs = now();
  let lastWriteMs = lastByteMs;
  let checkedMs = lastByteMs;
  let idleCut = false;
  /** Since when the client takes nothing; null = it takes. */
  let stalledMs: number | null = null;
  /** Ends the wait for such a client. */
  let giveUp: (() => void) | null = null;
  abort.signal.addEventListener('abort', () => giveUp?.(), { once: true });
  let stream: OpenStream | null = null;

  // One timer per stream serves both the keep-alive and the idle limit; frames are written whole, so a ping never breaks one.
  const beat = Math.min(options.pingMs ?? options.idleMs, options.idleMs, stallLimitMs);
  const timer = setInterval(() => {
    const at = now();
    if (stalledMs !== null) {
      if (at - stalledMs >= stallLimitMs) abort.abort();
      return;
    }
    if (stream !== null && !settled && at - lastByteMs >= options.idleMs) {
      idleCut = true;
      abort.abort();
      void stream.reader.cancel().catch(() => undefined);
      return;
    }
    if (options.pingMs !== null && at - lastWriteMs >= options.pingMs) {
      sink.write(options.ping);
      sink.flush();
      lastWriteMs = at;
    }
  }, beat);

  /** The end of the answer, as long as nobody knows what it costs: who has it has no reason to stay. */
  const held: Piece[] = [];
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let waited = false;
  const release = () => {
    clearTimeout(waiting);
    waiting = undefined;
    for (const piece of held.splice(0)) sink.write(piece);
  };
  const awaitBill = () => {
    waiting ??= setTimeout(() => {
      waited = true;
      release();
      sink.flush();
    }, options.billMs);
  };

  let settled = false;
  const end = async (opened: OpenStream, reason: EndReason, failure?: string): Promise<void> => {
    if (settled) return;
    settled = true;
    clearTimeout(waiting);
    // What came with the end or behind it is the whole bill, however the stream ended.
    const whole = reason === 'completed' || opened.passage.billed();
    // Read to its end for the sake of the bill alone.
    const unbroken = reason !== 'completed' && departure.cutBy() !== null ? 'stopped' : reason;
    const endReason = reason === 'completed' && gone() ? 'client_gone' : unbroken;
    const usage = opened.passage.usage();
    const sign = () => {
      sink.write(options.ping);
      sink.flush();
      calm = patience.start(options.commitPingMs, sign);
    };
    let calm = patience.start(options.commitPingMs, sign);
    try {
      await options.finish({
        endReason,
        usage,
        usageSource: usage === null ? null : whole ? 'reported' : 'partial',
        delivered: usage === null || !whole ? opened.passage.words() : nothingTold,
        firstByteMs: opened.firstByteMs ?? now(),
        ...(failure === undefined ? {} : { failure }),
      });
    } finally {
      calm();
    }
  };
  /** What the client is told when it does not end well. */
  const bad = (kind: 'broken' | 'quota' | 'failed'): string =>
    options.errorFrame(departure.cutBy() === null ? kind : 'stopped');
  /** Waits while the client takes nothing: then the upstream waits too. */
  const taken = async (written: Promise<unknown>): Promise<void> => {
    stalledMs = now();
    // One listener serves the whole stream: one for each wait would stay as long as the stream does.
    await new Promise<unknown>((resolve, reject) => {
      giveUp = () => reject(new Error('client gone'));
      if (abort.signal.aborted) return giveUp();
      written.then(resolve, reject);
      void departure.whenGone().then(resolve);
    });
    giveUp = null;
    stalledMs = null;
    lastByteMs = now();
  };
  const flush = async () => {
    const flushed = sink.flush();
    if (flushed instanceof Promise) await flushed;
    lastWriteMs = lastByteMs;
  };
  /** @returns true when the upstream broke off with an error, and the client has been told. */
  const send = async (opened: OpenStream, frames: readonly RawFrame[]): Promise<boolean> => {
    const { passage } = opened;
    let wrote = false;
    // What is told anew comes in many small texts: those of one chunk leave together.
    let told = '';
    const put = (piece: Piece): unknown => {
      wrote = true;
      return sink.write(piece);
    };
    for (const frame of frames) {
      const piece = passage.pass(frame);
      const broken = passage.error() !== null;
      const last = passage.isLast();
      if (told !== '' && (broken || last || (piece !== null && typeof piece !== 'string'))) {
        const written = put(told);
        told = '';
        if (written instanceof Promise) await taken(written);
      }
      if (broken) {
        abort.abort();
        await end(opened, 'upstream_broken', 'error');
        release();
        sink.write(bad('failed'));
        return true;
      }
      if (last) await end(opened, 'completed');
      if (!waited && passage.awaitsBill()) {
        if (piece !== null) held.push(piece);
        continue;
      }
      if (held.length > 0) {
        wrote = true;
        release();
      }
      if (piece === null) continue;
      if (typeof piece === 'string' && !last) {
        told += piece;
        continue;
      }
      const written = put(piece);
      if (written instanceof Promise) await taken(written);
    }
    if (told !== '') {
      const written = put(told);
      if (written instanceof Promise) await taken(written);
    }
    if (held.length > 0) awaitBill();
    if (wrote) await flush();
    // Read on for the bill, and the answer goes on instead.
    if (departure.forBillAlone() && !passage.isLast() && !passage.nearEnd()) throw new Error('client gone');
    return false;
  };

  /** Holds for what is about to be delivered. @returns true when it cannot be paid: the stream was cut and the client told. */
  const uncovered = async (opened: OpenStream, bytes: number): Promise<boolean> => {
    if (options.cover === null || options.cover(bytes, opened.passage.words)) return false;
    abort.abort();
    await end(opened, 'quota_cut');
    sink.write(options.errorFrame('quota'));
    return true;
  };
  /** What came in one piece goes on in one piece where it is covered, else frame by frame as far as it is. @returns true when that was the end. */
  const deliver = async (opened: OpenStream, frames: readonly RawFrame[]): Promise<boolean> => {
    const { cover } = options;
    if (cover === null || cover(sizeOf(frames.map(({ bytes }) => bytes)), opened.passage.words))
      return send(opened, frames);
    for (const frame of frames)
      if ((await uncovered(opened, frame.bytes.length)) || (await send(opened, [frame]))) return true;
    return false;
  };

  /** Notes what is owed now and then. @returns true when it cannot be paid: the stream was cut and the client told. */
  const overdrawn = async (opened: OpenStream): Promise<boolean> => {
    const due = lastByteMs - checkedMs >= options.checkpointMs;
    if (due) checkedMs = lastByteMs;
    const { passage } = opened;
    if (!(due || passage.overdue()) || passage.isLast() || passage.billed() || options.affordable(passage.words(), due))
      return false;
    abort.abort();
    await end(opened, 'quota_cut');
    sink.write(options.errorFrame('quota'));
    return true;
  };

  try {
    if (options.opening instanceof Promise) {
      sink.write(options.ping);
      sink.flush();
    }
    const opening = options.opening instanceof Promise ? await options.opening : options.opening;
    if (typeof opening === 'string') {
      raw.write(opening);
      return void raw.end();
    }
    if (opening === null) {
      sink.write(bad('failed'));
      return void sink.end();
    }
    stream = opening;
    const { passage, reader, framing } = stream;
    lastByteMs = now();
    departure.expecting(() => passage.nearEnd());
    if (await uncovered(stream, sizeOf(stream.head))) return void sink.end();
    if (passage.awaitsBill()) held.push(...stream.head);
    else {
      for (const piece of stream.head) {
        const written = sink.write(piece);
        if (written instanceof Promise) await taken(written);
      }
    }
    if (stream.last !== null) {
      await end(stream, 'completed');
      sink.write(stream.last);
    }
    await flush();
    if ((await deliver(stream, stream.ahead)) || stream.done || (await overdrawn(stream))) return void sink.end();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      lastByteMs = now();
      if (await deliver(stream, framing.push(value))) return void sink.end();
      if (await overdrawn(stream)) return void sink.end();
    }
    const ended = passage.isLast();
    const rest = passage.close(framing.end());
    // Some upstreams end without their dialect's last frame; what counts is that they said why they stopped.
    if (ended || passage.finish() !== null || (passage.usage() !== null && passage.error() === null)) {
      await end(stream, 'completed');
      release();
      if (rest !== null) sink.write(rest);
    } else {
      await end(stream, 'upstream_broken', idleCut ? 'idle' : 'truncated');
      release();
      sink.write(bad('broken'));
    }
    sink.end();
  } catch {
    // Either the upstream broke off or the client left; the abort signal tells which.
    const left = gone() || (abort.signal.aborted && !idleCut && departure.cutBy() === null);
    abort.abort();
    if (stream !== null) await end(stream, left ? 'client_gone' : 'upstream_broken', left ? undefined : 'broken');
    try {
      if (!left) {
        release();
        sink.write(bad('broken'));
      }
      sink.end();
    } catch {
      // The client's side is closed; nobody is left to tell.
    }
  } finally {
    clearInterval(timer);
    clearTimeout(waiting);
  }
}
