/**
 * For how long, and under which number, this machine may spend what it has leased: in cells that all its threads look at right
 * before money is spent. It runs from the moment a heartbeat was sent, by whichever of two clocks ran further, so that a
 * machine that slept wakes up too late to spend.
 */
import type { Memory } from '../balances/shared-memory.ts';

export interface NodeLease {
  /** Number under which the machine leases; 0 = none. What was begun under another one is not counted here any more. */
  epoch(): number;
  /** Checked right before money is spent. */
  isValid(): boolean;
  /** Milliseconds for which it may still spend if no heartbeat is confirmed; 0 = it may not. */
  remainingMs(): number;
}

/** For the thread that talks to the database. */
export interface OwnNodeLease extends NodeLease {
  /** A heartbeat is on its way. @returns to be called when the database has confirmed it. */
  heartbeatSent(): () => void;
  /** Nothing is spent until the next begins, and its first heartbeat is confirmed. */
  ended(): void;
  /** @param leaseSeconds for which the database lets it live after each heartbeat. */
  start(epoch: number, leaseSeconds?: number): void;
}

export interface Clocks {
  /** Milliseconds of a monotonic clock that is the same in all threads; it may stop while the machine sleeps. */
  monoNow(): number;
  /** Epoch milliseconds; may be set. */
  wall(): number;
}

const defaultLeaseSeconds = 15;
/** The database counts from the commit on and the node from the sending on, each by a clock of its own. */
const marginMs = 3000;
/** Below the first that memory gives out. */
const Cell = { epoch: 1, monotonic: 2, wall: 3, lifeMs: 4 } as const;

export function createNodeLease(memory: Pick<Memory, 'get' | 'set'>, { monoNow, wall }: Clocks): OwnNodeLease {
  const { get, set } = memory;
  const remainingMs = (): number => {
    if (get(Cell.epoch) === 0 || get(Cell.monotonic) === 0) return 0;
    const elapsed = Math.max(monoNow() - get(Cell.monotonic), Math.abs(wall() - get(Cell.wall)));
    return Math.max(0, get(Cell.lifeMs) - elapsed);
  };
  return {
    epoch: () => get(Cell.epoch),
    isValid: () => remainingMs() > 0,
    remainingMs,
    heartbeatSent() {
      const at = { monotonic: monoNow(), wall: wall() };
      return () => {
        if (at.monotonic <= get(Cell.monotonic)) return;
        set(Cell.wall, at.wall);
        set(Cell.monotonic, at.monotonic);
      };
    },
    ended() {
      set(Cell.epoch, 0);
      set(Cell.monotonic, 0);
    },
    start(epoch, leaseSeconds = defaultLeaseSeconds) {
      set(Cell.lifeMs, leaseSeconds * 1000 - marginMs);
      set(Cell.epoch, epoch);
    },
  };
}
