/** Many time limits, one timer: precise to 50 milliseconds, which is all these limits need. */
import type { Timer, Timers } from '../../contract/timers.ts';

export interface Deadline {
  /** It expires `ms` from now instead; once more where it has expired. */
  restart(ms: number): void;
  /** It will not expire. */
  end(): void;
}

class Entry implements Deadline {
  /** It has neither expired nor ended. */
  isOpen = true;

  constructor(
    private readonly deadlines: Deadlines,
    /** Milliseconds of the monotonic clock. */
    public at: number,
    readonly expire: () => void,
  ) {}

  restart(ms: number): void {
    this.at = this.deadlines.timers.monoNow() + ms;
    if (!this.isOpen) this.deadlines.add(this);
  }

  end(): void {
    this.isOpen = false;
    this.deadlines.open.delete(this);
  }
}

/** How late an expiry may be, in milliseconds. */
const tickMs = 50;

/** The timer runs only while something waits. */
export class Deadlines {
  readonly open = new Set<Entry>();
  private timer: Timer | null = null;

  constructor(readonly timers: Pick<Timers, 'monoNow' | 'every'>) {}

  /** Calls `expire` about `ms` from now unless it is ended before. */
  start(ms: number, expire: () => void): Deadline {
    const entry = new Entry(this, this.timers.monoNow() + ms, expire);
    this.timer ??= this.timers.every(() => this.cleanup(), tickMs);
    this.open.add(entry);
    return entry;
  }

  /** Once more, after it has expired or ended. */
  add(entry: Entry): void {
    entry.isOpen = true;
    this.open.add(entry);
    this.timer ??= this.timers.every(() => this.cleanup(), tickMs);
  }

  private cleanup(): void {
    const now = this.timers.monoNow();
    for (const entry of this.open) {
      if (entry.at > now) continue;
      entry.end();
      entry.expire();
    }
    if (this.open.size > 0 || this.timer === null) return;
    this.timer.close();
    this.timer = null;
  }
}
