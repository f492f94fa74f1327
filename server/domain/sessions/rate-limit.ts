/** So many in a window for each key and no more, on whichever node: for what an asker can be denied without harm to others. */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';

export interface RateLimit {
  /** @returns false when the key has had its share. */
  take(key: string): Promise<boolean>;
  /** What is taken in the present window. */
  taken(key: string): Promise<number>;
}

/** @param purpose distinguishes it from other limits. */
export function createRateLimit(purpose: string, seconds: number, max: number, store: EphemeralStore): RateLimit {
  return {
    take: async (key) => (await store.count({ purpose, key }, seconds * 1000, max)) !== null,
    taken: (key) => store.counted({ purpose, key }),
  };
}
