/** Objects as they travel: names and numbers of the wire contract. */
import * as z from 'zod/mini';

const int = z.int();

export const userShape = z.object({
  id: int,
  username: z.string(),
  display_name: z.string(),
  role: int,
  status: int,
  email: z.string(),
  github_id: z.string(),
  oidc_id: z.string(),
  wechat_id: z.string(),
  telegram_id: z.string(),
  linux_do_id: z.string(),
  quota: int,
  used_quota: int,
  request_count: int,
  group: z.string(),
  aff_code: z.string(),
  aff_count: int,
  aff_quota: int,
  aff_history_quota: int,
  inviter_id: int,
  /** The name of the user who invited; only in lists of users. */
  inviter_name: z.optional(z.string()),
  setting: z.string(),
  DeletedAt: z.nullable(z.string()),
});
export type User = z.infer<typeof userShape>;

export const tokenShape = z.object({
  id: int,
  user_id: int,
  key: z.string(),
  status: int,
  name: z.string(),
  created_time: int,
  accessed_time: int,
  expired_time: int,
  remain_quota: int,
  unlimited_quota: z.boolean(),
  model_limits_enabled: z.boolean(),
  model_limits: z.string(),
  allow_ips: z.string(),
  used_quota: int,
  group: z.string(),
  /** Quota per day and month (UTC), requests and tokens per minute, requests at once; 0 = no limit. */
  day_budget: int,
  month_budget: int,
  rpm_limit: int,
  tpm_limit: int,
  concurrency_limit: int,
  /** Used in the current day and month. */
  day_used: int,
  month_used: int,
  /** `abcd…wxyz` of the key before the last rotation, and until when it still works; '' and 0 = there is none. */
  old_key_hint: z.string(),
  old_key_until: int,
  /** Until when a link can be opened that shows the key once; 0 = there is none. */
  link_until: int,
  /** Where the key was used from last; '' = unknown. */
  last_ip: z.string(),
  /** `agent` = a program that signed in, whose `key` is ''; absent = a key to copy. */
  kind: z.optional(z.string()),
  /** Comma separated, whose budgets bound it besides; absent = it has none. */
  labels: z.optional(z.string()),
  /** Ids of the channels that alone serve it, comma separated; absent = every channel of its groups. */
  channels: z.optional(z.string()),
  /** When it was disabled because much more was spent with it than usual; absent = it was not. */
  frozen_time: z.optional(int),
  /** Always null: a deleted token is listed nowhere. */
  DeletedAt: z.null(),
});
export type Token = z.infer<typeof tokenShape>;

export const redemptionShape = z.object({
  id: int,
  /** Who made it. */
  user_id: int,
  key: z.string(),
  status: int,
  name: z.string(),
  quota: int,
  created_time: int,
  redeemed_time: int,
  /** 0 = none yet. */
  used_user_id: int,
  /** '' = none yet, or the user no longer exists. */
  used_username: z.string(),
  /** Epoch seconds; 0 = never. */
  expired_time: int,
  /** Always 0: how many are to be made is a question of the making alone. */
  count: int,
  /** Always null: a deleted code is listed nowhere. */
  DeletedAt: z.null(),
});
export type Redemption = z.infer<typeof redemptionShape>;
/** What a code can be found by: one past its date is expired, no longer unused. */
export const redemptionStates = ['unused', 'disabled', 'used', 'expired'] as const;

export const topUpOrderShape = z.object({
  id: int,
  user_id: int,
  /** '' = the user no longer exists. */
  username: z.string(),
  trade_no: z.string(),
  /** `epay:alipay`, `epay:wxpay`, `stripe`. */
  payment_method: z.string(),
  amount: int,
  quota: int,
  /** `7.30` */
  money: z.string(),
  currency: z.string(),
  /** pending, expired or success */
  status: z.string(),
  create_time: int,
  complete_time: int,
  /** Given back of the money, `0.00`. */
  refunded: z.string(),
  /** Number of its invoice, '' = none. */
  invoice: z.string(),
});
export type TopUpOrder = z.infer<typeof topUpOrderShape>;

/** Orders of one status and currency, added up. */
export const topUpSumShape = z.object({
  status: z.string(),
  currency: z.string(),
  orders: int,
  quota: int,
  /** `730.00` */
  money: z.string(),
});

