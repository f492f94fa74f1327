/** Row types of every table, as Kysely sees them. Times are epoch seconds unless the name says `_ms`; money is integer quota. */
import type { Generated } from 'kysely';

export interface UsersTable {
  id: Generated<number>;
  username: string;
  display_name: string;
  /** argon2id or bcrypt (imported) hash. */
  password_hash: string;
  /** 1 = nobody knows the password: the account came from another service. */
  password_made: Generated<number>;
  role: number;
  status: number;
  email: string;
  group_name: string;
  github_id: string;
  oidc_id: string;
  /** Who vouches for `oidc_id`; `endpoint:<token endpoint>` until that issuer has answered once. */
  oidc_issuer: Generated<string>;
  wechat_id: string;
  telegram_id: string;
  linux_do_id: string;
  access_token_hash: string | null;
  aff_code: string | null;
  aff_count: number;
  aff_quota: number;
  aff_history_quota: number;
  inviter_id: number;
  setting: string;
  created_at: number;
  deleted_at: number | null;
}

/** Written by the ledger alone. User accounts carry the user's id, system accounts are negative. */
export interface AccountsTable {
  id: number;
  balance: number;
  used_quota: number;
  request_count: number;
  /** Counts every movement but settlements; orders balance events against rows read elsewhere. */
  version: number;
  /** Paid by `overrun` and not given back yet. */
  overrun: Generated<number>;
}

/** Append-only. Written by the ledger alone. */
export interface PostingsTable {
  id: Generated<number>;
  ref: string;
  debit: number;
  credit: number;
  amount: number;
  kind: string;
  token_id: number;
  channel_id: number;
  at: number;
}

/** Open requests long enough to survive a crash. Written by the ledger alone. */
export interface HoldsTable {
  ref: string;
  user_id: number;
  token_id: number;
  channel_id: number;
  estimate: number;
  observed: number;
  epoch: number;
  at: number;
  /** LogEntry as JSON. */
  log: string;
}

export interface SessionsTable {
  id_hash: string;
  user_id: number;
  created_at: number;
  last_seen_at: number;
  expires_at: number;
  ip: string;
  user_agent: string;
}

export interface SecondFactorsTable {
  user_id: number;
  secret_sealed: string;
  enabled_at: number;
  last_step: number;
}

export interface RecoveryCodesTable {
  user_id: number;
  code_hash: string;
}

export interface PasskeysTable {
  id: Generated<number>;
  credential_id: string;
  user_id: number;
  name: string;
  public_key: string;
  counter: number;
  transports: string;
  created_at: number;
  last_used_at: number;
}

/** Access tokens with scopes; the one full token of an account lies in its row. */
export interface AccessTokensTable {
  id: Generated<number>;
  user_id: number;
  name: string;
  token_hash: string;
  hint: string;
  /** Comma separated. */
  scopes: string;
  created_at: number;
  last_used_at: number;
  /** -1 = never. */
  expires_at: number;
}

export interface WebhookSecretsTable {
  user_id: number;
  secret_sealed: string;
}

export interface SavedFiltersTable {
  id: Generated<number>;
  user_id: number;
  place: string;
  name: string;
  query: string;
  created_at: number;
}

export interface TokensTable {
  id: Generated<number>;
  user_id: number;
  name: string;
  key_hmac: string;
  /** Sealed key (see server/domain/secrets). */
  key_sealed: string;
  /** `abc…wxyz`, for lists and messages. */
  key_hint: string;
  status: number;
  created_at: number;
  accessed_at: number;
  expires_at: number;
  unlimited: number;
  quota_limit: number;
  /** Written by the ledger alone. */
  used_quota: number;
  model_limits_enabled: number;
  model_limits: string;
  allow_ips: string;
  group_name: string;
  /** Quota the token may use per calendar day and month (UTC), requests and tokens per minute, requests at once; 0 = no limit. */
  day_budget: Generated<number>;
  month_budget: Generated<number>;
  rpm_limit: Generated<number>;
  tpm_limit: Generated<number>;
  concurrency_limit: Generated<number>;
  /** Start of the last day and month with a charge and what was used in it. Written by the ledger alone. */
  day_at: Generated<number>;
  day_used: Generated<number>;
  month_at: Generated<number>;
  month_used: Generated<number>;
  parent_id: number;
  managed_by: string;
  deleted_at: number | null;
}

export interface ChannelsTable {
  id: Generated<number>;
  type: number;
  name: string;
  key_sealed: string;
  key_hint: string;
  organization: string;
  test_model: string;
  status: number;
  weight: number;
  priority: number;
  created_at: number;
  test_at: number;
  response_time_ms: number;
  base_url: string;
  other: string;
  balance: number;
  balance_updated_at: number;
  /** Comma lists, as on the wire. */
  models: string;
  group_name: string;
  /** Written by the ledger alone. */
  used_quota: number;
  model_mapping: string;
  status_code_mapping: string;
  param_override: string;
  setting: string;
  auto_ban: number;
  other_info: string;
  tag: string;
  max_input_tokens: number;
  managed_by: string;
}

