/** Many time limits, one timer: precise to a few milliseconds, which is all these limits need. */

export interface Deadlines {
  /** Calls `expire` about `ms` from now unless the returned function is called before. */
  start(ms: number, expire: () => void): () => void;
}

interface Entry {
  readonly at: number;
  readonly expire: () => void;
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
      const entry = { at: performance.now() + ms, expire };
      open.add(entry);
      timer ??= setInterval(sweep, tickMs);
      return () => void open.delete(entry);
    },
  };
}
