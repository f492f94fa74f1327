/** Items of answers as they are kept, wherever that is. */

export interface Kept {
  readonly id: string;
  readonly sealed: string;
}

export interface KeptItemLimits {
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
  closeItems(): void;
}
