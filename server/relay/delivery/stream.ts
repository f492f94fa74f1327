/** One upstream event stream on its way to its client: what is sent, what waits for the bill, and how the stream ends. */
import type { EndReason } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { writtenPicture } from '../../contract/model-limits.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { ClientError, ClientHalf, StreamTransform } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import { decode, type FrameRun, type RawFrame, runOf } from '../../protocols/shared/sse.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { KeyBudgets } from '../admission/key-budgets.ts';
import { whenReserved } from '../admission/lease-client.ts';
import type { RequestWatch } from '../admission/observer.ts';
import { isOwedAtOnce } from '../admission/recordings.ts';
import type { Reservation } from '../admission/reservation.ts';
import { audioTokens } from '../shared/audio.ts';
import type { Deadline } from '../shared/deadline.ts';
import { asAppError } from '../shared/defect.ts';
import { type DeliveredText, hasMedia, nothingDelivered, textBefore } from '../shared/delivered-text.ts';
import { failureError, isPermanent } from '../shared/failure.ts';
import type { IntervalTimers, Looking } from '../shared/interval-timers.ts';
import { shortage } from '../shared/quota-numbers.ts';
import { clientError, streamError } from '../shared/render-error.ts';
import type { Outcome } from '../upstream/attempt.ts';
import type { ClientDisconnect } from '../upstream/client-disconnect.ts';
import { type FrameRelay, type Piece, unreadLimit } from '../upstream/frame-relay.ts';
import { type Bytes, isWholeBill, type OpenStream, readTrailing, trailingMs } from '../upstream/open-stream.ts';
import type { SendCore } from '../upstream/send.ts';
import { hasHiddenThinking, thoughtTime } from '../upstream/thinking.ts';
import { CountSoFar } from './count-so-far.ts';
import { noteKept } from './response-items.ts';
import {
  closeRequest,
  closeUnfinished,
  finishBroken,
  finishRoughly,
  reportedIn,
  reportOutcome,
  type SettleCore,
  type StreamEnd,
} from './settle.ts';
import { createWordWatch, type WordWatch } from './stop-words.ts';

export type Streamed = Extract<Outcome, { kind: 'stream' }>;

/** The opened stream; a text is the whole response, an error means that every attempt failed. */
export type Opened = Streamed | string | ClientError;

export interface StreamDeps extends SendCore, SettleCore {
  readonly keyBudgets: KeyBudgets;
  /** For looks at silence. */
  readonly pulse: IntervalTimers;
  /** Milliseconds between notes of what is owed so far. */
  readonly checkpointMs: number;
  /** Milliseconds that the end of an answer waits for the upstream to report what it costs. */
  readonly billMs: number;
  /** Milliseconds between pings while the end waits for its commit. */
  readonly commitPingMs: number;
  /** The response to this request continues after it was handed over. */
  /** null = no observer. */
  readonly watch: RequestWatch | null;
}

/** The sink of a direct stream. */
export interface Sink {
  write(chunk: Piece): unknown;
  flush(): unknown;
  end(): unknown;
}

interface DirectSource {
  readonly type: 'direct';
  pull(sink: Sink): Promise<void>;
  cancel?(): void;
}

/** Types know no source that writes to its sink itself. */
export const directStream = (source: DirectSource): ReadableStream<Uint8Array> =>
  new ReadableStream(source as unknown as UnderlyingDefaultSource<Uint8Array>);

const nullSink: Sink = { write: () => null, flush: () => null, end: () => null };

/** The client's end of the connection: where it takes nothing any more, the client has left. */
class ClientSink implements Sink {
  constructor(
    private readonly raw: Sink,
    private readonly disconnect: ClientDisconnect,
  ) {}

  write(chunk: Piece): unknown {
    let answer: unknown;
    try {
      answer = this.raw.write(chunk);
    } catch {
      // reason: nothing but the connection is asked here.
      return this.disconnect.leave();
    }
    return this.taken(answer);
  }

  flush(): unknown {
    let answer: unknown;
    try {
      answer = this.raw.flush();
    } catch {
      // reason: nothing but the connection is asked here.
      return this.disconnect.leave();
    }
    return this.taken(answer);
  }

  end(): unknown {
    try {
      return this.raw.end();
    } catch {
      // reason: nothing but the connection is asked here.
      return this.disconnect.leave();
    }
  }

  private taken(answer: unknown): unknown {
    return answer instanceof Promise ? this.takenLater(answer) : answer;
  }

  private takenLater(answer: Promise<unknown>): Promise<unknown> {
    // reason: nothing but the connection is asked here.
    return answer.catch(() => this.disconnect.leave());
  }
}

/** A promise only where there is something to wait for. */
type Maybe = boolean | Promise<boolean>;

