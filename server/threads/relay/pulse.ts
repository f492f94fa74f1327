/**
 * Whether a relay thread stands still, and at which request: it counts its turns and notes what it works on in memory that
 * another thread reads. A loop, a pattern or a parser that does not come back stops nothing but the thread it runs in.
 */
import type { Timers } from '../../contract/timers.ts';

/** Cells: turns of the loop, units of the request's id, stalls. */
const beats = 0;
const idUnits = 1;
const stalls = 2;
const cells = 4;
const maxUnits = 64;
const bytes = cells * Int32Array.BYTES_PER_ELEMENT + maxUnits * Uint16Array.BYTES_PER_ELEMENT;

/** How often a thread says that it goes on. */
export const beatMs = 250;

/** A thread that stands still for so long is reported; where others serve, it is replaced after `replaceMs`. */
export const stallLimits = { reportMs: 2000, replaceMs: 10_000, lookMs: beatMs } as const;
export interface StallLimits {
  readonly reportMs: number;
  readonly replaceMs: number;
  /** Between two looks. */
  readonly lookMs: number;
}

export const newPulse = (): SharedArrayBuffer => new SharedArrayBuffer(bytes);

/** The relay thread's side. */
export class Pulse {
  private readonly counts: Int32Array;
  private readonly units: Uint16Array;
  private current = '';

  constructor(memory: SharedArrayBuffer) {
    this.counts = new Int32Array(memory, 0, cells);
    this.units = new Uint16Array(memory, cells * Int32Array.BYTES_PER_ELEMENT);
  }

  beat(): void {
    Atomics.add(this.counts, beats, 1);
  }

  /** Work from here on is for this request. Called for every piece of every answer: a comparison, mostly. */
  readonly works = (requestId: string): void => {
    if (requestId === this.current) return;
    this.current = requestId;
    const { counts, units } = this;
    const length = Math.min(requestId.length, maxUnits);
    for (let at = 0; at < length; at++) units[at] = requestId.charCodeAt(at);
    counts[idUnits] = length;
  };
}

/** A thread that stood still. */
export interface Stall {
  /** Its number, from 1. */
  readonly thread: number;
  /** '' = it worked on none. */
  readonly requestId: string;
  readonly ms: number;
}

/** The other side. */
class Watched {
  private readonly counts: Int32Array;
  private readonly units: Uint16Array;
  private seen = 0;
  stalledMs = 0;
  isReported = false;

  constructor(memory: SharedArrayBuffer) {
    this.counts = new Int32Array(memory, 0, cells);
    this.units = new Uint16Array(memory, cells * Int32Array.BYTES_PER_ELEMENT);
  }

  /** @returns for how long it has stood still; 0 = it goes on, or has not begun. */
  look(passedMs: number): number {
    const now = Atomics.load(this.counts, beats);
    const goesOn = now !== this.seen || now === 0;
    this.seen = now;
    this.stalledMs = goesOn ? 0 : this.stalledMs + passedMs;
    return this.stalledMs;
  }

  requestId(): string {
    return String.fromCharCode(...this.units.subarray(0, this.counts[idUnits]));
  }

  count(): void {
    Atomics.add(this.counts, stalls, 1);
  }
}

/** A new thread takes the place of one that is gone, or none does: nothing is expected until it begins. */
export function forgetPulse(memory: SharedArrayBuffer): void {
  const counts = new Int32Array(memory, 0, cells);
  Atomics.store(counts, beats, 0);
  Atomics.store(counts, idUnits, 0);
}

/** How often threads stood still, all together. */
export const stallsIn = (pulses: readonly SharedArrayBuffer[]): number =>
  pulses.reduce((sum, memory) => sum + Atomics.load(new Int32Array(memory, 0, cells), stalls), 0);

export interface StallWatchDeps {
  readonly pulses: readonly SharedArrayBuffer[];
  readonly limitMs: number;
  readonly lookMs: number;
  /** Called once for each stall, while it lasts. */
  readonly found: (stall: Stall) => void;
  /** It goes on. */
  readonly over?: (stall: Stall) => void;
  /** They are counted in the shared memory by this watch. */
  readonly counts?: boolean;
  readonly timers: Pick<Timers, 'monoNow' | 'every'>;
}

/** Looks at the threads of a process. Time that the watch itself did not run, as on a machine that slept, is no stall. */
export class StallWatch {
  private readonly threads: readonly Watched[];
  private lookedMs: number | null = null;

  constructor(private readonly deps: Omit<StallWatchDeps, 'timers'>) {
    this.threads = deps.pulses.map((memory) => new Watched(memory));
  }

  /** @param nowMs of a monotonic clock. */
  look(nowMs: number): void {
    const { limitMs, lookMs, found, over, counts } = this.deps;
    const passedMs = this.lookedMs === null ? 0 : Math.min(nowMs - this.lookedMs, 2 * lookMs);
    this.lookedMs = nowMs;
    for (const [index, thread] of this.threads.entries()) {
      const before = thread.stalledMs;
      const ms = thread.look(passedMs);
      if (ms === 0 && thread.isReported) {
        thread.isReported = false;
        over?.({ thread: index + 1, requestId: thread.requestId(), ms: before });
      }
      if (ms < limitMs || thread.isReported) continue;
      thread.isReported = true;
      if (counts === true) thread.count();
      found({ thread: index + 1, requestId: thread.requestId(), ms });
    }
  }
}

/** The same as often as it looks. @returns stops it. */
export function watchStalls(deps: StallWatchDeps): () => void {
  const watch = new StallWatch(deps);
  const { timers } = deps;
  const timer = timers.every(() => watch.look(timers.monoNow()), deps.lookMs);
  timer.unref();
  return () => timer.close();
}
