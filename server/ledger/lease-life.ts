/** How long a node may spend what it has leased, judged by itself: from the moment its last sign of life was sent, by whichever of two clocks ran further. A machine that slept wakes up too late to spend. */

export interface LeaseLife {
  /** A sign of life is on its way. @returns to be called when the database has confirmed it. */
  sent(): () => void;
  /** To be asked right before money is spent. */
  lasts(): boolean;
  /** The node goes by another number: it has nothing until that is confirmed. */
  ended(): void;
}

export interface Clocks {
  /** Milliseconds since some moment; may stand still while the machine sleeps. */
  monotonic(): number;
  /** Epoch milliseconds; may be set. */
  wall(): number;
}

/** By the database's clock fifteen seconds from the commit on; three less from the sending on. */
const lifeMs = 12_000;

export function createLeaseLife({ monotonic, wall }: Clocks): LeaseLife {
  let last: { readonly monotonic: number; readonly wall: number } | null = null;
  return {
    sent() {
      const at = { monotonic: monotonic(), wall: wall() };
      return () => {
        if (last === null || last.monotonic < at.monotonic) last = at;
      };
    },
    lasts: () => last !== null && Math.max(monotonic() - last.monotonic, Math.abs(wall() - last.wall)) < lifeMs,
    ended() {
      last = null;
    },
  };
}