/** A reset overtakes what the client has not read yet. */
const readMs = 50;
/** A client that reads nothing for so long is disconnected. */
const stallLimitMs = 60_000;
/** The playground's reader takes a comment of its own for an event without data; one that leads the next event's lines is part of that. */
const playgroundPing = ': PING\n';

export const transformFor = ({ parsed }: Reservation): StreamTransform | null =>
  parsed.stream ? (codecFor(parsed.protocol).client.transform?.(parsed.request.url) ?? null) : null;

/** The error of a stream that broke, with the upstream's message where it sent one. */
export function brokenError({ parsed }: Reservation, outcome: Streamed | null): ClientError {
  const failure = outcome === null ? null : reportedIn(outcome);
  const error = failure === null ? new AppError('upstream_broken') : failureError(failure, isPermanent(failure));
  return clientError(error, parsed.requestId, failure);
}

export class ResponseStream implements Looking {
  /** As a source of a `ReadableStream`. */
  readonly type = 'direct';
  /** Makes the bytes that the client gets instead of events. */
  readonly transform: StreamTransform | null;
  private readonly client: ClientHalf;
  private readonly pingText: string;
  /** The same once something was delivered, where the dialect has a form for that. */
  private readonly pingWithin: string | undefined;
  private readonly pingMs: number | null;
  private idleMs: number;
  private started = false;
  private sink: Sink = nullSink;
  /** An error frame was the last that the client got. */
  private failed = false;
  private ended = false;

  private outcome: Streamed | null = null;
  private channel: ChannelSnapshot | null = null;
  private reader: Bytes | null = null;

  // Silence of the upstream, of us and of the client.
  private startedMs = 0;
  private lastByteMs = 0;
  private lastWriteMs = 0;
  /** Since when the client takes nothing; null = it takes. */
  private stalledMs: number | null = null;
  private idleCut = false;
  /** Milliseconds between looks at silence; 0 = they have not begun. */
  private checkMs = 0;
  /** Something of the answer has gone out. */
  private hasWritten = false;
  /** Bytes of the upstream's frames whose words have gone out, or wait in `text` or `buffered`. */
  private handedOver = 0;
  /** Units of words that were read when the added text went out last. */
  private putUnits = 0;
  /** The client has all of the answer. */
  private isDelivered = false;
  /** A defect of ours that a timer or an event met. */
  private defect: { readonly error: unknown } | null = null;

  /** The client takes nothing until this resolves. */
  private full: Promise<unknown> | null = null;
  private abandon: (() => void) | null = null;
  private resume: (() => void) | null = null;

  /** Translated frames of one chunk, which go out together. */
  private text = '';

  /** The end of the answer, kept back until its cost is known: a client that has it has no reason to stay connected. */
  private readonly buffered: Piece[] = [];
  private billDeadline: Deadline | null = null;
  private billOverdue = false;

  // The reservation, where it grows with what is delivered.
  private readonly grows: boolean;
  private covered: number;
  private readonly coveredText = new CoveredText();
  private checkedMs = 0;
  private soFar: CountSoFar | null = null;

  private readonly watch: WordWatch | null;
  /** Text that the client had when a word of the operator's list was about to be completed. */
  private cutAt: DeliveredText | null = null;

  constructor(
    private readonly deps: StreamDeps,
    private readonly reservation: Reservation,
    private readonly disconnect: ClientDisconnect,
    private readonly opening: Streamed | Promise<Opened>,
  ) {
    const { parsed } = reservation;
    const settings = deps.state.settings;
    this.client = codecFor(parsed.protocol).client;
    this.transform = transformFor(reservation);
    this.pingText = parsed.route.session === true ? playgroundPing : this.client.ping;
    this.pingWithin = settings.ownPings && parsed.route.session !== true ? this.client.pingWithin : undefined;
    this.pingMs = settings.pingMs;
    this.idleMs = deps.idleMs('prepared' in opening ? opening.prepared.channel : undefined);
    this.watch = settings.stopWords.length === 0 ? null : createWordWatch(settings.stopWords);
    this.grows = reservation.grows;
    this.covered = reservation.reservedTokens;
  }

  readable(): ReadableStream<Uint8Array> {
    const { disconnect } = this;
    this.deps.watch?.onStreaming(this.reservation.parsed.request);
    disconnect.upstream.onAbort(() => this.abandon?.());
    disconnect.onDisconnect(() => {
      this.resume?.();
      // A client that left before the answer began never pulls, and what it owes would stay open.
      // reason: `pull` has ended and reported all; what rejects is the sign to break off a connection that is gone.
      void this.pull(nullSink).catch(() => undefined);
    });
    const { socket } = this.reservation.parsed;
    if (socket !== undefined) socket.pipe = (sink) => this.pull(sink);
    return directStream(this);
  }