export const paymentCallbackShape = z.object({
  id: int,
  source: z.string(),
  event_id: z.string(),
  trade_no: z.string(),
  received_time: int,
  /** new, credited, duplicate, unmatched, mismatch or ignored */
  outcome: z.string(),
  body: z.string(),
});
export type PaymentCallback = z.infer<typeof paymentCallbackShape>;

export const channelShape = z.object({
  id: int,
  type: int,
  /** Always empty: keys are write-only. */
  key: z.string(),
  key_hint: z.string(),
  openai_organization: z.string(),
  test_model: z.string(),
  status: int,
  name: z.string(),
  weight: int,
  created_time: int,
  test_time: int,
  response_time: int,
  base_url: z.string(),
  other: z.string(),
  balance: z.number(),
  balance_updated_time: int,
  models: z.string(),
  group: z.string(),
  used_quota: int,
  model_mapping: z.string(),
  status_code_mapping: z.string(),
  priority: int,
  auto_ban: int,
  other_info: z.string(),
  tag: z.string(),
  setting: z.string(),
  param_override: z.string(),
  max_input_tokens: int,
  /** Comma list of `key_id` of `channel.keys`; absent where every key is in use. */
  keys_off: z.optional(z.string()),
});
export type Channel = z.infer<typeof channelShape>;

export const logShape = z.object({
  id: int,
  request_id: z.string(),
  user_id: int,
  created_at: int,
  type: int,
  content: z.string(),
  username: z.string(),
  token_name: z.string(),
  model_name: z.string(),
  quota: int,
  prompt_tokens: int,
  completion_tokens: int,
  use_time: int,
  is_stream: z.boolean(),
  channel: int,
  channel_name: z.string(),
  token_id: int,
  group: z.string(),
  usage_source: z.string(),
  end_reason: z.string(),
  other: z.string(),
  /** For whom and by what, as the client said; absent = it said nothing. */
  names: z.optional(
    z.object({
      agent: z.optional(z.string()),
      session: z.optional(z.string()),
      project: z.optional(z.string()),
      end_user: z.optional(z.string()),
      subagent: z.optional(z.string()),
      prompt: z.optional(z.string()),
    }),
  ),
});
export type Log = z.infer<typeof logShape>;

export const priceChangeShape = z.object({
  key: z.string(),
  name: z.string(),
  /** JSON text; null = absent. */
  before: z.nullable(z.string()),
  after: z.nullable(z.string()),
});

export const priceVersionShape = z.object({
  id: int,
  created_time: int,
  actor: z.string(),
  /** set, reset, sync, rollback <id> */
  reason: z.string(),
  /** Options the change touched. */
  keys: z.array(z.string()),
  /** Names whose price it changed. */
  count: int,
  /** The first of them, with what was and what became. */
  changes: z.array(priceChangeShape),
});

const thingKinds = ['option', 'channel', 'virtual_model', 'user'] as const;
export type ThingKind = (typeof thingKinds)[number];

const auditChangeShape = z.object({
  kind: z.enum(thingKinds),
  /** Id, or the key of an option. */
  id: z.string(),
  field: z.string(),
  /** The member of a field that is a map; null = the whole field. */
  member: z.nullable(z.string()),
  /** null = nothing was there. Members are JSON texts, fields are plain. Both are null where `hidden`. */
  before: z.nullable(z.string()),
  after: z.nullable(z.string()),
  /** A secret: only that it changed is kept. */
  hidden: z.boolean(),
});
export type AuditChange = z.infer<typeof auditChangeShape>;

export const auditShape = z.object({
  id: int,
  created_at: int,
  actor_id: int,
  actor: z.string(),
  ip: z.string(),
  /** Id of the call. */
  action: z.string(),
  /** What was done, in the reader's language; the id of a call that is none of this build. */
  action_label: z.string(),
  target: z.string(),
  /** JSON text. */
  detail: z.string(),
  hash: z.string(),
  /** What it did to the things it names, where that is known. */
  changes: z.array(auditChangeShape),
  /** Changes beyond those, and values that are cut. */
  changes_left: int,
  /** Whether `audit.undo` may put it back, as far as the row says. */
  undoable: z.boolean(),
});
export type AuditView = z.infer<typeof auditShape>;

export const page = <T extends z.ZodMiniType>(item: T) =>
  z.object({ items: z.array(item), page: int, page_size: int, total: int });
