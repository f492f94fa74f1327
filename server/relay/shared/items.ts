/** Items of answers that clients name later instead of repeating them. */

export interface SealedItem {
  readonly id: string;
  readonly sealed: string;
}

/** Bounded: the oldest go first. Whose they are is part of every question. */
export interface ItemStore {
  /** @param days until they are forgotten. */
  keepItems(userId: number, items: readonly SealedItem[], days: number): Promise<void>;
  /** @returns those that are there, in no order. */
  keptItems(userId: number, ids: readonly string[]): Promise<readonly SealedItem[]>;
}
