/** The ledger's language: commands in, results and balance events out. Plain data, so that it crosses thread borders. All amounts are integer quota. */
import type { BudgetParts } from '../../contract/budgets.ts';
import type { EndReason, UsageSource } from '../../contract/enum.ts';
import type { InvoiceDraft } from '../../contract/invoice.ts';
import type { Names } from '../../contract/names.ts';

/** Accounts: a user's account has the user's id; the system's own are negative. */
export const Account = { mint: -1, revenue: -2, overrun: -3, promo: -4, adjust: -5, house: -6 } as const;

/** Account of what a user earned by invitations and has not moved to the balance yet. */
export const affiliateAccount = (userId: number): number => -1000 - userId;

export type PostingKind =
  | 'settle'
  | 'grant'
  | 'deduct'
  | 'redeem'
  | 'topup'
  | 'transfer'
  | 'reward'
  | 'refund'
  /** Pays what a settlement cost beyond the balance. */
  | 'overrun'
  /** Gives overrun back out of a credit. */
  | 'repay'
  /** Pays an owner's own request in self-use mode. */
  | 'house';

/** A usage log row (type 2 or 5) as it will be stored; `other` is already JSON text. Times are epoch seconds. */
export interface LogEntry {
  readonly requestId: string;
  readonly createdAt: number;
  readonly type: number;
  readonly userId: number;
  readonly username: string;
  readonly tokenId: number;
  readonly tokenName: string;
  readonly channelId: number;
  readonly group: string;
  readonly model: string;
  readonly isStream: boolean;
  /** Whole seconds, as on the wire; milliseconds are in `other.ms`. */
  readonly useTime: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly quota: number;
  readonly content: string;
  readonly other: string;
  readonly usageSource: UsageSource;
  readonly endReason: EndReason;
  /** Absent = it named nobody. The ledger's store turns them into numbers. */
  readonly names?: Names;
}

/**
 * Ends a relayed request: posting (when amount > 0), counters, log row, hold removed; once per `ref`. What the balance
 * cannot pay is paid by `overrun` in a second posting, so that a repetition is compared by the requested amount.
 */
export interface Settle {
  readonly type: 'settle';
  /** Request id. */
  readonly ref: string;
  readonly userId: number;
  /** 0 = playground or channel test. */
  readonly tokenId: number;
  readonly channelId: number;
  readonly amount: number;
  readonly at: number;
  /** The house pays, not the balance. */
  readonly house?: boolean;
  /** null = consumption logging is off. */
  readonly log: LogEntry | null;
  /** Tokens counted into the hourly dashboard rows, with the two names below. */
  readonly tokens: number;
  readonly model: string;
  readonly username: string;
  /** Recorded for a node that is gone: the node's own settlement still counts, should it come back. */
  readonly provisional?: boolean;
  /** Epoch of the node under whose lease it was admitted, where there are several. */
  readonly epoch?: number | undefined;
  /** Budgets that it counts in; absent = none. */
  readonly budgets?: BudgetParts | undefined;
}

/** Durable intent of a long request; replaced by later ones of the same ref; removed by `settle` or `void`. */
export interface Hold {
  readonly type: 'hold';
  readonly ref: string;
  readonly userId: number;
  readonly tokenId: number;
  readonly channelId: number;
  readonly estimate: number;
  /** What would be charged if the process died now. */
  readonly observed: number;
  readonly at: number;
  readonly house?: boolean;
  readonly log: LogEntry;
  /** As in its settlement. */
  readonly epoch?: number | undefined;
  readonly budgets?: BudgetParts | undefined;
}

export interface Void {
  readonly type: 'void';
  readonly ref: string;
  /** An error row to keep, or null. */
  readonly log: LogEntry | null;
  readonly provisional?: boolean;
}

/** A row of the log that concerns no money; lost with the process, or while nothing can be written. */
export interface Note {
  readonly type: 'note';
  /** Request id. */
  readonly ref: string;
  readonly log: LogEntry;
}

