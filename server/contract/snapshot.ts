/** What the relay knows: plain data published by the control thread, never read from SQL by the relay itself. */

import type { BudgetSnapshot, CountedWindow } from './budgets.ts';
import type { UnsupportedOfChannel } from './unsupported-members.ts';
import type { VirtualModel } from './virtual-models.ts';

export interface UserSnapshot {
  readonly id: number;
  readonly username: string;
  readonly role: number;
  readonly status: number;
  readonly group: string;
  /** Quota in the user's account when the row was read; the relay keeps its own running balance afterwards. */
  readonly balance: number;
  /** Quota used in all, read together with the balance. */
  readonly used: number;
  /** `accounts.version` read together with the balance; balance events up to it are already included. */
  readonly balanceVersion: number;
  /** What the user owes to the overrun account, read together with the balance. */
  readonly overrun: number;
  /** Quota of all the user's top-ups so far, read together with the balance; absent = 0. */
  readonly paidIn?: number | undefined;
  /** The user's `setting` JSON, parsed ({} when empty or malformed). */
  readonly setting: Readonly<Record<string, unknown>>;
}

/** 0 = no limit. */
export interface RateLimits {
  /** Requests per minute. */
  readonly rpm: number;
  /** Prompt and completion tokens per minute. */
  readonly tpm: number;
  /** Requests at the same time. */
  readonly concurrency: number;
}

export interface TokenLimits extends RateLimits {
  /** Quota per calendar day and month, UTC. */
  readonly dayBudget: number;
  readonly monthBudget: number;
}

/** What was used in the period that began at `at`, epoch seconds. */
export interface PeriodUse {
  readonly at: number;
  readonly used: number;
}

/** How the tightest of a caller's rate limits of one kind stands. */
export interface RateUse {
  readonly kind: 'requests' | 'tokens';
  readonly limit: number;
  /** What is left of it; on one of several machines that share it without a counter in common, what is left of this one's part. */
  readonly remaining: number;
  /** Milliseconds until all of it is there again. */
  readonly resetMs: number;
}

/** What bounds a key: its budget of a day or month, one that it or its user has for a window, its limit, or the balance of its user. */
export type BudgetKind = CountedWindow | 'key' | 'balance';

/** How much of a budget is used; what open requests hold is not. */
export interface BudgetUse {
  readonly kind: BudgetKind;
  /** Absent = quota. */
  readonly unit?: 'requests' | 'tokens';
  /** What is left of the balance, and what the key used of it this month. */
  readonly limit: number;
  readonly used: number;
  /** Epoch seconds; null = never. */
  readonly resets: number | null;
}

export interface TokenSnapshot {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  /** Lower-case hex HMAC-SHA-256 of the 48-character key (without `sk-`). */
  readonly keyHmac: string;
  /** The key before the last rotation, which works until `until` (epoch seconds); null = there is none. */
  readonly oldKey: { readonly hmac: string; readonly until: number } | null;
  readonly status: number;
  /** Epoch seconds; -1 = never. */
  readonly expiresAt: number;
  readonly unlimited: boolean;
  /** Total quota the token may ever use; remaining = limit - used. */
  readonly quotaLimit: number;
  readonly used: number;
  /** null = every model. */
  readonly modelLimits: readonly string[] | null;
  /** Addresses or CIDR ranges; empty = everywhere. */
  readonly allowIps: readonly string[];
  readonly group: string;
  /** Whose budgets bound it besides; absent = it has none. */
  readonly labels?: readonly string[] | undefined;
  /** The channels that alone serve it (see `key-channels.ts`); absent = every channel of its groups. */
  readonly channels?: string | undefined;
  /** null = none is set. */
  readonly limits: TokenLimits | null;
  /** What the ledger had counted in both periods when the row was read. */
  readonly periods: { readonly day: PeriodUse; readonly month: PeriodUse };
}

export interface ChannelSnapshot {
  readonly id: number;
  readonly name: string;
  readonly type: number;
  /** Decrypted upstream keys in use, one or several. Never logged, never sent to a client. */
  readonly keys: readonly string[];
  /** Names of `keys` in their order; absent where the channel has one key. */
  readonly keyNames?: readonly string[];
  /** Empty = the provider's default. No trailing slash. */
  readonly baseUrl: string;
  readonly organization: string;
  readonly other: string;
  readonly models: readonly string[];
  readonly groups: readonly string[];
  readonly priority: number;
  readonly weight: number;
  readonly status: number;
  readonly autoBan: boolean;
  readonly tag: string;
  readonly testModel: string;
  readonly modelMapping: Readonly<Record<string, string>>;
  readonly statusCodeMapping: Readonly<Record<string, string>>;
  readonly paramOverride: Readonly<Record<string, unknown>>;
  /** Rules that change a body, as they are stored; absent where there are none. */
  readonly bodyRules?: readonly unknown[];
  readonly setting: Readonly<Record<string, unknown>>;
}

