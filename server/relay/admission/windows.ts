/** Sums over the last minutes, per key: a ring of slots, so that memory does not grow with the traffic. */

export interface Window {
  add(key: string, amount: number, nowMs: number): void;
  /** Takes back what was added at `atMs`, as long as it still counts. */
  take(key: string, amount: number, atMs: number): void;
  /** What was added within the span. Counts at most one slot too long, never too short. */
  total(key: string, nowMs: number): number;
  /** Milliseconds until at most `rest` of it is left. */
  waitMs(key: string, rest: number, nowMs: number): number;
}

interface Ring {
  readonly sums: Float64Array;
  /** Number of the newest slot since the epoch. */
  newest: number;
}

const slots = 30;
/** Keys kept before those nobody used within the span are forgotten. */
const manyKeys = 10_000;

export function createWindow(spanMs: number): Window {
  const slotMs = spanMs / slots;
  const rings = new Map<string, Ring>();
  const size = slots + 1;
  const slotOf = (nowMs: number) => Math.floor(nowMs / slotMs);

  /** Clears what has left the span. A clock set back by less than the span counts into the newest slot; by more, counting begins anew. */
  const advance = (ring: Ring, slot: number) => {
    if (Math.abs(slot - ring.newest) >= size) {
      ring.sums.fill(0);
      ring.newest = slot;
      return;
    }
    for (let passed = ring.newest + 1; passed <= slot; passed++) ring.sums[passed % size] = 0;
    ring.newest = Math.max(ring.newest, slot);
  };

  let swept = 0;
  /** Once per slot: with many keys in use there is nothing to find. */
  const sweep = (slot: number) => {
    if (slot === swept) return;
    swept = slot;
    for (const [key, ring] of rings) if (slot - ring.newest >= size) rings.delete(key);
  };

  const current = (key: string, nowMs: number): Ring | undefined => {
    const ring = rings.get(key);
    if (ring !== undefined) advance(ring, slotOf(nowMs));
    return ring;
  };
  const sumOf = (ring: Ring): number => ring.sums.reduce((sum, one) => sum + one, 0);

  return {
    add(key, amount, nowMs) {
      let ring = current(key, nowMs);
      if (ring === undefined) {
        if (rings.size >= manyKeys) sweep(slotOf(nowMs));
        ring = { sums: new Float64Array(size), newest: slotOf(nowMs) };
        rings.set(key, ring);
      }
      const at = ring.newest % size;
      ring.sums[at] = (ring.sums[at] ?? 0) + amount;
    },
    take(key, amount, atMs) {
      const ring = rings.get(key);
      const slot = slotOf(atMs);
      if (ring === undefined || slot > ring.newest || ring.newest - slot >= size) return;
      ring.sums[slot % size] = (ring.sums[slot % size] ?? 0) - amount;
    },
    total(key, nowMs) {
      const ring = current(key, nowMs);
      return ring === undefined ? 0 : sumOf(ring);
    },
    waitMs(key, rest, nowMs) {
      const ring = current(key, nowMs);
      if (ring === undefined) return 0;
      let left = sumOf(ring);
      for (let slot = ring.newest - slots; slot <= ring.newest; slot++) {
        if (left <= rest) return Math.max(0, slot * slotMs + spanMs - nowMs);
        left -= ring.sums[((slot % size) + size) % size] ?? 0;
      }
      return (ring.newest + 1) * slotMs + spanMs - nowMs;
    },
  };
}