  async pull(sink: Sink): Promise<void> {
    try {
      await this.pipeTo(sink);
    } catch (error) {
      if (error !== null) return this.giveUp(sink, error);
      // The listener resets the connection, and logs nothing where there is no reason.
      await Promise.reject(null);
    }
  }

  /** A defect where nothing could end the stream as it ends. */
  private async giveUp(sink: Sink, error: unknown): Promise<void> {
    const { deps, disconnect, reservation } = this;
    const { requestId } = reservation.parsed;
    deps.report(error, requestId);
    disconnect.upstream.abort();
    const closing = closeUnfinished(deps, reservation);
    if (closing !== undefined) await closing;
    if (disconnect.isDisconnected || this.failed) return;
    sink.write(
      streamError(reservation.parsed.protocol, clientError(asAppError(error), requestId), reservation.language()),
    );
    sink.end();
  }

  cancel(): void {
    this.disconnect.leave();
  }

  /** Only the first call carries it. Rejects with null where the connection has to break off. */
  async pipeTo(sink: Sink): Promise<void> {
    if (this.started) return;
    this.started = true;
    if (await this.carry(sink)) return;
    await this.whileRead();
    await Promise.reject(null);
  }

  private whileRead(): Promise<void> {
    return new Promise((resolve) => void this.deps.deadlines.start(readMs, resolve));
  }

  /** From the first byte to the last. @returns false where the connection has to break off. */
  private async carry(raw: Sink): Promise<boolean> {
    // The first of all: what ends a defect below writes to it.
    this.sink = new ClientSink(raw, this.disconnect);
    try {
      return await this.carryAll();
    } catch (error) {
      return await this.endBroken(this.defect === null ? error : this.defect.error);
    } finally {
      this.deps.pulse.remove(this.checkMs, this);
      this.billDeadline?.end();
      // Whatever went wrong above: its money ends, and nothing is left open.
      const closing = closeUnfinished(this.deps, this.reservation);
      if (closing !== undefined) await closing;
    }
  }

  private async carryAll(): Promise<boolean> {
    const { opening, sink } = this;
    this.startedMs = this.deps.now();
    this.lastByteMs = this.startedMs;
    this.lastWriteMs = this.startedMs;
    // All of a recording is owed with its first piece.
    this.checkedMs = isOwedAtOnce(this.reservation.parsed.operation) ? Number.NEGATIVE_INFINITY : this.startedMs;
    this.checkMs = Math.min(this.pingMs ?? this.idleMs, this.idleMs, stallLimitMs);
    this.deps.pulse.add(this.checkMs, this);
    if (opening instanceof Promise) this.ping();
    const opened = opening instanceof Promise ? await opening : opening;
    if (typeof opened === 'string') {
      sink.write(opened);
      sink.end();
      return true;
    }
    if (!('stream' in opened)) {
      this.fail(opened);
      return this.endAnswer();
    }
    this.outcome = opened;
    this.channel = opened.prepared.channel;
    this.idleMs = this.deps.idleMs(this.channel);
    await this.deliverAll(opened.stream);
    return this.endAnswer();
  }

  /** The upstream broke off or the client left, which the abort signal shows; or a defect of ours was met. @returns as `carry` does. */
  private async endBroken(error: unknown): Promise<boolean> {
    const { deps, disconnect, reservation } = this;
    const { upstream } = disconnect;
    const { requestId } = reservation.parsed;
    const isDefect = deps.report(error, requestId);
    const left = disconnect.isDisconnected || (upstream.aborted && !this.idleCut && disconnect.cutBy() === null);
    upstream.abort();
    // All of it had come: how the upstream hangs up is no matter.
    const isWhole = this.outcome?.stream.frameRelay.isComplete === true;
    if (isDefect) await this.endDefective(error);
    else if (isWhole && !left) await this.end('completed');
    else await this.end(left ? 'client_gone' : 'upstream_broken', left ? undefined : 'broken');
    try {
      if (isDefect) {
        if (!this.isDelivered) this.fail(clientError(asAppError(error), requestId));
      } else if (!left) {
        this.release();
        if (!isWhole) this.fail(this.breakError());
      }
      return this.endAnswer();
    } catch (another) {
      deps.report(another, requestId);
      return disconnect.isDisconnected;
    }
  }