/** Machines of a site, by name. */
export interface NodeCount {
  /** That may have requests under way. */
  readonly live: number;
  /** That live, or admitted requests in the last minute. */
  readonly recent: number;
}

type PresetMember =
  | 'oldKey'
  | 'expiresAt'
  | 'quotaLimit'
  | 'used'
  | 'modelLimits'
  | 'allowIps'
  | 'group'
  | 'labels'
  | 'channels'
  | 'limits'
  | 'periods';

/** What most keys say of themselves. */
export const tokenPresets: Pick<TokenSnapshot, PresetMember> = {
  oldKey: null,
  expiresAt: -1,
  quotaLimit: 0,
  used: 0,
  modelLimits: null,
  allowIps: [],
  group: '',
  labels: undefined,
  channels: undefined,
  limits: null,
  periods: { day: { at: 0, used: 0 }, month: { at: 0, used: 0 } },
};

/** A key as text: members that have their preset are left out, and so is what is kept as numbers beside it. */
export type SentToken = Pick<TokenSnapshot, 'name' | 'status' | 'unlimited'> &
  Partial<Pick<TokenSnapshot, PresetMember | 'keyHmac'>>;

/** What bounds a key, and what it has used. */
export type TokenMoney = Pick<TokenSnapshot, 'id' | 'unlimited' | 'quotaLimit' | 'used' | 'limits' | 'periods'>;

export interface Snapshot {
  readonly kind: 'snapshot';
  /** Sequence of the change feed this state includes. */
  readonly seq: number;
  /** Users and keys that came with the snapshot itself; its parts bring the others. */
  readonly users: readonly UserSnapshot[];
  readonly tokens: readonly TokenSnapshot[];
  readonly channels: readonly ChannelSnapshot[];
  /** Every option that differs from its default, as stored text, secrets left out. */
  readonly options: Readonly<Record<string, string>>;
  /** What upstreams do not take, of channels that have any; absent = nothing is known. */
  readonly unsupported?: readonly UnsupportedOfChannel[];
  /** Absent = there are none. */
  readonly virtualModels?: readonly VirtualModel[];
  /** Absent = there are none. */
  readonly budgets?: readonly BudgetSnapshot[];
  /** Machines that serve the site together, where it is not one. */
  readonly nodes?: NodeCount;
  /** Absent where everything is known. */
  readonly unknown?: UnknownRights;
}

/** Whose rights may have changed since this node last read of them: requests of theirs are refused until it has. */
export interface UnknownRights {
  /** The node has been alone for too long. */
  readonly all: boolean;
  /** The database is not read at the moment. */
  readonly away?: true;
  readonly users: readonly number[];
  readonly tokens: readonly number[];
}

/** Rows that changed since `Snapshot.seq` or the last delta. A user's delta carries no balance news: balances move only through ledger events. */
export interface SnapshotDelta {
  readonly kind: 'delta';
  readonly seq: number;
  readonly users: readonly UserSnapshot[];
  readonly tokens: readonly TokenSnapshot[];
  readonly channels: readonly ChannelSnapshot[];
  /** Stored text, or null when the option went back to its default. */
  readonly options: Readonly<Record<string, string | null>>;
  readonly removed: {
    readonly users: readonly number[];
    readonly tokens: readonly number[];
    readonly channels: readonly number[];
  };
  /** All that holds now for channels where that changed; absent = as before. */
  readonly unsupported?: readonly UnsupportedOfChannel[];
  /** All of them, where one has changed; absent = as before. */
  readonly virtualModels?: readonly VirtualModel[];
  /** The budgets that have changed; absent = as before. */
  readonly budgets?: readonly BudgetSnapshot[];
  /** Those that are gone. */
  readonly budgetsGone?: readonly number[];
  /** As many machines serve the site now; absent = as many as before. */
  readonly nodes?: NodeCount;
  /** Absent = as before. */
  readonly unknown?: UnknownRights;
}
