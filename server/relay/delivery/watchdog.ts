/** Minds the silence of a stream: the keep-alive, the idle upstream and the client that takes nothing. */
import { createPulse } from '../shared/pulse.ts';
import type { Bytes } from '../upstream/open-stream.ts';
import type { PumpOptions } from './stream-options.ts';

const pulse = createPulse();
/** A client that takes nothing for so long is given up. */
const stallLimitMs = 60_000;

export interface Watchdog {
  readonly startedMs: number;
  /** The stream is open: from here on silence counts. */
  listen(reader: Bytes): void;
  /** Bytes came. */
  heard(): void;
  lastByteMs(): number;
  /** What came was written. */
  wrote(): void;
  /** The client takes nothing. */
  stalled(): void;
  resumed(): void;
  /** The answer is over: silence is no fault any more. */
  settled(): void;
  /** The upstream was cut for its silence. */
  idleCut(): boolean;
  stop(): void;
}

/** @param ping writes whole texts alone, so it never breaks a frame. */
export function createWatchdog(
  { pingMs, idleMs, now, departure }: Pick<PumpOptions, 'pingMs' | 'idleMs' | 'now' | 'departure'>,
  ping: () => void,
): Watchdog {
  const { upstream } = departure;
  const startedMs = now();
  let lastByteMs = startedMs;
  let lastWriteMs = lastByteMs;
  /** Since when the client takes nothing; null = it takes. */
  let stalledMs: number | null = null;
  let reader: Bytes | null = null;
  let idleCut = false;
  let settled = false;

  const look = () => {
    const at = now();
    if (stalledMs !== null) {
      if (at - stalledMs >= stallLimitMs) upstream.abort();
      return;
    }
    if (reader !== null && !settled && at - lastByteMs >= idleMs) {
      idleCut = true;
      upstream.abort();
      void reader.cancel().catch(() => undefined);
      return;
    }
    if (pingMs !== null && at - lastWriteMs >= pingMs) {
      ping();
      lastWriteMs = at;
    }
  };
  const stop = pulse.every(Math.min(pingMs ?? idleMs, idleMs, stallLimitMs), look);

  return {
    startedMs,
    listen(opened) {
      reader = opened;
      lastByteMs = now();
    },
    heard() {
      lastByteMs = now();
    },
    lastByteMs: () => lastByteMs,
    wrote() {
      lastWriteMs = lastByteMs;
    },
    stalled() {
      stalledMs = now();
    },
    resumed() {
      stalledMs = null;
      lastByteMs = now();
    },
    settled() {
      settled = true;
    },
    idleCut: () => idleCut,
    stop,
  };
}
