/** Items of answers that clients name later instead of repeating them. */

export interface EncryptedItem {
  readonly id: string;
  readonly sealed: string;
}

/** A thing that an upstream keeps under an id. */
export interface Owned {
  readonly id: string;
  readonly ownerId: number;
  readonly channelId: number;
}

/** Bounded: the oldest go first. Whose they are is part of every question. */
export interface ItemStore {
  /** @param days until they are forgotten. */
  keepItems(userId: number, items: readonly EncryptedItem[], days: number): Promise<void>;
  /** @returns those that are there, in no order. */
  keptItems(userId: number, ids: readonly string[]): Promise<readonly EncryptedItem[]>;
  keepOwners(owned: readonly Owned[]): Promise<void>;
  /** @returns those that are known, in no order. */
  ownersOf(ids: readonly string[]): Promise<readonly Owned[]>;
}
