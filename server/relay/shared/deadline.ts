/** Many time limits, one timer: precise to a few milliseconds, which is all these limits need. */

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
    /** Milliseconds of `performance`. */
    public at: number,
    readonly expire: () => void,
  ) {}

  restart(ms: number): void {
    this.at = performance.now() + ms;
    if (!this.isOpen) this.deadlines.add(this);
  }

  end(): void {
    this.isOpen = false;
    this.deadlines.open.delete(this);
  }
}

/** The timer runs only while something waits. */
export class Deadlines {
  readonly open = new Set<Entry>();
  private timer: ReturnType<typeof setInterval> | null = null;

  /** @param tickMs how late an expiry may be. */
  constructor(private readonly tickMs: number) {}

  /** Calls `expire` about `ms` from now unless it is ended before. */
  start(ms: number, expire: () => void): Deadline {
    const entry = new Entry(this, performance.now() + ms, expire);
    this.timer ??= setInterval(() => this.cleanup(), this.tickMs);
    this.open.add(entry);
    return entry;
  }

  /** Once more, after it has expired or ended. */
  add(entry: Entry): void {
    entry.isOpen = true;
    this.open.add(entry);
    this.timer ??= setInterval(() => this.cleanup(), this.tickMs);
  }

  private cleanup(): void {
    const now = performance.now();
    for (const entry of this.open) {
      if (entry.at > now) continue;
      entry.end();
      entry.expire();
    }
    if (this.open.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }
}

export const createDeadlines = (tickMs: number): Deadlines => new Deadlines(tickMs);