  /** Charges what was delivered, and nothing else; if not even that can be counted, by its length. */
  private async endDefective(error: unknown): Promise<void> {
    const { deps, reservation, opening, outcome } = this;
    const { requestId } = reservation.parsed;
    const channel = this.channel ?? ('prepared' in Object(opening) ? (opening as Streamed).prepared.channel : null);
    if (outcome === null || channel === null || !this.hasWritten) {
      if (channel !== null) deps.health.released(channel, reservation.parsed.model);
      // The answer was paid for before its one piece went out.
      return reservation.isFinished ? reservation.refund() : finishBroken(reservation, error);
    }
    const { frameRelay } = outcome.stream;
    frameRelay.takeBackFrame(frameRelay.receivedBytes - this.handedOver);
    // Before it is counted: what cannot even go out now was not delivered.
    try {
      this.put();
      this.release();
    } catch (another) {
      deps.report(another, requestId);
    }
    if (this.text !== '' || this.buffered.length > 0)
      frameRelay.takeBackWaiting(
        this.buffered.reduce((sum, part) => sum + part.length, 0),
        this.putUnits,
      );
    try {
      const owed = frameRelay.owed(true);
      // Frames without anything in them are no answer.
      if (owed.units === 0 && !hasMedia(owed) && !reservation.isFinished) {
        deps.health.released(channel, reservation.parsed.model);
        return await finishBroken(reservation, error);
      }
      await this.end('internal');
      if (reservation.isFinished) return;
    } catch (another) {
      deps.report(another, requestId);
    }
    deps.health.released(channel, reservation.parsed.model);
    try {
      const { units } = frameRelay.owed(true);
      await finishRoughly(reservation, channel, units);
    } catch (another) {
      deps.report(another, requestId);
    }
  }

