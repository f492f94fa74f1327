/** Many time limits, one timer: precise to a few milliseconds, which is all these limits need. */

export interface Deadlines {
  /** Calls `expire` about `ms` from now unless it is ended before. */
  start(ms: number, expire: () => void): Deadline;
}

export interface Deadline {
  /** It expires `ms` from now instead. */
  restart(ms: number): void;
  /** It will not expire. */
  end(): void;
}

/** A class, for each request has several. */
class Entry implements Deadline {
  constructor(
    private readonly open: Set<Entry>,
    public at: number,
    readonly expire: () => void,
  ) {
    open.add(this);
  }

  restart(ms: number): void {
    this.at = performance.now() + ms;
  }

  end(): void {
    this.open.delete(this);
  }
}

/** @param tickMs how late an expiry may be. The timer runs only while something waits. */
export function createDeadlines(tickMs: number): Deadlines {
  const open = new Set<Entry>();
  let timer: ReturnType<typeof setInterval> | null = null;

  const sweep = () => {
    const now = performance.now();
    for (const entry of open) {
      if (entry.at > now) continue;
      open.delete(entry);
      entry.expire();
    }
    if (open.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
  };

  return {
    start(ms, expire) {
      timer ??= setInterval(sweep, tickMs);
      return new Entry(open, performance.now() + ms, expire);
    },
  };
}
