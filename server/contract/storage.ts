/** The state of the ledger's storage, as operators see it. */
export interface StorageStatus {
  /** Paid requests are admitted. */
  readonly ok: boolean;
  /** Why not, '' = they are. */
  readonly reason: string;
  /** Epoch seconds of the last change. */
  readonly since: number;
  /** Settlements that are not durable yet. */
  readonly waiting: number;
  /** Answers that ended before their bill was durable, because the operator set a ceiling. */
  readonly late: number;
  /** Settlements that the ledger's rules turned down. */
  readonly refused: number;
}

export const healthyStorage: StorageStatus = { ok: true, reason: '', since: 0, waiting: 0, late: 0, refused: 0 };

/** A relay thread that stood still. */
export interface RelayStall {
  /** Its number, from 1. */
  readonly thread: number;
  /** What it worked on; '' = unknown. */
  readonly requestId: string;
  readonly ms: number;
  /** Epoch seconds. */
  readonly at: number;
}
