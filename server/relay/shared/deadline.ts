/** Many time limits, one timer: precise to 50 milliseconds, which is all these limits need. */
import type { Timer, Timers } from '../../contract/timers.ts';

export interface Deadline {
  /** It expires `ms` from now instead; once more where it has expired. */
  restart(ms: number): void;
  /** It will not expire. */
  end(): void;
}

/** One in the list of those that are open: each request has several, and a list costs less than a set. */
class Entry implements Deadline {
  /** It has neither expired nor ended. */
  isOpen = true;
  before: Entry | null = null;
  after: Entry | null = null;

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
    if (!this.isOpen) return;
    this.isOpen = false;
    this.deadlines.remove(this);
  }
}

/** How late an expiry may be, in milliseconds. */
const tickMs = 50;

/** The timer runs only while something waits. */
export class Deadlines {
  private first: Entry | null = null;
  private last: Entry | null = null;
  private timer: Timer | null = null;

  constructor(readonly timers: Pick<Timers, 'monoNow' | 'every'>) {}

  /** Calls `expire` about `ms` from now unless it is ended before. */
  start(ms: number, expire: () => void): Deadline {
    const entry = new Entry(this, this.timers.monoNow() + ms, expire);
    this.add(entry);
    return entry;
  }

  /** Also once more, after it has expired or ended. */
  add(entry: Entry): void {
    entry.isOpen = true;
    entry.before = this.last;
    if (this.last === null) this.first = entry;
    else this.last.after = entry;
    this.last = entry;
    this.timer ??= this.timers.every(this.cleanup, tickMs);
  }

  remove(entry: Entry): void {
    const { before, after } = entry;
    if (before === null) this.first = after;
    else before.after = after;
    if (after === null) this.last = before;
    else after.before = before;
    entry.before = null;
    entry.after = null;
  }

  private readonly cleanup = (): void => {
    const now = this.timers.monoNow();
    const due: Entry[] = [];
    for (let entry = this.first; entry !== null; entry = entry.after) if (entry.at <= now) due.push(entry);
    // One that expires may end or restart another.
    for (const entry of due) {
      if (!entry.isOpen || entry.at > now) continue;
      entry.end();
      entry.expire();
    }
    if (this.first !== null || this.timer === null) return;
    this.timer.close();
    this.timer = null;
  };
}
