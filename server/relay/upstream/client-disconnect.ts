/** Handles a client's disconnect: the upstream is cancelled, or read on for a while where the channel is set to that or only the bill is left to come. */
import type { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Timer, Timers } from '../../contract/timers.ts';

/** A request under way that can be ended before its time. */
export interface Cuttable {
  /** The client gets the reason. */
  cut(reason: AppError): void;
  /** The request is over. */
  over?(): void;
}

/** Upstreams that are read on for clients that left. */
export interface Drains {
  open: number;
}

/** Above it no upstream is read on: what was delivered is counted. */
const maxDrains = 256;

/** `drain: true` reads on so long; a number is seconds. */
const drainMs = 30_000;
const maxDrainMs = 300_000;

const never = () => false;

/** The upstream's side of a request, whichever call it is at. */
export class UpstreamSide {
  aborted = false;
  /** The call that is under way. */
  call: AbortController | null = null;
  private listeners: (() => void)[] | null = null;

  /** Ends it. */
  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.call?.abort();
    for (const listener of this.listeners ?? []) listener();
  }

  /** Called once when it is ended. */
  onAbort(listener: () => void): void {
    this.listeners ??= [];
    this.listeners.push(listener);
  }
}

export class ClientDisconnect implements Cuttable {
  readonly upstream = new UpstreamSide();
  /** The client left. */
  isDisconnected = false;
  /** When it did, in epoch milliseconds; null = it has not. */
  leftMs: number | null = null;
  /** The client has left, and the upstream is read on for the bill and for nothing else. */
  forUsageOnly = false;
  private current: ChannelSnapshot | null = null;
  private disconnectListeners: (() => void)[] | null = null;
  private isNearEnd = never;
  private reason: AppError | null = null;
  private waiting: Timer | null = null;

  /** @param billMs how long a bill is waited for. @param drains of all requests of this relay. */
  constructor(
    client: AbortSignal,
    private readonly billMs: number,
    private readonly timers: Pick<Timers, 'now' | 'set'>,
    private readonly drains: Drains = { open: 0 },
  ) {
    if (client.aborted) this.leave();
    else client.addEventListener('abort', this, { once: true });
  }

  /** The client's signal. */
  handleEvent(): void {
    this.leave();
  }

  /** Called once when the client leaves, at once when it has. */
  onDisconnect(listener: () => void): void {
    if (this.isDisconnected) listener();
    else {
      this.disconnectListeners ??= [];
      this.disconnectListeners.push(listener);
    }
  }

  /** The client left; later calls do nothing. */
  leave(): void {
    if (this.isDisconnected) return;
    this.isDisconnected = true;
    this.leftMs = this.timers.now();
    const drain = this.current === null ? 0 : drainOf(this.current);
    this.forUsageOnly = drain === 0 && this.drains.open < maxDrains && this.isNearEnd();
    const ms = this.forUsageOnly ? this.billMs : drain;
    if (ms === 0) this.upstream.abort();
    else {
      this.waiting = this.timers.set(() => this.upstream.abort(), ms);
      this.waiting.unref();
      this.drains.open++;
    }
    for (const listener of this.disconnectListeners ?? []) listener();
  }

  cut(reason: AppError): void {
    this.reason ??= reason;
    this.upstream.abort();
  }

  /** Why we end it; null = we do not. */
  cutBy(): AppError | null {
    return this.reason;
  }

  /** The channel that is called now: its setting decides. @returns what ends this call, with the request or before it. */
  begin(channel: ChannelSnapshot): AbortController {
    this.current = channel;
    this.isNearEnd = never;
    // One for each call and none for the request: chained controllers cost more than all else that is done here.
    const call = new AbortController();
    this.upstream.call = call;
    if (this.upstream.aborted) call.abort();
    return call;
  }

  /** @param isNearEnd called when the client disconnects: whether little but the bill is left to come. */
  expecting(isNearEnd: () => boolean): void {
    this.isNearEnd = isNearEnd;
  }

  /** The request is over. */
  over(): void {
    if (this.waiting === null) return;
    this.waiting.close();
    this.waiting = null;
    this.drains.open--;
  }
}

/** @returns milliseconds; 0 = the upstream is cancelled at once. */
export function drainOf({ setting: { drain } }: ChannelSnapshot): number {
  if (drain === true) return drainMs;
  return typeof drain === 'number' && drain > 0 ? Math.min(drain * 1000, maxDrainMs) : 0;
}

/** A call that takes too long ends itself, not the request. */
export function ownAbort(abort: AbortController): AbortController {
  const own = new AbortController();
  abort.signal.addEventListener('abort', () => own.abort(), { once: true, signal: own.signal });
  return own;
}
