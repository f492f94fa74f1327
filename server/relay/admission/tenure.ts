/**
 * For how long, and under which number, this machine may spend what it has leased: in cells that all its threads look at right
 * before money is spent. It runs from the moment a sign of life was sent, by whichever of two clocks ran further, so that a
 * machine that slept wakes up too late to spend.
 */
import type { Memory } from './memory.ts';

export interface Tenure {
  /** Number under which the machine leases; 0 = none. What was begun under another one is not counted here any more. */
  epoch(): number;
  /** To be asked right before money is spent. */
  lasts(): boolean;
}

/** For the thread that speaks with the books. */
export interface OwnTenure extends Tenure {
  /** A sign of life is on its way. @returns to be called when the database has confirmed it. */
  sent(): () => void;
  /** Nothing is spent until the next begins, and its first sign of life is confirmed. */
  ended(): void;
  begins(epoch: number): void;
}

export interface Clocks {
  /** Milliseconds of a clock that never goes back and is the same in all threads; may stand still while the machine sleeps. */
  steady(): number;
  /** Epoch milliseconds; may be set. */
  wall(): number;
}

/** By the database's clock fifteen seconds from the commit on; three less from the sending on. */
const lifeMs = 12_000;
/** Below the first that memory gives out. */
const Cell = { epoch: 1, steady: 2, wall: 3 } as const;

export function createTenure(memory: Pick<Memory, 'get' | 'set'>, { steady, wall }: Clocks): OwnTenure {
  const { get, set } = memory;
  return {
    epoch: () => get(Cell.epoch),
    lasts: () =>
      get(Cell.epoch) !== 0 &&
      get(Cell.steady) !== 0 &&
      Math.max(steady() - get(Cell.steady), Math.abs(wall() - get(Cell.wall))) < lifeMs,
    sent() {
      const at = { steady: steady(), wall: wall() };
      return () => {
        if (at.steady <= get(Cell.steady)) return;
        set(Cell.wall, at.wall);
        set(Cell.steady, at.steady);
      };
    },
    ended() {
      set(Cell.epoch, 0);
      set(Cell.steady, 0);
    },
    begins: (epoch) => set(Cell.epoch, epoch),
  };
}