/** Moves quota into (`grant`) or out of (`deduct`) a user's account. A deduction may not make the balance negative. */
export interface Adjust {
  readonly type: 'grant' | 'deduct';
  /** Unique: `setup:<userId>`, `admin:<nonce>`, ... */
  readonly ref: string;
  readonly userId: number;
  readonly amount: number;
  readonly at: number;
  /** Account on the other side, default mint (grant) or adjust (deduct). */
  readonly from?: number;
  readonly kind?: PostingKind;
  /** Log row (type 1 or 3) written in the same transaction. */
  readonly log: LogEntry | null;
  /** A deduction takes back what a paid order had credited. */
  readonly order?: OrderRefund;
}

/** A part of a paid order, or all of it, is given back. */
export interface OrderRefund {
  readonly tradeNo: string;
  /** In smallest units of its currency: with this one, and before it. */
  readonly refunded: number;
  readonly before: number;
  /** The credit note to be made; null = the order has no invoice. */
  readonly invoice: InvoiceDraft | null;
}

/** Claims a redemption code and credits it. */
export interface Redeem {
  readonly type: 'redeem';
  /** `redeemRef(redemptionId)`. */
  readonly ref: string;
  readonly redemptionId: number;
  readonly userId: number;
  /** What the code was worth when the caller read it. */
  readonly amount: number;
  readonly at: number;
  /** Confirmed once already; the row may be missing, as in an older copy of the database. */
  readonly resent?: boolean;
  readonly log: LogEntry | null;
}

/** Credits a paid order and completes the payment callback. */
export interface TopUp {
  readonly type: 'topup';
  /** `topUpRef(tradeNo)`. */
  readonly ref: string;
  readonly tradeNo: string;
  readonly userId: number;
  readonly amount: number;
  /** Row of the inbox, 0 = completed by hand. */
  readonly callbackId: number;
  readonly at: number;
  /** To be made with the payment; absent = the site makes none. */
  readonly invoice?: InvoiceDraft;
  /** Confirmed once already; the row may be missing, as in an older copy of the database. */
  readonly resent?: boolean;
  readonly log: LogEntry | null;
}

/** Moves quota earned by invitations into the balance. */
export interface Transfer {
  readonly type: 'transfer';
  /** `transfer:<userId>:<nonce>`. */
  readonly ref: string;
  readonly userId: number;
  readonly amount: number;
  readonly at: number;
  readonly log: LogEntry | null;
}

/** A user registered with this user's invitation: counted, and rewarded when `amount` > 0. */
export interface Reward {
  readonly type: 'reward';
  /** `rewardRef(inviteeId)`. */
  readonly ref: string;
  readonly userId: number;
  readonly amount: number;
  readonly at: number;
  readonly log: LogEntry | null;
}

/** Gives back what was settled for work that failed later, once per settlement, with its counters. */
export interface Refund {
  readonly type: 'refund';
  /** `refundRef(of)`. */
  readonly ref: string;
  /** Ref of the settlement. */
  readonly of: string;
  readonly userId: number;
  /** At most what was settled. */
  readonly amount: number;
  readonly model: string;
  readonly username: string;
  readonly at: number;
  readonly log: LogEntry | null;
}

/** Adds to what a budget has used in a window, or takes off, never below zero. */
export interface CountBudget {
  readonly type: 'budget';
  /** Unique. */
  readonly ref: string;
  readonly budgetId: number;
  /** Epoch seconds. */
  readonly windowAt: number;
  /** In the budget's unit. */
  readonly delta: number;
}

