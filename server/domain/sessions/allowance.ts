/** So many in a window for each key and no more: for what an asker can be denied without harm to others. Counts live in memory. */

const mostKept = 100_000;

export interface Allowance {
  /** @returns false when the key has had its share. */
  take(key: string): boolean;
  /** What is taken in the present window. */
  taken(key: string): number;
}

/** @param now epoch milliseconds. */
export function createAllowance(seconds: number, most: number, now: () => number): Allowance {
  const kept = new Map<string, { count: number; readonly until: number }>();
  const taken = (key: string): number => {
    const found = kept.get(key);
    return found === undefined || found.until <= now() ? 0 : found.count;
  };
  return {
    taken,
    take(key) {
      const count = taken(key);
      if (count >= most) return false;
      const found = kept.get(key);
      if (count > 0 && found !== undefined) {
        found.count += 1;
        return true;
      }
      kept.delete(key);
      for (const oldest of kept.keys()) {
        if (kept.size < mostKept) break;
        kept.delete(oldest);
      }
      kept.set(key, { count: 1, until: now() + seconds * 1000 });
      return true;
    },
  };
}
