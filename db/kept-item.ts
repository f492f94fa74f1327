/** Items of answers, and whose the things are that upstreams keep, wherever that is stored. */

export interface Kept {
  readonly id: string;
  readonly sealed: string;
}

/** A thing that an upstream keeps under an id: a response, an item, a container. */
export interface Owned {
  readonly id: string;
  readonly ownerId: number;
  readonly channelId: number;
}

export interface KeptItemLimits {
  /** Owners. */
  readonly owners: number;
  /** Characters. */
  readonly perUser: number;
  readonly inAll: number;
}

export interface KeptItems {
  /** @param days for which they are kept. */
  keepItems(userId: number, items: readonly Kept[], days: number): Promise<void>;
  keptItems(userId: number, ids: readonly string[]): Promise<Kept[]>;
  /** The operator may have thought better of it. @param days for which any may still be kept. */
  sweepItems(days: number): Promise<void>;
  /** For thirty days, as long as upstreams keep it; the last word holds. */
  keepOwners(owned: readonly Owned[]): Promise<void>;
  /** @returns those that are known, in no order. */
  ownersOf(ids: readonly string[]): Promise<Owned[]>;
  closeItems(): void;
}
