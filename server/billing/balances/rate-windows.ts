/** Sums over the last minutes: rings of slots in memory that all relay threads share, each under the lock of its key. */
import type { Memory } from './shared-memory.ts';

export interface Windows {
  readonly spanMs: number;
  add(ring: number, amount: number, nowMs: number): void;
  /** Takes back what was added at `atMs`, as long as it still counts. */
  take(ring: number, amount: number, atMs: number): void;
  /** What was added within the span. Counts at most one slot too long, never too short. */
  total(ring: number, nowMs: number): number;
  /** Milliseconds until at most `rest` of it is left. */
  waitMs(ring: number, rest: number, nowMs: number): number;
}

const slots = 30;
const size = slots + 1;
/** The number of the newest slot since the epoch comes after the sums. */
const newestCell = size;
/** Cells of one ring. */
export const ringCells = 32;

export function createWindows(memory: Memory, spanMs: number): Windows {
  const slotMs = spanMs / slots;
  const slotOf = (nowMs: number) => Math.floor(nowMs / slotMs);
  const clear = (cell: number) => {
    if (memory.get(cell) !== 0) memory.put(cell, 0);
  };

  /** Clears what has left the span. A clock set back by less than the span counts into the newest slot; by more, counting starts over. */
  const advance = (ring: number, slot: number): number => {
    const newest = memory.get(ring + newestCell);
    if (slot === newest) return newest;
    if (Math.abs(slot - newest) >= size) {
      for (let at = 0; at < size; at++) clear(ring + at);
      memory.put(ring + newestCell, slot);
      return slot;
    }
    for (let passed = newest + 1; passed <= slot; passed++) clear(ring + (passed % size));
    if (slot > newest) memory.put(ring + newestCell, slot);
    return Math.max(newest, slot);
  };
  const sumOf = (ring: number): number => {
    let sum = 0;
    for (let at = 0; at < size; at++) sum += memory.get(ring + at);
    return sum;
  };

  return {
    spanMs,
    add(ring, amount, nowMs) {
      memory.add(ring + (advance(ring, slotOf(nowMs)) % size), amount);
    },
    take(ring, amount, atMs) {
      const newest = memory.get(ring + newestCell);
      const slot = slotOf(atMs);
      if (slot > newest || newest - slot >= size) return;
      // A ring that was cleared in between has nothing to give back.
      const cell = ring + (slot % size);
      memory.put(cell, Math.max(0, memory.get(cell) - amount));
    },
    total(ring, nowMs) {
      advance(ring, slotOf(nowMs));
      return sumOf(ring);
    },
    waitMs(ring, rest, nowMs) {
      const newest = advance(ring, slotOf(nowMs));
      let left = sumOf(ring);
      for (let slot = newest - slots; slot <= newest; slot++) {
        if (left <= rest) return Math.max(0, slot * slotMs + spanMs - nowMs);
        left -= memory.get(ring + (((slot % size) + size) % size));
      }
      return (newest + 1) * slotMs + spanMs - nowMs;
    },
  };
}
