/** What the ledger and the leases ask of a database, and what a database reports to them: implemented in `db/ledger/sqlite` and `db/ledger/postgres`. */

import type { BudgetParts } from '../contract/budgets.ts';
import type { Period } from '../contract/period.ts';
import type { LedgerCommand, LedgerResult, LogEntry, MoneyEvent } from './ledger/commands.ts';

export interface Outcome {
  /** The results in the order of the commands. */
  readonly results: readonly LedgerResult[];
  /** To publish after the commit. */
  readonly events: readonly MoneyEvent[];
}

export interface LedgerStore {
  /** @param journaled sequence number of the last of them that a journal holds, 0 = none does. @throws the driver's error; then nothing was written. */
  apply(commands: readonly LedgerCommand[], journaled?: number): Outcome;
  /** What the tables know of a journal. */
  journal(): JournalMark;
  /**
   * `each`: a commit is durable when it returns. `later`: it may be lost with the power, together with its mark of the
   * journal, until one of the first kind comes.
   * @param busyMs for so long it waits for other writers.
   */
  commits(durable: 'each' | 'later', busyMs: number): void;
  /** A write or a sync failed: what had been committed without a sync may be lost, although a later sync succeeds. */
  isLoss(error: unknown): boolean;
  /** Another connection is writing. */
  isBusy(error: unknown): boolean;
  isInvalidCommand(error: unknown): boolean;
  /** Numbers this run; holds of older runs are leftovers of a crash. */
  nextEpoch(): number;
  holds(olderThan: number): StoredHold[];
  /** Number of the last posting; postings are never deleted. */
  lastPosting(): number;
  /** A durable write of nothing that matters. @throws the driver's error */
  probe(): void;
  /** @returns whether everything that was committed is in the file, and durable there. @throws the driver's error */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): boolean;
}

export interface JournalMark {
  /** 32 hex digits; made with the first question. */
  readonly id: string;
  /** It was made just now. */
  readonly isNew: boolean;
  /** Sequence number of the last command that came from the journal, 0 = none. */
  readonly applied: number;
}

export interface StoredHold {
  readonly ref: string;
  readonly user_id: number;
  readonly token_id: number;
  readonly channel_id: number;
  readonly observed: number;
  /** JSON of a `HeldLog`. */
  readonly log: string;
}

/** The log row that recovery would write, whether it is self-use, and the budgets that it counts in. */
export type HeldLog = LogEntry & { readonly house?: boolean; readonly budgets?: BudgetParts };

/** Counts of what was checked, and violations in words. */
export interface LedgerStats {
  readonly accounts: number;
  readonly postings: number;
  readonly redemptions: number;
  readonly topUps: number;
  readonly users: number;
  readonly counters: number;
  readonly total: number;
  readonly overrun: { readonly paid: number; readonly open: number };
  readonly wrongBalances: readonly string[];
  readonly duplicateRefs: readonly string[];
  readonly conservation: readonly string[];
  readonly wrongCounters: readonly string[];
  readonly negative: readonly string[];
  readonly wrongRedemptions: readonly string[];
  readonly wrongTopUps: readonly string[];
  readonly wrongTransfers: readonly string[];
  readonly wrongAmounts: readonly string[];
  readonly invoices: number;
  readonly wrongInvoices: readonly string[];
  /** Where budgets are. */
  readonly budgets?: number;
  readonly wrongBudgets?: readonly string[];
  /** Where several nodes share a balance. */
  readonly leases?: number;
  readonly wrongLeases?: readonly string[];
}

/** The last batch of one start of a node: an older copy of the database may issue epochs again, but not runs. */
export interface BatchMark {
  readonly epoch: number;
  readonly run: string;
  readonly seq: number;
}

export type LeaseKind = 'account' | 'token' | 'budget';

/** What a budget has used, as the database had it. */
export interface BudgetUseState {
  /** When the window at hand began, epoch seconds. */
  readonly windowAt: number;
  readonly used: number;
}

export interface Acquire {
  readonly type: 'acquire';
  /** `budget`: `account` is the id of a budget, and there is no token. Absent = of a user. */
  readonly kind?: 'budget';
  readonly account: number;
  /** 0 = none that has a limit or budget. */
  readonly token: number;
  /** What the request at hand still needs of both. */
  readonly need: number;
  readonly tokenNeed: number;
  /** What this node is likely to use in the next seconds. */
  readonly use: number;
  /** Leased where the balance is ample, however little was used before; absent = nothing. */
  readonly floor?: number;
  /** That are live, this one included. */
  readonly nodes: number;
  /** A smaller amount is accepted where there is less than needed. */
  readonly partial?: boolean;
}

export interface Release {
  readonly type: 'give-back';
  readonly kind: LeaseKind;
  readonly subject: number;
  /** Out of reach of this node's requests already. */
  readonly amount: number;
}

export type LeaseMove = Acquire | Release;

/** What decides over a user's allowance, as the ledger had it. */
export interface AccountState {
  /** `accounts.version`. */
  readonly version: number;
  /** What the user owes. */
  readonly overrun: number;
  /** All the user's top-ups. */
  readonly paidIn: number;
}

/** Known before any of what was leased is in reach. */
export type SubjectState = AccountState | BudgetUseState;

export interface Grant {
  readonly account: number;
  readonly token: number;
  /** 0 = nothing, not even what was needed. */
  readonly granted: number;
  readonly tokenGranted: number;
  /** The total, wherever it is. */
  readonly max: number;
  readonly tokenMax: number;
  /** What of the token there is least of: of its limit, or of its budget for a period. */
  readonly tokenBound: 'limit' | Period;
  /** What the account has: other machines may have changed it. Absent = there is no account. */
  readonly accountState?: AccountState;
  /** What a budget has. */
  readonly budgetState?: BudgetUseState;
  /** Other nodes that live and have some of what was not granted in full. */
  readonly holders: readonly number[];
}

export interface MoveOutcome {
  /** The grants in the order of the acquisitions. */
  readonly grants: readonly Grant[];
}

/** What of a settlement this node's lease did not pay: it was taken off there in memory, and is still there. */
export interface UnspentLease {
  readonly kind: LeaseKind;
  readonly subject: number;
  readonly amount: number;
}

export interface Kept {
  readonly number: number;
  readonly command: LedgerCommand;
}

export interface Outbox {
  /** Durable when it returns. @returns their numbers; the caller has them in hand until `release`. @throws when there is no room, or the disk refuses. */
  keep(commands: readonly LedgerCommand[]): number[];
  /** The oldest that no caller has taken; now this caller has. */
  take(max: number): Kept[];
  release(numbers: readonly number[]): void;
  /** The moves are in the ledger. */
  drop(numbers: readonly number[]): void;
  size(): number;
}
