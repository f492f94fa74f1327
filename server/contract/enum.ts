/** Numbers and words that travel on the wire and rest in the database. They are new-api's. */

export const Role = { guest: 0, user: 1, admin: 10, root: 100 } as const;
export const UserStatus = { enabled: 1, disabled: 2 } as const;
export const TokenStatus = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const;
export const ChannelStatus = { enabled: 1, disabled: 2, autoDisabled: 3 } as const;
export const RedemptionStatus = { unused: 1, disabled: 2, used: 3 } as const;
export const LogType = { unknown: 0, topup: 1, consume: 2, manage: 3, system: 4, error: 5 } as const;

/** How sure we are of a log row's token counts. */
export type UsageSource = 'reported' | 'partial' | 'estimated' | 'none';

/** Why a relayed request ended; decides who pays (see server/billing/README.md). */
export type EndReason =
  | 'completed'
  | 'rejected'
  /** Rejected before any upstream was called. */
  | 'refused'
  | 'upstream_failed'
  | 'upstream_broken'
  | 'client_gone'
  | 'quota_cut'
  /** At a word of the operator's list. */
  | 'word_cut'
  /** We ended ourselves, or could not bill any more. */
  | 'stopped'
  /** A defect of this program. */
  | 'internal'
  | 'recovered';

/** `zh`, `en`, or one that has an overlay. */
export type Language = 'zh' | 'en' | (string & Record<never, never>);

/** Languages that rows and documents are written in. */
export type Written = keyof Text;

/** What rows keep; read by `textIn`. */
export interface Text {
  readonly zh: string;
  readonly en: string;
}