export interface OptionsTable {
  key: string;
  /** Stored text; sealed when the option is a secret. */
  value: string;
  updated_at: number;
}

/** Usage and event rows; those with a request id are written by the ledger. */
export interface LogsTable {
  id: Generated<number>;
  request_id: string | null;
  created_at: number;
  type: number;
  user_id: number;
  username: string;
  token_id: number;
  token_name: string;
  channel_id: number;
  group_name: string;
  model_name: string;
  is_stream: number;
  use_time: number;
  prompt_tokens: number;
  completion_tokens: number;
  quota: number;
  content: string;
  other: string;
  usage_source: string;
  end_reason: string;
}

export interface RedemptionsTable {
  id: Generated<number>;
  user_id: number;
  name: string;
  key_hmac: string;
  key_sealed: string;
  status: number;
  quota: number;
  created_at: number;
  redeemed_at: number;
  used_user_id: number;
  deleted_at: number | null;
  /** 0 = never. */
  expires_at: Generated<number>;
}

export interface TopUpsTable {
  id: Generated<number>;
  user_id: number;
  trade_no: string;
  method: string;
  amount: number;
  quota: number;
  /** Money asked for, in the smallest unit of `currency`. */
  money: number;
  currency: string;
  status: string;
  created_at: number;
  paid_at: number;
}

/** Every payment callback as received, so that none is lost and none counts twice. */
export interface CallbacksTable {
  id: Generated<number>;
  source: string;
  event_id: string;
  trade_no: string;
  received_at: number;
  outcome: string;
  /** What it says as JSON {paid, money, currency}: enough to work on it later. */
  facts: string;
  /** Beginning of the text as received, for people. */
  body: string;
}

export interface DrawingTasksTable {
  id: Generated<number>;
  code: number;
  user_id: number;
  token_id: number;
  action: string;
  mj_id: string;
  prompt: string;
  prompt_en: string;
  description: string;
  state: string;
  submit_ms: number;
  start_ms: number;
  finish_ms: number;
  image_url: string;
  status: string;
  progress: string;
  fail_reason: string;
  channel_id: number;
  quota: number;
  buttons: string;
  properties: string;
  request_id: string;
}

export interface TasksTable {
  id: Generated<number>;
  created_at: number;
  updated_at: number;
  task_id: string;
  platform: string;
  user_id: number;
  token_id: number;
  channel_id: number;
  quota: number;
  action: string;
  status: string;
  fail_reason: string;
  submit_at: number;
  start_at: number;
  finish_at: number;
  progress: string;
  properties: string;
  data: string;
  request_id: string;
}

/** Hourly usage per user and model; written by the ledger with each settlement. */
export interface UsageHoursTable {
  hour_at: number;
  user_id: number;
  username: string;
  model_name: string;
  channel_id: number;
  count: number;
  tokens: number;
  quota: number;
}

/** When a user was told last of something that repeats. */
export interface AlertsTable {
  user_id: number;
  kind: string;
  sent_at: number;
}

/** Append-only, each row's hash covers the one before. */
export interface AuditTable {
  id: Generated<number>;
  at: number;
  actor_id: number;
  actor: string;
  ip: string;
  action: string;
  target: string;
  detail: string;
  previous_hash: string;
  hash: string;
}

/** Price maps before each change, newest last. */
export interface PriceVersionsTable {
  id: Generated<number>;
  at: number;
  actor: string;
  reason: string;
  /** JSON object option key -> stored text. */
  options: string;
}

/** The change feed, written by triggers in the transaction of the change itself. */
export interface ChangesTable {
  seq: Generated<number>;
  entity: string;
  entity_id: string;
}

export interface MetaTable {
  key: string;
  value: string;
}

export interface Schema {
  users: UsersTable;
  accounts: AccountsTable;
  postings: PostingsTable;
  holds: HoldsTable;
  sessions: SessionsTable;
  second_factors: SecondFactorsTable;
  recovery_codes: RecoveryCodesTable;
  passkeys: PasskeysTable;
  access_tokens: AccessTokensTable;
  saved_filters: SavedFiltersTable;
  webhook_secrets: WebhookSecretsTable;
  tokens: TokensTable;
  channels: ChannelsTable;
  options: OptionsTable;
  logs: LogsTable;
  redemptions: RedemptionsTable;
  top_ups: TopUpsTable;
  callbacks: CallbacksTable;
  drawing_tasks: DrawingTasksTable;
  tasks: TasksTable;
  usage_hours: UsageHoursTable;
  alerts: AlertsTable;
  audit: AuditTable;
  price_versions: PriceVersionsTable;
  changes: ChangesTable;
  meta: MetaTable;
}