export const redeemRef = (redemptionId: number): string => `redeem:${redemptionId}`;
export const topUpRef = (tradeNo: string): string => `topup:${tradeNo}`;
const orderRefunds = 'orderrefund:';
/** @param refunded in all, in smallest units of the order's currency. */
export const orderRefundRef = (tradeNo: string, refunded: number): string => `${orderRefunds}${tradeNo}:${refunded}`;
export const isOrderRefund = (ref: string): boolean => ref.startsWith(orderRefunds);
export const rewardRef = (inviteeId: number): string => `invite:${inviteeId}`;
export const refundRef = (of: string): string => `refund:${of}`;
/** Reference of the part that a node's own settlement adds to one that was made for it. */
export const finalRef = (ref: string): string => `${ref}#final`;
/** Reference of the posting that goes with another one. */
export const pairedRef = (ref: string, kind: PostingKind): string => `${kind}:${ref}`;

export type LedgerCommand =
  | Settle
  | Hold
  | Void
  | Note
  | Adjust
  | Redeem
  | TopUp
  | Transfer
  | Reward
  | Refund
  | CountBudget;

/** Commands that speak of work already done: they are kept until they are written, wherever that is. */
export const keptUntilWritten: ReadonlySet<LedgerCommand['type']> = new Set(['settle', 'hold', 'void'] as const);

export type RefusalReason =
  | 'insufficient'
  | 'invalid'
  | 'unknown_account'
  /** The balance would be more than a number can say exactly. */
  | 'too_large'
  /** The code or order does not exist, or is not open any more. */
  | 'closed'
  /** The code, order or settlement says another amount or user. */
  | 'mismatch';

export type LedgerResult =
  | { readonly status: 'done' }
  /** The ref had been posted before with the same content; nothing changed. */
  | { readonly status: 'duplicate' }
  /** The ref had been posted before with another amount or account; nothing changed, alert. */
  | { readonly status: 'conflict' }
  | { readonly status: 'refused'; readonly reason: RefusalReason; readonly detail: string };

/** Sent to the relay after the commit whenever a balance changed for another reason than a settlement. */
export interface BalanceEvent {
  readonly kind: 'balance';
  readonly userId: number;
  /** Signed change in quota. */
  readonly delta: number;
  /** `accounts.version` after the movement. */
  readonly version: number;
  /** Signed change of what the user owes to `overrun`. */
  readonly overrun?: number;
  /** All the user's top-ups, this one included. */
  readonly paidIn?: number;
  /** A refund also gives the token's used quota back. */
  readonly token?: { readonly id: number; readonly used: number };
}

/** What a budget has used changed for another reason than a settlement. */
export interface BudgetEvent {
  readonly kind: 'budget';
  readonly budgetId: number;
  readonly windowAt: number;
  /** Signed, in the budget's unit. */
  readonly delta: number;
}

/** What was settled for an end user of a key was given back; his windows are in memory alone. */
export interface EndUserEvent {
  readonly kind: 'end_user';
  readonly tokenId: number;
  /** '' = the request named nobody. */
  readonly name: string;
  /** Time of the settlement, epoch seconds. */
  readonly at: number;
  /** Signed quota. */
  readonly delta: number;
}

export type MoneyEvent = BalanceEvent | BudgetEvent | EndUserEvent;

/** A request to the site's ledger for a lease, where several machines share it. */
export interface LeaseOrder {
  readonly userId: number;
  /** 0 = no key's limit is in question. */
  readonly tokenId: number;
  /** The balance is left alone. */
  readonly house: boolean;
  /** The budget that is leased, in its unit, and nothing else; absent = the balance and the key's limit are. */
  readonly budget?: number;
  /** Quota beyond what lies here: of the first who waits, and of all. */
  readonly more: number;
  readonly wish: number;
}

export interface SpendingLimits {
  /** null = without end. */
  readonly limit: number | null;
  readonly used: number;
}

/** What services and the relay hold in their hands, wherever the ledger runs (its own thread, or in-process for the CLI). */
export interface Ledger {
  /** Resolves when the command is durable (or refused). Rejects with AppError storage_unavailable when it cannot be written now; a settlement is kept and retried even then. */
  execute(command: LedgerCommand): Promise<LedgerResult>;
  /** True while paid work may be admitted. */
  healthy(): { readonly ok: true } | { readonly ok: false; readonly reason: string };
}
