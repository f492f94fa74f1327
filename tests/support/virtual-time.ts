/** Time that a test moves: nothing waits for a real clock. Events of the network and `setImmediate` stay real. */
import type { Timer, Timers } from '../../server/contract/timers.ts';

class VirtualTimer implements Timer {
  constructor(
    private readonly open: Set<VirtualTimer>,
    readonly run: () => void,
    readonly ms: number,
    /** Milliseconds since the beginning of this time. */
    public dueMs: number,
    readonly repeats: boolean,
  ) {}

  close(): void {
    this.open.delete(this);
  }

  unref(): void {}
}

/** One turn of the event loop: what is ready in it has run. */
export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const patienceMs = 10_000;

export class VirtualTime implements Timers {
  /** Milliseconds since the beginning of this time. */
  private elapsedMs = 0;
  /** In the order in which they were set. */
  private readonly open = new Set<VirtualTimer>();
  private listeners: { readonly ms: number; readonly resolve: () => void }[] = [];

  /** @param startMs what `now` says first, in epoch milliseconds. */
  constructor(private readonly startMs = Date.now()) {}

  readonly now = (): number => this.startMs + this.elapsedMs;
  readonly monoNow = (): number => this.elapsedMs;
  readonly set = (run: () => void, ms: number): Timer => this.add(run, ms, false);
  readonly every = (run: () => void, ms: number): Timer => this.add(run, ms, true);

  private add(run: () => void, ms: number, repeats: boolean): Timer {
    const timer = new VirtualTimer(this.open, run, ms, this.elapsedMs + Math.max(ms, repeats ? 1 : 0), repeats);
    this.open.add(timer);
    const heard = this.listeners.filter((listener) => listener.ms === ms);
    this.listeners = this.listeners.filter((listener) => listener.ms !== ms);
    for (const { resolve } of heard) resolve();
    return timer;
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.open.size;
  }

  /** Resolves when something waits for exactly so many milliseconds; at once when it does already. @throws after ten real seconds. */
  async waitsFor(ms: number): Promise<void> {
    for (const timer of this.open) if (timer.ms === ms) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const limit = setTimeout(() => reject(new Error(`nothing waits for ${ms} ms`)), patienceMs);
    this.listeners.push({ ms, resolve });
    await promise;
    clearTimeout(limit);
  }

  /** Moves time in one go: what is due runs in its order, and nothing else between. */
  jump(ms: number): void {
    const end = this.elapsedMs + ms;
    while (this.runNext(end));
    this.elapsedMs = Math.max(end, this.elapsedMs);
  }

  /** Moves time while the event loop stands still: what came due meanwhile runs once, afterwards. */
  block(ms: number): void {
    this.elapsedMs += ms;
    for (const timer of [...this.open]) {
      if (timer.dueMs > this.elapsedMs || !this.open.has(timer)) continue;
      if (timer.repeats) timer.dueMs = this.elapsedMs + timer.ms;
      else timer.close();
      timer.run();
    }
  }

  /** Moves time; what follows from one timer runs before the next one does. */
  async advance(ms: number): Promise<void> {
    const end = this.elapsedMs + ms;
    await turn();
    while (this.runNext(end)) await turn();
    this.elapsedMs = Math.max(end, this.elapsedMs);
    await turn();
  }

  /** @returns false where nothing is due by then. */
  private runNext(end: number): boolean {
    let next: VirtualTimer | null = null;
    for (const timer of this.open) if (timer.dueMs <= end && timer.dueMs < (next?.dueMs ?? Infinity)) next = timer;
    if (next === null) return false;
    this.elapsedMs = Math.max(this.elapsedMs, next.dueMs);
    if (next.repeats) next.dueMs += Math.max(1, next.ms);
    else this.open.delete(next);
    next.run();
    return true;
  }
}
