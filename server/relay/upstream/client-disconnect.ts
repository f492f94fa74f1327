/** What follows when a client leaves: the upstream is cancelled, or read on for a while where the channel asks for it or only the bill is left to come. */
import type { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../state/snapshot.ts';

/** A request under way that can be ended before its time. */
export interface Cuttable {
  /** The client is told why. */
  cut(reason: AppError): void;
}

export interface Departure extends Cuttable {
  /** Ends the upstream's side. */
  readonly upstream: AbortController;
  gone(): boolean;
  /** Resolves when the client leaves. */
  whenGone(): Promise<void>;
  /** The client left; later calls do nothing. */
  leave(): void;
  /** Why we do; null = we do not. */
  cutBy(): AppError | null;
  /** The channel that is being asked now: its setting decides. */
  asking(channel: ChannelSnapshot): void;
  /** @param near asked when the client leaves: little but the bill is left to come. */
  expecting(near: () => boolean): void;
  /** The client has left, and the upstream is read on for the bill and for nothing else. */
  forBillAlone(): boolean;
}

/** `drain: true` reads on so long; a number is seconds. */
const drainMs = 30_000;
const longestDrainMs = 300_000;

/** @param billMs how long a bill is waited for. */
export function createDeparture(client: AbortSignal, billMs: number): Departure {
  const upstream = new AbortController();
  let gone = false;
  let current: ChannelSnapshot | null = null;
  let told: (() => void) | null = null;
  let near = () => false;
  let billAlone = false;
  let cutBy: AppError | null = null;
  const leave = () => {
    if (gone) return;
    gone = true;
    told?.();
    const drain = current === null ? 0 : drainOf(current);
    billAlone = drain === 0 && near();
    const ms = billAlone ? billMs : drain;
    if (ms === 0) return upstream.abort();
    setTimeout(() => upstream.abort(), ms).unref();
  };
  if (client.aborted) leave();
  else client.addEventListener('abort', leave, { once: true });
  return {
    upstream,
    gone: () => gone,
    whenGone: () =>
      gone
        ? Promise.resolve()
        : new Promise((resolve) => {
            told = resolve;
          }),
    leave,
    cut(reason) {
      cutBy ??= reason;
      upstream.abort();
    },
    cutBy: () => cutBy,
    asking(channel) {
      current = channel;
      near = () => false;
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
