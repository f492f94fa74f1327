/** The first schema. STRICT everywhere: the driver binds JavaScript numbers as REAL, only STRICT refuses a fraction in an INTEGER column. */
import { type Kysely, sql } from 'kysely';

const tables = `
CREATE TABLE users (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  username TEXT NOT NULL UNIQUE,
  display_name TEXT NOT NULL DEFAULT '',
  password_hash TEXT NOT NULL,
  role INTEGER NOT NULL DEFAULT 1,
  status INTEGER NOT NULL DEFAULT 1,
  email TEXT NOT NULL DEFAULT '',
  group_name TEXT NOT NULL DEFAULT 'default',
  github_id TEXT NOT NULL DEFAULT '',
  oidc_id TEXT NOT NULL DEFAULT '',
  wechat_id TEXT NOT NULL DEFAULT '',
  telegram_id TEXT NOT NULL DEFAULT '',
  linux_do_id TEXT NOT NULL DEFAULT '',
  access_token_hash TEXT UNIQUE,
  aff_code TEXT UNIQUE,
  aff_count INTEGER NOT NULL DEFAULT 0,
  aff_quota INTEGER NOT NULL DEFAULT 0 CHECK (aff_quota >= 0),
  aff_history_quota INTEGER NOT NULL DEFAULT 0,
  inviter_id INTEGER NOT NULL DEFAULT 0,
  setting TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;
CREATE INDEX users_inviter ON users (inviter_id) WHERE inviter_id > 0;
CREATE INDEX users_email ON users (lower(email)) WHERE email <> '';
CREATE UNIQUE INDEX users_github ON users (github_id) WHERE github_id <> '';
CREATE UNIQUE INDEX users_oidc ON users (oidc_id) WHERE oidc_id <> '';
CREATE UNIQUE INDEX users_wechat ON users (wechat_id) WHERE wechat_id <> '';
CREATE UNIQUE INDEX users_telegram ON users (telegram_id) WHERE telegram_id <> '';
CREATE UNIQUE INDEX users_linux_do ON users (linux_do_id) WHERE linux_do_id <> '';

CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  balance INTEGER NOT NULL DEFAULT 0,
  used_quota INTEGER NOT NULL DEFAULT 0,
  request_count INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO accounts (id) VALUES (-1), (-2), (-3), (-4), (-5);

CREATE TABLE postings (
  id INTEGER PRIMARY KEY,
  ref TEXT NOT NULL UNIQUE,
  debit INTEGER NOT NULL,
  credit INTEGER NOT NULL,
  amount INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000000),
  kind TEXT NOT NULL,
  token_id INTEGER NOT NULL DEFAULT 0,
  channel_id INTEGER NOT NULL DEFAULT 0,
  at INTEGER NOT NULL,
  CHECK (debit <> credit)
) STRICT;

CREATE TABLE holds (
  ref TEXT PRIMARY KEY,
  user_id INTEGER NOT NULL,
  token_id INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  estimate INTEGER NOT NULL CHECK (estimate >= 0),
  observed INTEGER NOT NULL CHECK (observed >= 0),
  epoch INTEGER NOT NULL,
  at INTEGER NOT NULL,
  log TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id_hash TEXT PRIMARY KEY,
  user_id INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ip TEXT NOT NULL DEFAULT '',
  user_agent TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE second_factors (
  user_id INTEGER PRIMARY KEY,
  secret_sealed TEXT NOT NULL,
  -- 0 = begun and not yet confirmed
  enabled_at INTEGER NOT NULL DEFAULT 0,
  -- 30-second step of the last code that was used: none is taken twice
  last_step INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE recovery_codes (
  user_id INTEGER NOT NULL,
  code_hash TEXT NOT NULL,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  credential_id TEXT NOT NULL UNIQUE,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  -- base64url of the COSE key
  public_key TEXT NOT NULL,
  counter INTEGER NOT NULL DEFAULT 0,
  transports TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX passkeys_user ON passkeys (user_id);

CREATE TABLE tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  key_hmac TEXT NOT NULL UNIQUE,
  key_sealed TEXT NOT NULL,
  key_hint TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  accessed_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT -1,
  unlimited INTEGER NOT NULL DEFAULT 0 CHECK (unlimited IN (0, 1)),
  quota_limit INTEGER NOT NULL DEFAULT 0,
  used_quota INTEGER NOT NULL DEFAULT 0,
  model_limits_enabled INTEGER NOT NULL DEFAULT 0 CHECK (model_limits_enabled IN (0, 1)),
  model_limits TEXT NOT NULL DEFAULT '',
  allow_ips TEXT NOT NULL DEFAULT '',
  group_name TEXT NOT NULL DEFAULT '',
  day_budget INTEGER NOT NULL DEFAULT 0 CHECK (day_budget >= 0),
  month_budget INTEGER NOT NULL DEFAULT 0 CHECK (month_budget >= 0),
  rpm_limit INTEGER NOT NULL DEFAULT 0 CHECK (rpm_limit >= 0),
  tpm_limit INTEGER NOT NULL DEFAULT 0 CHECK (tpm_limit >= 0),
  concurrency_limit INTEGER NOT NULL DEFAULT 0 CHECK (concurrency_limit >= 0),
  day_at INTEGER NOT NULL DEFAULT 0,
  day_used INTEGER NOT NULL DEFAULT 0,
  month_at INTEGER NOT NULL DEFAULT 0,
  month_used INTEGER NOT NULL DEFAULT 0,
  parent_id INTEGER NOT NULL DEFAULT 0,
  managed_by TEXT NOT NULL DEFAULT '',
  deleted_at INTEGER
) STRICT;
CREATE INDEX tokens_user ON tokens (user_id, id);

CREATE TABLE channels (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  type INTEGER NOT NULL,
  name TEXT NOT NULL,
  key_sealed TEXT NOT NULL,
  key_hint TEXT NOT NULL DEFAULT '',
  organization TEXT NOT NULL DEFAULT '',
  test_model TEXT NOT NULL DEFAULT '',
  status INTEGER NOT NULL DEFAULT 1,
  weight INTEGER NOT NULL DEFAULT 0 CHECK (weight >= 0),
  priority INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  test_at INTEGER NOT NULL DEFAULT 0,
  response_time_ms INTEGER NOT NULL DEFAULT 0,
  base_url TEXT NOT NULL DEFAULT '',
  other TEXT NOT NULL DEFAULT '',
  balance REAL NOT NULL DEFAULT 0,
  balance_updated_at INTEGER NOT NULL DEFAULT 0,
  models TEXT NOT NULL DEFAULT '',
  group_name TEXT NOT NULL DEFAULT 'default',
  used_quota INTEGER NOT NULL DEFAULT 0,
  model_mapping TEXT NOT NULL DEFAULT '',
  status_code_mapping TEXT NOT NULL DEFAULT '',
  param_override TEXT NOT NULL DEFAULT '',
  setting TEXT NOT NULL DEFAULT '',
  auto_ban INTEGER NOT NULL DEFAULT 1,
  other_info TEXT NOT NULL DEFAULT '',
  tag TEXT NOT NULL DEFAULT '',
  max_input_tokens INTEGER NOT NULL DEFAULT 0,
  managed_by TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX channels_tag ON channels (tag) WHERE tag <> '';

CREATE TABLE options (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  request_id TEXT UNIQUE,
  created_at INTEGER NOT NULL,
  type INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  username TEXT NOT NULL DEFAULT '',
  token_id INTEGER NOT NULL DEFAULT 0,
  token_name TEXT NOT NULL DEFAULT '',
  channel_id INTEGER NOT NULL DEFAULT 0,
  group_name TEXT NOT NULL DEFAULT '',
  model_name TEXT NOT NULL DEFAULT '',
  is_stream INTEGER NOT NULL DEFAULT 0,
  use_time INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  quota INTEGER NOT NULL DEFAULT 0,
  content TEXT NOT NULL DEFAULT '',
  other TEXT NOT NULL DEFAULT '',
  usage_source TEXT NOT NULL DEFAULT 'none',
  end_reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX logs_created ON logs (created_at);
CREATE INDEX logs_user ON logs (user_id, created_at);
CREATE INDEX logs_token ON logs (token_name, created_at);
CREATE INDEX logs_channel ON logs (channel_id, created_at);
CREATE INDEX logs_model ON logs (model_name, created_at);
CREATE INDEX logs_group ON logs (group_name, created_at);
CREATE INDEX logs_event ON logs (type, created_at) WHERE type <> 2;

CREATE TABLE redemptions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  key_hmac TEXT NOT NULL UNIQUE,
  key_sealed TEXT NOT NULL,
  status INTEGER NOT NULL DEFAULT 1,
  quota INTEGER NOT NULL CHECK (quota BETWEEN 1 AND 1000000000000000),
  created_at INTEGER NOT NULL,
  redeemed_at INTEGER NOT NULL DEFAULT 0,
  used_user_id INTEGER NOT NULL DEFAULT 0,
  deleted_at INTEGER
) STRICT;

CREATE TABLE top_ups (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  trade_no TEXT NOT NULL UNIQUE,
  method TEXT NOT NULL,
  amount INTEGER NOT NULL,
  quota INTEGER NOT NULL CHECK (quota BETWEEN 1 AND 1000000000000000),
  money INTEGER NOT NULL CHECK (money >= 0),
  currency TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'expired', 'success')),
  created_at INTEGER NOT NULL,
  paid_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX top_ups_user ON top_ups (user_id, id);

CREATE TABLE callbacks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  event_id TEXT NOT NULL,
  trade_no TEXT NOT NULL DEFAULT '',
  received_at INTEGER NOT NULL,
  outcome TEXT NOT NULL DEFAULT 'new',
  facts TEXT NOT NULL DEFAULT '{}',
  body TEXT NOT NULL,
  UNIQUE (source, event_id)
) STRICT;

CREATE TABLE drawing_tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  code INTEGER NOT NULL DEFAULT 0,
  user_id INTEGER NOT NULL,
  token_id INTEGER NOT NULL DEFAULT 0,
  action TEXT NOT NULL,
  mj_id TEXT NOT NULL,
  prompt TEXT NOT NULL DEFAULT '',
  prompt_en TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '',
  submit_ms INTEGER NOT NULL DEFAULT 0,
  start_ms INTEGER NOT NULL DEFAULT 0,
  finish_ms INTEGER NOT NULL DEFAULT 0,
  image_url TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT '',
  progress TEXT NOT NULL DEFAULT '',
  fail_reason TEXT NOT NULL DEFAULT '',
  channel_id INTEGER NOT NULL DEFAULT 0,
  quota INTEGER NOT NULL DEFAULT 0,
  buttons TEXT NOT NULL DEFAULT '',
  properties TEXT NOT NULL DEFAULT '',
  request_id TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX drawing_tasks_user ON drawing_tasks (user_id, id);
CREATE INDEX drawing_tasks_mj ON drawing_tasks (mj_id);
CREATE INDEX drawing_tasks_open ON drawing_tasks (id) WHERE status NOT IN ('SUCCESS', 'FAILURE');

CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  user_id INTEGER NOT NULL,
  token_id INTEGER NOT NULL DEFAULT 0,
  channel_id INTEGER NOT NULL DEFAULT 0,
  quota INTEGER NOT NULL DEFAULT 0,
  action TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT '',
  fail_reason TEXT NOT NULL DEFAULT '',
  submit_at INTEGER NOT NULL DEFAULT 0,
  start_at INTEGER NOT NULL DEFAULT 0,
  finish_at INTEGER NOT NULL DEFAULT 0,
  progress TEXT NOT NULL DEFAULT '',
  properties TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL DEFAULT '',
  request_id TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX tasks_user ON tasks (user_id, id);
CREATE INDEX tasks_task ON tasks (task_id);
CREATE INDEX tasks_open ON tasks (id) WHERE status NOT IN ('SUCCESS', 'FAILURE');

CREATE TABLE usage_hours (
  hour_at INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  username TEXT NOT NULL,
  model_name TEXT NOT NULL,
  channel_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  quota INTEGER NOT NULL,
  PRIMARY KEY (hour_at, user_id, model_name, channel_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE alerts (
  user_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor_id INTEGER NOT NULL,
  actor TEXT NOT NULL,
  ip TEXT NOT NULL DEFAULT '',
  action TEXT NOT NULL,
  target TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '',
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE TABLE price_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  options TEXT NOT NULL
) STRICT;

CREATE TABLE changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  entity TEXT NOT NULL,
  entity_id TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Columns whose change the relay must hear of; the ledger's counters are left out on purpose. */
const followed = {
  users: {
    id: 'id',
    columns: 'username, role, status, group_name, setting, deleted_at',
  },
  tokens: {
    id: 'id',
    columns:
      'name, key_hmac, status, expires_at, unlimited, quota_limit, model_limits_enabled, model_limits, allow_ips, group_name, day_budget, month_budget, rpm_limit, tpm_limit, concurrency_limit, deleted_at',
  },
  channels: {
    id: 'id',
    columns:
      'type, name, key_sealed, organization, test_model, status, weight, priority, base_url, other, models, group_name, model_mapping, status_code_mapping, param_override, setting, auto_ban, tag, max_input_tokens',
  },
  options: { id: 'key', columns: 'value' },
} as const;

function triggers(): string[] {
  return Object.entries(followed).flatMap(([table, { id, columns }]) => {
    const note = (row: string) =>
      `INSERT INTO changes (entity, entity_id) VALUES ('${table}', CAST(${row}.${id} AS TEXT));`;
    return [
      `CREATE TRIGGER ${table}_inserted AFTER INSERT ON ${table} BEGIN ${note('NEW')} END`,
      `CREATE TRIGGER ${table}_updated AFTER UPDATE OF ${columns} ON ${table} BEGIN ${note('NEW')} END`,
      `CREATE TRIGGER ${table}_deleted AFTER DELETE ON ${table} BEGIN ${note('OLD')} END`,
    ];
  });
}

export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = tables
    .split(/;\s*\n/)
    .map((text) => text.trim())
    .filter((text) => text !== '');
  for (const statement of [...statements, ...triggers()]) await sql.raw(statement).execute(db);
}
