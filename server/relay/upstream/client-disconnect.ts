/** What follows when a client leaves: the upstream is cancelled, or read on for a while where the channel asks for it or only the bill is left to come. */
import type { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';

/** A request under way that can be ended before its time. */
export interface Cuttable {
  /** The client is told why. */
  cut(reason: AppError): void;
}

/** The upstream's side of a request, whichever call it is at. */
export interface UpstreamSide {
  readonly aborted: boolean;
  /** Ends it. */
  abort(): void;
  /** Called once when it is ended. */
  onAbort(listener: () => void): void;
}

export interface Departure extends Cuttable {
  readonly upstream: UpstreamSide;
  gone(): boolean;
  /** Called once when the client leaves, at once when it has. */
  onGone(listener: () => void): void;
  /** The client left; later calls do nothing. */
  leave(): void;
  /** Why we do; null = we do not. */
  cutBy(): AppError | null;
  /** The channel that is being asked now: its setting decides. @returns what ends this call, with the request or before it. */
  asking(channel: ChannelSnapshot): AbortController;
  /** @param near asked when the client leaves: little but the bill is left to come. */
  expecting(near: () => boolean): void;
  /** The client has left, and the upstream is read on for the bill and for nothing else. */
  forBillAlone(): boolean;
}

/** `drain: true` reads on so long; a number is seconds. */
const drainMs = 30_000;
const longestDrainMs = 300_000;

const notNear = () => false;

/** @param billMs how long a bill is waited for. */
export function createDeparture(client: AbortSignal, billMs: number): Departure {
  let call: AbortController | null = null;
  let aborted = false;
  const listeners: (() => void)[] = [];
  const upstream: UpstreamSide = {
    get aborted() {
      return aborted;
    },
    abort() {
      if (aborted) return;
      aborted = true;
      call?.abort();
      for (const listener of listeners) listener();
    },
    onAbort: (listener) => void listeners.push(listener),
  };
  let gone = false;
  let current: ChannelSnapshot | null = null;
  const leavers: (() => void)[] = [];
  let near = notNear;
  let billAlone = false;
  let cutBy: AppError | null = null;
  const leave = () => {
    if (gone) return;
    gone = true;
    const drain = current === null ? 0 : drainOf(current);
    billAlone = drain === 0 && near();
    const ms = billAlone ? billMs : drain;
    if (ms === 0) upstream.abort();
    else setTimeout(upstream.abort, ms).unref();
    for (const listener of leavers) listener();
  };
  if (client.aborted) leave();
  else client.addEventListener('abort', leave, { once: true });
  return {
    upstream,
    gone: () => gone,
    onGone(listener) {
      if (gone) listener();
      else leavers.push(listener);
    },
    leave,
    cut(reason) {
      cutBy ??= reason;
      upstream.abort();
    },
    cutBy: () => cutBy,
    asking(channel) {
      current = channel;
      near = notNear;
      // One for each call and none for the request: chained controllers cost more than all else that is done here.
      call = new AbortController();
      if (aborted) call.abort();
      return call;
    },
    expecting(ask) {
      near = ask;
    },
    forBillAlone: () => billAlone,
  };
}

/** @returns milliseconds; 0 = the upstream is cancelled at once. */
export function drainOf({ setting: { drain } }: ChannelSnapshot): number {
  if (drain === true) return drainMs;
  return typeof drain === 'number' && drain > 0 ? Math.min(drain * 1000, longestDrainMs) : 0;
}

/** A call that takes too long ends itself, not the request. */
export function ownAbort(abort: AbortController): AbortController {
  const own = new AbortController();
  abort.signal.addEventListener('abort', () => own.abort(), { once: true, signal: own.signal });
  return own;
}