  /** For what timers and events call: a defect that it meets ends the stream. */
  private guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.deps.report(error, this.reservation.parsed.requestId);
      this.defect ??= { error };
      this.disconnect.upstream.abort();
      // reason: the upstream's connection alone.
      void this.reader?.cancel().catch(() => undefined);
    }
  }

  private async deliverAll(stream: OpenStream): Promise<void> {
    const { deps, disconnect } = this;
    const { reader, framing, frameRelay } = stream;
    this.reader = reader;
    this.lastByteMs = deps.now();
    disconnect.expecting(() => this.isNearEnd(frameRelay));
    if (await this.deliverOpening(stream)) return;
    for (;;) {
      let read: Awaited<ReturnType<Bytes['read']>>;
      try {
        read = await reader.read();
      } catch (cause) {
        throw new AppError('upstream_broken', {}, cause);
      }
      if (this.defect !== null) throw this.defect.error;
      const { done, value } = read;
      if (done) break;
      this.lastByteMs = deps.now();
      deps.works(this.reservation.parsed.requestId);
      const run = framing.advance(value);
      if (run.count > 0) {
        const over = this.grows ? this.deliverCovered(stream, run) : this.deliver(stream, run);
        if (over === true || (over !== false && (await over))) return;
      }
      if (this.lastByteMs - this.checkedMs < deps.checkpointMs && frameRelay.unreadBytes <= unreadLimit) continue;
      if (await this.isOverdrawn(frameRelay)) return;
    }
    const wasLast = frameRelay.isLast;
    const before = this.watch === null ? 0 : frameRelay.words().texts.length;
    const rest = frameRelay.close(framing.end());
    if (this.hasStopWord(frameRelay, before)) return this.cutAtWord();
    // Some upstreams end without their dialect's last frame; a finish reason suffices.
    if (wasLast || frameRelay.finish() !== null || (frameRelay.usage !== null && frameRelay.error === null)) {
      await this.end('completed');
      this.release();
      if (rest !== null) this.emit(rest);
      this.isDelivered = true;
      return;
    }
    await this.end('upstream_broken', this.idleCut ? 'idle' : 'truncated');
    this.release();
    this.fail(this.breakError());
  }

  /** Delivers the frames that were read while the stream was opened. @returns whether that was all. */
  private async deliverOpening(stream: OpenStream): Promise<boolean> {
    const { frameRelay, head, last, early, done } = stream;
    if (this.watch !== null && this.hasStopWord(frameRelay, 0)) {
      this.cutAt = nothingDelivered;
      await this.cutAtWord();
      return true;
    }
    if (this.grows) {
      let bytes = 0;
      for (const part of head) bytes += part.length;
      if (await this.uncovered(frameRelay, bytes)) return true;
    }
    if (this.channel !== null) this.reservation.delivered(head.length, this.channel);
    if (frameRelay.awaitsBill) {
      this.buffered.push(...head);
      this.handedOver = frameRelay.receivedBytes;
    } else {
      for (const part of head) {
        if (typeof part === 'string') this.text += part;
        else this.write(part);
      }
      this.handedOver = frameRelay.receivedBytes;
      if (this.text !== '') this.put();
      if (this.full !== null) await this.taken();
    }
    if (last !== null) {
      await readTrailing(stream, early.frames());
      await this.end('completed');
      this.release();
      this.emit(last);
      this.isDelivered = true;
    }
    // Text of the same chunk is sent together with it.
    const more = early.count === 0 ? this.sent(last === null) : this.deliverCovered(stream, early);
    if (more === true || (more !== false && (await more))) return true;
    return done || (await this.isOverdrawn(frameRelay));
  }

  /** Sends the covered part in one piece, the rest frame by frame as far as the reservation can be extended. */
  private deliverCovered(stream: OpenStream, run: FrameRun): Maybe {
    return this.covers(stream.frameRelay, run.bytes.length)
      ? this.deliver(stream, run)
      : this.deliverEach(stream, run.frames());
  }

  private async deliverEach(stream: OpenStream, frames: readonly RawFrame[]): Promise<boolean> {
    for (const frame of frames)
      if ((await this.uncovered(stream.frameRelay, frame.size)) || (await this.deliver(stream, runOf([frame]))))
        return true;
    return false;
  }

  /** Frames at the beginning that need no inspection are sent in one chunk, the others one by one. @returns whether the answer is over. */
  private deliver(stream: OpenStream, run: FrameRun): Maybe {
    const { frameRelay } = stream;
    // For the process that has to end the request when this one is gone.
    if (this.channel !== null) this.reservation.delivered(run.count, this.channel);
    const unread = this.watch === null ? frameRelay.passUnread(run) : 0;
    // The usual chunk; the rest of this class is for what is not usual.
    if (unread === run.count && this.transform === null && this.full === null && !this.disconnect.isDisconnected) {
      const written = this.sink.write(run.bytes);
      this.hasWritten = true;
      this.handedOver = frameRelay.receivedBytes;
      if (!(written instanceof Promise)) {
        const flushed = this.sink.flush();
        this.lastWriteMs = this.lastByteMs;
        return flushed instanceof Promise ? this.goesOnAfter(flushed) : false;
      }
      this.full = written;
    } else if (unread > 0) {
      this.write(run.head(unread));
      this.handedOver = frameRelay.receivedBytes;
    }
    const chunk: Chunk = { frames: (unread === 0 ? run : run.from(unread)).frames(), next: 0, wrote: unread > 0 };
    const last = this.pass(frameRelay, chunk);
    return last !== undefined || this.full !== null ? this.deliverSlowly(stream, chunk, last) : this.sent(chunk.wrote);
  }

  /** As far as nothing has to be waited for. @returns the piece of the frame that ends the answer, undefined = none did. */
  private pass(frameRelay: FrameRelay, chunk: Chunk): Piece | null | undefined {
    const { frames } = chunk;
    while (chunk.next < frames.length && this.full === null) {
      const frame = frames[chunk.next++] as RawFrame;
      const before = this.watch === null ? 0 : frameRelay.words().texts.length;
      const part = frameRelay.pass(frame);
      const hasStopWord = this.watch !== null && this.hasStopWord(frameRelay, before);
      if (frameRelay.defect !== null) {
        // Where words are watched for, they are read before they go out.
        if (this.watch !== null) this.cutAt = textBefore(frameRelay.words(), before);
        throw frameRelay.defect.error;
      }
      if (hasStopWord) {
        this.put();
        return null;
      }
      if (frameRelay.isLast || frameRelay.error !== null) {
        if (this.text !== '') this.put();
        return part;
      }
      if (!this.billOverdue && frameRelay.awaitsBill) {
        if (this.text !== '') this.put();
        if (part !== null) this.buffered.push(part);
        this.handedOver = frameRelay.receivedBytes;
        continue;
      }
      if (this.buffered.length > 0) {
        chunk.wrote = true;
        this.release();
      }
      if (part !== null) {
        chunk.wrote = true;
        if (typeof part === 'string') this.text += part;
        else this.write(part);
      }
      this.handedOver = frameRelay.receivedBytes;
    }
    if (this.text !== '') this.put();
    return undefined;
  }

  /** Delivers what is left at the end of a stream, or to a client that reads slowly. */
  private async deliverSlowly(stream: OpenStream, chunk: Chunk, ended: Piece | null | undefined): Promise<boolean> {
    const { frameRelay } = stream;
    for (let last = ended; ; last = this.pass(frameRelay, chunk)) {
      if (this.full !== null) await this.taken();
      if (last === undefined) {
        if (chunk.next >= chunk.frames.length) return this.sent(chunk.wrote);
      } else if (this.cutAt !== null) {
        await this.cutAtWord();
        return true;
      } else if (frameRelay.error !== null) {
        await readTrailing(stream, chunk.frames.slice(chunk.next));
        this.disconnect.upstream.abort();
        await this.end('upstream_broken', 'error');
        this.release();
        this.fail(this.breakError());
        return true;
      } else {
        const trailing = this.billOverdue ? undefined : readTrailing(stream, chunk.frames.slice(chunk.next));
        if (trailing !== undefined) await trailing;
        await this.end('completed');
        this.release();
        // Not flushed: the sink sends what it has at the end of the tick, mostly together with its own end.
        if (last !== null) this.write(last);
        this.isDelivered = true;
        this.lastWriteMs = this.lastByteMs;
        chunk.wrote = false;
        if (this.full !== null) await this.taken();
      }
    }
  }

  /** Resolves when the client takes more. */
  private sent(wrote: boolean): Maybe {
    if (this.buffered.length > 0) this.awaitBill();
    const { disconnect } = this;
    if (wrote) {
      const flushed = disconnect.isDisconnected ? null : this.sink.flush();
      this.lastWriteMs = this.lastByteMs;
      if (flushed instanceof Promise) return this.goesOnAfter(flushed);
    }
    return disconnect.forUsageOnly ? this.goesOn() : false;
  }

  private goesOnAfter(flushed: Promise<unknown>): Promise<boolean> {
    return flushed.then(() => this.goesOn());
  }

  /** @throws AppError where the client has left, the upstream was read on for the bill, and the response continues instead. */
  private goesOn(): false {
    const frameRelay = this.outcome?.stream.frameRelay;
    if (frameRelay === undefined || !this.disconnect.forUsageOnly) return false;
    const isRead = frameRelay.isLast || frameRelay.nearEnd() || this.isThinking() || frameRelay.deliversMedia();
    if (!isRead) throw new AppError('upstream_broken');
    return false;
  }

  // --- the client's side

  /** Sends the added text. */
  private put(): void {
    if (this.text === '') return;
    this.write(this.text);
    this.text = '';
    this.putUnits = this.outcome?.stream.frameRelay.readUnits ?? 0;
  }

  /** Sends nothing to a client that has left, so that reading on for the bill is not disturbed. */
  private emit(part: Piece): unknown {
    const { transform } = this;
    if (this.disconnect.isDisconnected) return null;
    if (transform === null) return this.sink.write(part);
    return this.sink.write(transform.push(typeof part === 'string' ? part : decode(part)));
  }

  private flushSink(): unknown {
    return this.disconnect.isDisconnected ? null : this.sink.flush();
  }

  private endSink(): void {
    if (this.transform !== null && !this.disconnect.isDisconnected) this.sink.write(this.transform.end());
    this.sink.end();
  }

  private write(part: Piece): void {
    if (this.disconnect.isDisconnected) return;
    const written = this.transform === null ? this.sink.write(part) : this.emit(part);
    this.hasWritten = true;
    if (written instanceof Promise) this.full = this.full === null ? written : Promise.all([this.full, written]);
  }

  /** Waits while the client takes nothing: then the upstream waits too. @throws when the upstream's side is ended meanwhile. */
  private async taken(): Promise<void> {
    const { disconnect } = this;
    while (this.full !== null) {
      const written = this.full;
      this.full = null;
      this.stalledMs = this.deps.now();
      await new Promise<unknown>((resolve, reject) => {
        this.abandon = () => reject(new AppError('upstream_broken'));
        if (disconnect.upstream.aborted) return this.abandon();
        written.then(resolve, reject);
        this.resume = () => resolve(null);
        if (disconnect.isDisconnected) this.resume();
      });
      this.abandon = null;
      this.resume = null;
      this.stalledMs = null;
      this.lastByteMs = this.deps.now();
    }
  }

  /** Whole texts alone, so that it never breaks a frame. */
  private ping(): void {
    this.emit(this.hasWritten ? (this.pingWithin ?? this.pingText) : this.pingText);
    this.flushSink();
  }

  /** Held frames are sent after a while even without the bill. */
  private awaitBill(): void {
    if (this.outcome?.stream.frameRelay.isComplete === true) {
      // Nothing is lacking but the upstream's hanging up: then it is done by us.
      this.billDeadline ??= this.deps.deadlines.start(
        trailingMs,
        () => void this.reader?.cancel().catch(() => undefined),
      );
      return;
    }
    this.billDeadline ??= this.deps.deadlines.start(this.deps.billMs, () =>
      this.guard(() => {
        this.billOverdue = true;
        this.release();
        this.flushSink();
      }),
    );
  }

  private release(): void {
    this.billDeadline?.end();
    this.billDeadline = null;
    for (let part = this.buffered[0]; part !== undefined; part = this.buffered[0]) {
      this.emit(part);
      this.buffered.shift();
      this.hasWritten = true;
    }
  }

  private fail(error: ClientError): void {
    this.failed = true;
    const { parsed } = this.reservation;
    this.emit(streamError(parsed.protocol, error, this.reservation.language()));
  }

  private breakError(): ClientError {
    const stopped = this.disconnect.cutBy();
    return stopped === null
      ? brokenError(this.reservation, this.outcome)
      : clientError(stopped, this.reservation.parsed.requestId);
  }

  /** The runtime calls a method named `close`, whose errors it swallows. @returns false where the connection has to break off: in a list the error is an item, which no reader takes for an answer. */
  private endAnswer(): boolean {
    if (
      !this.failed ||
      this.client.closesOnError !== true ||
      this.transform !== null ||
      this.disconnect.isDisconnected
    ) {
      this.endSink();
      return true;
    }
    this.flushSink();
    return false;
  }

  // --- silence

  check(): void {
    this.guard(() => this.look());
  }

  private look(): void {
    const { pingMs, reader } = this;
    const { upstream } = this.disconnect;
    const at = this.deps.now();
    if (this.stalledMs !== null) {
      if (at - this.stalledMs >= stallLimitMs) upstream.abort();
      return;
    }
    if (reader !== null && !this.ended && at - this.lastByteMs >= this.idleMs) {
      this.idleCut = true;
      upstream.abort();
      void reader.cancel().catch(() => undefined);
      return;
    }
    if (pingMs !== null && at - this.lastWriteMs >= pingMs) {
      this.ping();
      this.lastWriteMs = at;
    }
  }

  // --- money

  /** Extends the reservation ahead of what is delivered. @returns false when it cannot be paid for. */
  private covers(frameRelay: FrameRelay, bytes: number): boolean {
    if (!this.grows) return true;
    const { coveredText } = this;
    if (coveredText.maxTokens + bytes > this.covered && this.covered < this.reservation.plan.estimate.maxTokens) {
      coveredText.count(frameRelay.owed(false));
      const needed = coveredText.maxTokens + bytes;
      if (needed > this.covered && !this.reserveAhead(needed) && !this.reserve(needed)) return false;
    }
    coveredText.unread += bytes;
    return true;
  }

  /** No more than leaves most of what there is to answers that run beside it. */
  private reserveAhead(needed: number): boolean {
    const { aheadTokens } = this.deps.state.settings;
    for (const more of [aheadTokens, aheadTokens / 16])
      if (this.reservation.hasPlentyFor(needed + more)) return this.reserve(needed + more);
    return false;
  }

  private reserve(tokens: number): boolean {
    if (!this.reservation.cover(tokens)) return false;
    this.covered = tokens;
    return true;
  }

  /** @returns whether the stream was cut because these bytes cannot be paid for. */
  private async uncovered(frameRelay: FrameRelay, bytes: number): Promise<boolean> {
    if (this.covers(frameRelay, bytes)) return false;
    return !(await this.leaseMore(() => this.covers(frameRelay, bytes)));
  }

  /** Leases more where that pays for what was sent. @returns false where the stream was cut. */
  private async leaseMore(isPaid: () => boolean): Promise<boolean> {
    if (await whenReserved(isPaid, () => this.reservation.ensureLease())) return true;
    const { requestId } = this.reservation.parsed;
    this.disconnect.upstream.abort();
    await this.end('quota_cut');
    this.fail(clientError(new AppError('user_exhausted', shortage(0, 1, this.deps.state.settings)), requestId));
    return false;
  }

  /** Notes what is owed now and then. @returns whether the stream was cut for want of quota. */
  private isOverdrawn(frameRelay: FrameRelay): Maybe {
    const isDue = this.lastByteMs - this.checkedMs >= this.deps.checkpointMs;
    if (isDue) this.checkedMs = this.lastByteMs;
    if (!(isDue || frameRelay.unreadBytes > unreadLimit) || frameRelay.isLast || frameRelay.billed) return false;
    return this.isAffordable(frameRelay.owed(false), isDue) ? false : this.leaseForMore(frameRelay);
  }

  private async leaseForMore(frameRelay: FrameRelay): Promise<boolean> {
    return !(await this.leaseMore(() => this.isAffordable(frameRelay.owed(false), false)));
  }

  /** @param durably what is owed is written down too. */
  private isAffordable(delivered: DeliveredText, durably: boolean): boolean {
    const { units, audioSeconds, pictures, fileTokens } = delivered;
    const { reservation, channel } = this;
    if (channel === null) return true;
    const defect = this.outcome?.stream.frameRelay.defect ?? null;
    if (defect !== null) throw defect.error;
    const guess: Usage = {
      ...emptyUsage,
      ...reservation.likelyPrompt,
      output:
        Math.ceil(units / 2) + fileTokens + (pictures === 0 ? 0 : pictures * writtenPicture(reservation.parsed.model)),
      audioOutput: audioTokens(audioSeconds),
    };
    if (durably) void this.checkpoint(delivered, guess, channel);
    return reservation.extendTo(guess);
  }

  /** Writes down what is owed, as the end of the stream would count it. @param bound where it is not counted. */
  private async checkpoint(delivered: DeliveredText, bound: Usage, channel: ChannelSnapshot): Promise<void> {
    const { deps, reservation } = this;
    const reported = this.outcome?.stream.frameRelay.usage ?? null;
    this.soFar ??= new CountSoFar(deps.counter, reservation);
    try {
      reservation.checkpoint((await this.soFar.of(delivered, reported)) ?? bound, channel);
    } catch (error) {
      deps.report(error, reservation.parsed.requestId);
    }
  }

  // --- the operator's words

  /** @param before how many texts the client has. @returns whether the frame just read completes a word of the list. */
  private hasStopWord(frameRelay: FrameRelay, before: number): boolean {
    if (this.watch === null) return false;
    const words = frameRelay.words();
    if (!this.watch(words)) return false;
    this.cutAt = textBefore(words, before);
    return true;
  }

  private async cutAtWord(): Promise<void> {
    this.disconnect.upstream.abort();
    await this.end('word_cut');
    const error = new AppError('answer_stopped', shortage(0, 1, this.deps.state.settings));
    this.fail(clientError(error, this.reservation.parsed.requestId));
  }

  // --- the end

  /** Called when the client leaves. */
  private isNearEnd(frameRelay: FrameRelay): boolean {
    let isNear = false;
    this.guard(() => {
      isNear = frameRelay.nearEnd() || this.isThinking() || frameRelay.deliversMedia();
    });
    return isNear;
  }

  /** Whether the upstream may have thought something that the client does not see. */
  private isThinking(): boolean {
    const { outcome, reservation } = this;
    return outcome !== null && hasHiddenThinking(reservation, outcome.prepared, outcome.stream.frameRelay);
  }

  /** Settles, once. Resolves when the bill is durable: until then the client gets pings. */
  private async end(reason: EndReason, failure?: string): Promise<void> {
    const { deps, reservation, outcome } = this;
    if (this.ended || outcome === null) return;
    this.ended = true;
    this.billDeadline?.end();
    const { stream, prepared } = outcome;
    const { frameRelay } = stream;
    // Usage with the end or behind it is the whole bill, however the stream ended.
    const whole = isWholeBill(frameRelay, reason === 'completed');
    const delivered = whole ? nothingDelivered : (this.cutAt ?? frameRelay.owed(true));
    // Words that are read to find out may bring a later report.
    const { usage } = frameRelay;
    reservation.received(frameRelay.receivedBytes);
    const nowMs = deps.now();
    const end: StreamEnd = {
      endReason: this.endReasonOf(reason),
      usage,
      usageSource: usage === null ? null : whole ? 'reported' : 'partial',
      delivered,
      thought:
        whole || reason === 'completed' || reason === 'internal' || !this.isThinking()
          ? null
          : thoughtTime(stream, nowMs),
      firstByteMs: stream.firstByteMs ?? nowMs,
      ...(failure === undefined ? {} : { failure }),
      finishReason: () => frameRelay.finish()?.reason ?? null,
      responseId: frameRelay.responseId,
      diagnosis: frameRelay.diagnosis,
    };
    if (frameRelay.defect !== null) deps.report(frameRelay.defect.error, reservation.parsed.requestId);
    const attempts = reportOutcome(deps, reservation, outcome, end);
    if (prepared.namesKept && reason !== 'internal') {
      const answer = frameRelay.answer();
      if (answer !== null) noteKept(deps.affinity, reservation, prepared, answer);
    }
    // It may ring although `start` failed.
    let pings: Deadline | null = null;
    pings = deps.deadlines.start(deps.commitPingMs, () => {
      this.guard(() => this.ping());
      pings?.restart(deps.commitPingMs);
    });
    try {
      const body = reservation.parsed.operation === 'chat' ? null : frameRelay.answer();
      await closeRequest(deps, reservation, { prepared, attempts, body }, end);
    } finally {
      pings?.end();
    }
  }

  private endReasonOf(reason: EndReason): EndReason {
    const { disconnect } = this;
    // Read to its end for the sake of the bill alone.
    if (reason === 'completed') return disconnect.isDisconnected ? 'client_gone' : reason;
    return reason === 'internal' || disconnect.cutBy() === null ? reason : 'stopped';
  }
}

/** Frames on their way out. */
interface Chunk {
  readonly frames: readonly RawFrame[];
  /** Index of the first frame that was not checked. */
  next: number;
  wrote: boolean;
}

/** No tokenizer makes more tokens than there are bytes: so many are surely enough, mostly without looking into the frames. */
class CoveredText {
  /** Bytes of frames whose words were not counted yet. */
  unread = 0;
  private counted = 0;
  private texts = 0;
  private keptUnits = 0;
  private keptBytes = 0;

  get maxTokens(): number {
    return this.counted + this.unread;
  }

  count({ texts, units }: DeliveredText): void {
    for (; this.texts < texts.length; this.texts++) {
      const text = texts[this.texts] ?? '';
      this.keptUnits += text.length;
      this.keptBytes += Buffer.byteLength(text);
    }
    // Text that was not kept is taken at its worst.
    this.counted = this.keptBytes + 3 * (units - this.keptUnits);
    this.unread = 0;
  }
}
