/**
 * Every change of the schema, oldest first, for databases that were made before it; new ones are made from tables.ts. A released
 * row is never edited. Names are applied in order and recorded in the database.
 */

export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
  /** On PostgreSQL: nodes of the version before cannot work beside it. */
  readonly breaks?: boolean;
}

/** SQL for the types of an engine. */
interface Types {
  readonly integer: string;
  readonly text: string;
  readonly real: string;
  /** A key of numbers that are assigned once. */
  readonly serial: string;
  /** Behind a table with such a key. */
  readonly rowed: string;
  /** Behind a table whose key is of several columns. */
  readonly rowless: string;
  /** Finds a text in another. */
  readonly position: string;
  /** Writes the change feed of a new table. */
  readonly followNew: (table: string, key: string, columns: string) => readonly string[];
  /** Writes the change feed of a table for other columns than before. */
  readonly follow: (table: string, columns: string) => readonly string[];
  /** Leaves a table's earlier name to nodes of the version before. */
  readonly alsoNamed: (name: string, table: string) => readonly string[];
}

interface SharedMigration {
  readonly name: string;
  readonly statements: (types: Types) => readonly string[];
  readonly breaks?: boolean;
}

/** What traffic was counted in when its table was made. */
const trafficCountersAt7 = [
  ...['requests', 'retried', 'saved', 'attempts', 'refused'],
  ...['tokens_in', 'tokens_out', 'tokens_cached', 'charge', 'stream_tokens', 'stream_ms', 'latency_ms', 'first_ms'],
  ...['error_upstream', 'error_rate_limited', 'error_auth', 'error_timeout', 'error_network', 'error_invalid'],
  ...['error_refused', 'error_client_left'],
  ...['failed_upstream', 'failed_rate_limited', 'failed_auth', 'failed_timeout', 'failed_network', 'failed_invalid'],
  ...Array.from({ length: 23 }, (_, at) => `latency_${at}`),
  ...Array.from({ length: 23 }, (_, at) => `first_${at}`),
];

/** Since this migration single keys of a channel can be switched off. */
export const keysOff = '0013-keys-off';
/** Since this migration names can stand for chains. */
export const virtualModels = '0015-virtual-models';
/** Since this migration keys can be bound to channels. */
export const keyChannels = '0025-routes';

/** For both engines, newest last. Names begin with 0007 or more. */
const shared: readonly SharedMigration[] = [
  {
    name: '0007-traffic',
    statements: ({ integer, text, rowless: withoutRowid }) => [
      `CREATE TABLE traffic (
  span ${integer} NOT NULL,
  kind ${text} NOT NULL,
  at ${integer} NOT NULL,
  subject_id ${integer} NOT NULL,
  user_id ${integer} NOT NULL,
  part ${text} NOT NULL,
  answered ${integer} NOT NULL DEFAULT 0,
  streak ${integer} NOT NULL DEFAULT 0,
  streak_at ${integer} NOT NULL DEFAULT 0,
  failed_at ${integer} NOT NULL DEFAULT 0,
  words ${text} NOT NULL DEFAULT '',
  ${trafficCountersAt7.map((name) => `${name} ${integer} NOT NULL DEFAULT 0`).join(',\n  ')},
  PRIMARY KEY (span, kind, at, subject_id, user_id, part)
)${withoutRowid}`,
      "CREATE INDEX traffic_subject ON traffic (span, kind, subject_id, at) WHERE part <> ''",
      "CREATE INDEX traffic_part ON traffic (span, kind, part, at) WHERE part <> ''",
      'CREATE INDEX traffic_user ON traffic (span, kind, user_id, at) WHERE user_id <> 0',
    ],
  },
  {
    name: '0008-key-grace-and-links',
    statements: ({ integer, text, follow }) => [
      `ALTER TABLE tokens ADD COLUMN old_key_hmac ${text} NOT NULL DEFAULT ''`,
      `ALTER TABLE tokens ADD COLUMN old_key_hint ${text} NOT NULL DEFAULT ''`,
      `ALTER TABLE tokens ADD COLUMN old_key_until ${integer} NOT NULL DEFAULT 0`,
      `ALTER TABLE tokens ADD COLUMN link_hash ${text} NOT NULL DEFAULT ''`,
      `ALTER TABLE tokens ADD COLUMN link_until ${integer} NOT NULL DEFAULT 0`,
      `ALTER TABLE tokens ADD COLUMN last_ip ${text} NOT NULL DEFAULT ''`,
      "CREATE UNIQUE INDEX tokens_old_key ON tokens (old_key_hmac) WHERE old_key_hmac <> ''",
      "CREATE UNIQUE INDEX tokens_link ON tokens (link_hash) WHERE link_hash <> ''",
      ...follow(
        'tokens',
        'name, key_hmac, status, expires_at, unlimited, quota_limit, model_limits_enabled, model_limits, allow_ips, group_name, day_budget, month_budget, rpm_limit, tpm_limit, concurrency_limit, deleted_at, old_key_hmac, old_key_until',
      ),
    ],
  },
  {
    // What is not a plain success is looked for and counted without reading everything else.
    name: '0009-exceptional-log',
    statements: ({ position, rowless: withoutRowid }) => [
      `CREATE INDEX logs_exceptional ON logs (created_at${withoutRowid === '' ? ', id' : ''})
  WHERE (type <> 2 OR end_reason NOT IN ('completed', 'imported', '') OR ${position}(other, '"attempts":[') > 0)`,
    ],
  },
  {
    name: '0010-waiting-gifts',
    statements: ({ integer }) => [`ALTER TABLE users ADD COLUMN gift_waits ${integer} NOT NULL DEFAULT 0`],
  },
  {
    name: '0011-sign-ins',
    statements: ({ integer, text, serial, rowed }) => [
      `ALTER TABLE tokens ADD COLUMN kind ${text} NOT NULL DEFAULT 'key'`,
      `CREATE TABLE sign_ins (
  id ${serial},
  token_id ${integer} NOT NULL UNIQUE,
  client ${text} NOT NULL,
  host ${text} NOT NULL,
  address ${text} NOT NULL,
  refresh_hash ${text} NOT NULL UNIQUE,
  previous_hash ${text} NOT NULL DEFAULT '',
  rotated_at ${integer} NOT NULL DEFAULT 0,
  created_at ${integer} NOT NULL,
  last_used_at ${integer} NOT NULL DEFAULT 0
)${rowed}`,
      "CREATE INDEX sign_ins_previous ON sign_ins (previous_hash) WHERE previous_hash <> ''",
    ],
  },
  {
    name: '0012-paid-in',
    statements: ({ integer }) => [
      `ALTER TABLE accounts ADD COLUMN paid_in ${integer} NOT NULL DEFAULT 0`,
      `UPDATE accounts SET paid_in = paid.amount
  FROM (SELECT credit, sum(amount) AS amount FROM postings WHERE kind = 'topup' GROUP BY credit) AS paid
  WHERE paid.credit = accounts.id`,
    ],
  },
  {
    name: keysOff,
    statements: ({ text, follow }) => [
      `ALTER TABLE channels ADD COLUMN keys_off ${text} NOT NULL DEFAULT ''`,
      ...follow(
        'channels',
        'type, name, key_sealed, organization, test_model, status, weight, priority, base_url, other, models, group_name, model_mapping, status_code_mapping, param_override, setting, auto_ban, tag, max_input_tokens, keys_off',
      ),
    ],
  },
  {
    name: '0014-channel-facts',
    statements: ({ integer, text, rowless: withoutRowid, followNew }) => [
      `CREATE TABLE channel_facts (
  channel_id ${integer} NOT NULL,
  model ${text} NOT NULL,
  member ${text} NOT NULL,
  demand ${text} NOT NULL,
  source ${text} NOT NULL,
  count ${integer} NOT NULL DEFAULT 0,
  users ${text} NOT NULL DEFAULT '',
  first_at ${integer} NOT NULL,
  last_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL DEFAULT 0,
  PRIMARY KEY (channel_id, model, member)
)${withoutRowid}`,
      ...followNew('channel_facts', 'channel_id', 'demand, source, users, expires_at'),
    ],
  },
  {
    name: virtualModels,
    statements: ({ integer, text, serial, rowed, followNew }) => [
      `CREATE TABLE virtual_models (
  id ${serial},
  name ${text} NOT NULL UNIQUE,
  enabled ${integer} NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  boundary ${text} NOT NULL DEFAULT '',
  description ${text} NOT NULL DEFAULT '',
  targets ${text} NOT NULL,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL
)${rowed}`,
      ...followNew('virtual_models', 'id', 'name, enabled, boundary, targets'),
    ],
  },
  {
    // Who wanted exact reservations keeps them; who lent balances lends up to what was lent before it ended.
    // A stored value that is no number counts as its default, as the builds before read it: PostgreSQL refuses to cast it.
    name: '0016-hold-allowance',
    statements: () => [
      `INSERT INTO options (key, value, updated_at)
  SELECT 'HoldAllowance',
    CASE
      WHEN trim(replace(value, '.', ''), '0123456789') <> '' OR length(value) NOT BETWEEN 1 AND 30
        OR length(replace(value, '.', '')) NOT BETWEEN length(value) - 1 AND length(value)
        OR replace(value, '.', '') = '' THEN '0'
      WHEN CAST(value AS REAL) > 1 THEN coalesce(
        (SELECT line.value FROM options AS line
          WHERE line.key = 'OverrunLine' AND trim(line.value, '0123456789') = '' AND length(line.value) BETWEEN 1 AND 15),
        '500000')
      ELSE '0'
    END,
    updated_at
  FROM options WHERE key = 'HoldOvercommit'`,
    ],
  },
  {
    name: '0018-budgets',
    statements: ({ integer, text, serial, rowed, rowless, followNew }) => [
      `CREATE TABLE budgets (
  id ${serial},
  holder ${text} NOT NULL CHECK (holder IN ('token', 'user', 'group', 'site')),
  subject ${text} NOT NULL DEFAULT '',
  period ${text} NOT NULL CHECK (period IN ('5h', 'day', 'week', 'month', 'total')),
  unit ${text} NOT NULL CHECK (unit IN ('money', 'requests', 'tokens')),
  amount ${integer} NOT NULL CHECK (amount >= 0),
  zone ${text} NOT NULL DEFAULT '',
  raise_amount ${integer} NOT NULL DEFAULT 0 CHECK (raise_amount >= 0),
  raise_until ${integer} NOT NULL DEFAULT 0,
  counted ${integer} NOT NULL DEFAULT 0,
  created_at ${integer} NOT NULL,
  updated_at ${integer} NOT NULL,
  UNIQUE (holder, subject, period, unit)
)${rowed}`,
      `CREATE TABLE budget_use (
  budget_id ${integer} NOT NULL,
  window_at ${integer} NOT NULL,
  used ${integer} NOT NULL CHECK (used >= 0),
  PRIMARY KEY (budget_id, window_at)
)${rowless}`,
      ...followNew('budgets', 'id', 'holder, subject, period, unit, amount, zone, raise_amount, raise_until'),
    ],
  },
  {
    // Whose money it was: the log keeps numbers of names that clients give.
    name: '0019-names',
    statements: ({ integer, text, rowless }) => [
      `CREATE TABLE names (
  user_id ${integer} NOT NULL,
  id ${integer} NOT NULL,
  kind ${text} NOT NULL,
  text ${text} NOT NULL,
  day ${integer} NOT NULL,
  PRIMARY KEY (user_id, id)
)${rowless}`,
      'CREATE INDEX names_text ON names (kind, text)',
      'CREATE INDEX names_day ON names (user_id, day)',
      ...['agent', 'session', 'project', 'end_user', 'subagent', 'prompt'].map(
        (kind) => `ALTER TABLE logs ADD COLUMN ${kind}_id ${integer} NOT NULL DEFAULT 0`,
      ),
      rowless === ''
        ? 'CREATE INDEX logs_session ON logs (session_id, user_id, created_at, id) INCLUDE (type, quota, prompt_tokens, completion_tokens) WHERE session_id <> 0'
        : 'CREATE INDEX logs_session ON logs (session_id, user_id, created_at, type, quota, prompt_tokens, completion_tokens) WHERE session_id <> 0',
    ],
  },
  {
    name: '0021-audit-changes',
    statements: ({ text }) => [`ALTER TABLE audit ADD COLUMN changes ${text} NOT NULL DEFAULT ''`],
  },
  {
    name: keyChannels,
    statements: ({ text, follow }) => [
      `ALTER TABLE tokens ADD COLUMN channels ${text} NOT NULL DEFAULT ''`,
      ...follow(
        'tokens',
        'name, key_hmac, status, expires_at, unlimited, quota_limit, model_limits_enabled, model_limits, allow_ips, group_name, day_budget, month_budget, rpm_limit, tpm_limit, concurrency_limit, deleted_at, old_key_hmac, old_key_until, labels, channels',
      ),
    ],
  },
  {
    // Invoices of paid orders, and what they say of their buyers.
    name: '0026-paper',
    statements: ({ integer, text, serial, rowed }) => [
      `ALTER TABLE top_ups ADD COLUMN refunded ${integer} NOT NULL DEFAULT 0`,
      `CREATE TABLE invoices (
  id ${serial},
  kind ${text} NOT NULL CHECK (kind IN ('invoice', 'credit_note')),
  year ${integer} NOT NULL,
  number ${integer} NOT NULL CHECK (number > 0),
  name ${text} NOT NULL UNIQUE,
  user_id ${integer} NOT NULL,
  trade_no ${text} NOT NULL,
  issued_at ${integer} NOT NULL,
  document ${text} NOT NULL,
  hash ${text} NOT NULL,
  UNIQUE (kind, year, number)
)${rowed}`,
      'CREATE INDEX invoices_user ON invoices (user_id, id)',
      'CREATE INDEX invoices_order ON invoices (trade_no)',
      `CREATE TABLE buyers (
  user_id ${integer} PRIMARY KEY,
  name ${text} NOT NULL,
  address ${text} NOT NULL,
  tax_id ${text} NOT NULL,
  updated_at ${integer} NOT NULL
)${rowed}`,
    ],
  },
  {
    // Under the field's word. A table made anew has the names of its constraints from its own, on both engines.
    name: '0027-unsupported',
    statements: ({ integer, text, rowless: withoutRowid, followNew, alsoNamed }) => [
      `CREATE TABLE channel_unsupported (
  channel_id ${integer} NOT NULL,
  model ${text} NOT NULL,
  member ${text} NOT NULL,
  demand ${text} NOT NULL,
  source ${text} NOT NULL,
  count ${integer} NOT NULL DEFAULT 0,
  users ${text} NOT NULL DEFAULT '',
  first_at ${integer} NOT NULL,
  last_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL DEFAULT 0,
  PRIMARY KEY (channel_id, model, member)
)${withoutRowid}`,
      `INSERT INTO channel_unsupported (channel_id, model, member, demand, source, count, users, first_at, last_at, expires_at)
  SELECT channel_id, model, member, demand, source, count, users, first_at, last_at, expires_at FROM channel_facts`,
      'DROP TABLE channel_facts',
      ...alsoNamed('channel_facts', 'channel_unsupported'),
      ...followNew('channel_unsupported', 'channel_id', 'demand, source, users, expires_at'),
    ],
  },
  {
    // Rows of the log added up: those from before are not, `sums_from` in `meta` says since when.
    name: '0028-hours',
    statements: ({ integer, text, real, rowless }) => [
      `CREATE TABLE log_sums (
  span ${integer} NOT NULL,
  at ${integer} NOT NULL,
  user_id ${integer} NOT NULL,
  token_id ${integer} NOT NULL,
  group_name ${text} NOT NULL,
  model_name ${text} NOT NULL,
  channel_id ${integer} NOT NULL,
  writer ${integer} NOT NULL,
  username ${text} NOT NULL,
  token_name ${text} NOT NULL,
  requests ${integer} NOT NULL,
  errors ${integer} NOT NULL,
  prompt_tokens ${integer} NOT NULL,
  completion_tokens ${integer} NOT NULL,
  cached_tokens ${integer} NOT NULL,
  quota ${integer} NOT NULL,
  list ${real} NOT NULL,
  PRIMARY KEY (span, at, user_id, token_id, group_name, model_name, channel_id, writer)
)${rowless}`,
      `CREATE TABLE name_sums (
  span ${integer} NOT NULL,
  kind ${text} NOT NULL,
  at ${integer} NOT NULL,
  user_id ${integer} NOT NULL,
  name_id ${integer} NOT NULL,
  writer ${integer} NOT NULL,
  requests ${integer} NOT NULL,
  prompt_tokens ${integer} NOT NULL,
  completion_tokens ${integer} NOT NULL,
  cached_tokens ${integer} NOT NULL,
  quota ${integer} NOT NULL,
  PRIMARY KEY (span, kind, at, user_id, name_id, writer)
)${rowless}`,
    ],
  },
  {
    name: '0030-links',
    statements: ({ integer, text, serial, rowed }) => [
      `CREATE TABLE document_links (
  id ${serial},
  secret_hash ${text} NOT NULL UNIQUE,
  user_id ${integer} NOT NULL,
  kind ${text} NOT NULL CHECK (kind IN ('invoice', 'statement')),
  subject ${text} NOT NULL,
  title ${text} NOT NULL,
  created_by ${integer} NOT NULL,
  created_at ${integer} NOT NULL,
  expires_at ${integer} NOT NULL,
  revoked_at ${integer} NOT NULL DEFAULT 0,
  opened ${integer} NOT NULL DEFAULT 0,
  opened_at ${integer} NOT NULL DEFAULT 0
)${rowed}`,
      'CREATE INDEX document_links_user ON document_links (user_id, id)',
    ],
  },
  {
    name: '0035-schedules',
    statements: ({ integer, text, serial, rowed, rowless }) => [
      `CREATE TABLE statement_schedules (
  id ${serial},
  user_id ${integer} NOT NULL,
  scope ${text} NOT NULL,
  of_kind ${text} NOT NULL,
  name ${text} NOT NULL,
  every ${text} NOT NULL CHECK (every IN ('month', 'week')),
  email ${text} NOT NULL,
  paused ${integer} NOT NULL DEFAULT 0,
  since ${integer} NOT NULL,
  created_by ${integer} NOT NULL,
  created_at ${integer} NOT NULL
)${rowed}`,
      `CREATE TABLE statement_mails (
  schedule_id ${integer} NOT NULL,
  period ${text} NOT NULL,
  state ${text} NOT NULL CHECK (state IN ('claimed', 'sent', 'empty', 'failed')),
  tries ${integer} NOT NULL,
  tried_at ${integer} NOT NULL,
  error ${text} NOT NULL,
  PRIMARY KEY (schedule_id, period)
)${rowless}`,
    ],
  },
];

const followNewOnSqlite: Types['followNew'] = (table, key, columns) => {
  const note = (row: string) =>
    `INSERT INTO changes (entity, entity_id) VALUES ('${table}', CAST(${row}.${key} AS TEXT));`;
  return [
    `CREATE TRIGGER ${table}_inserted AFTER INSERT ON ${table} BEGIN ${note('NEW')} END`,
    `CREATE TRIGGER ${table}_updated AFTER UPDATE OF ${columns} ON ${table} BEGIN ${note('NEW')} END`,
    `CREATE TRIGGER ${table}_deleted AFTER DELETE ON ${table} BEGIN ${note('OLD')} END`,
  ];
};
const followNewOnPostgres: Types['followNew'] = (table, key, columns) => [
  `CREATE TRIGGER ${table}_changed AFTER INSERT OR DELETE OR UPDATE OF ${columns} ON ${table}
  FOR EACH ROW EXECUTE FUNCTION note_change('${key}')`,
];

/** Of tables whose key is `id`. */
const followOnSqlite: Types['follow'] = (table, columns) => [
  `DROP TRIGGER ${table}_updated`,
  `CREATE TRIGGER ${table}_updated AFTER UPDATE OF ${columns} ON ${table} BEGIN INSERT INTO changes (entity, entity_id) VALUES ('${table}', CAST(NEW.id AS TEXT)); END`,
];
const followOnPostgres: Types['follow'] = (table, columns) => [
  `DROP TRIGGER ${table}_changed ON ${table}`,
  `CREATE TRIGGER ${table}_changed AFTER INSERT OR DELETE OR UPDATE OF ${columns} ON ${table}
  FOR EACH ROW EXECUTE FUNCTION note_change('id')`,
];

const sharedFor = (types: Types): readonly Migration[] =>
  shared.map((one) => ({ ...one, statements: one.statements(types) }));

/** Since this migration nodes lease parts of budgets. */
export const budgetLeases = '0022-leases';
/** Labels of keys, budgets of labels and end users, and what a single request may take. */
const limits = '0023-limits';
const budgetHolders = "holder IN ('token', 'user', 'group', 'label', 'end_user', 'site')";
const budgetPeriods = "period IN ('5h', 'day', 'week', 'month', 'total', 'request')";
const budgetColumns =
  'id, holder, subject, period, unit, amount, zone, raise_amount, raise_until, counted, created_at, updated_at';
const followedOfBudgets = 'holder, subject, period, unit, amount, zone, raise_amount, raise_until';
const followedOfTokens =
  'name, key_hmac, status, expires_at, unlimited, quota_limit, model_limits_enabled, model_limits, allow_ips, group_name, day_budget, month_budget, rpm_limit, tpm_limit, concurrency_limit, deleted_at, old_key_hmac, old_key_until, labels';

const byName = (one: Migration, other: Migration): number => (one.name < other.name ? -1 : 1);

/** The first schema is in no row: a database that has it was made by an earlier build. */
const first: Migration = { name: '0001-initial', statements: [], breaks: true };

export const sqliteMigrations: readonly Migration[] = [
  first,
  {
    name: '0002-access-tokens-and-filters',
    statements: [
      `CREATE TABLE access_tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT -1
) STRICT`,
      'CREATE INDEX access_tokens_user ON access_tokens (user_id)',
      `CREATE TABLE saved_filters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id INTEGER NOT NULL,
  place TEXT NOT NULL,
  name TEXT NOT NULL,
  query TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (user_id, place, name)
) STRICT`,
      'CREATE TABLE webhook_secrets (user_id INTEGER PRIMARY KEY, secret_sealed TEXT NOT NULL) STRICT',
    ],
  },
  {
    name: '0003-live-tokens',
    statements: ['DROP INDEX tokens_user', 'CREATE INDEX tokens_live ON tokens (user_id, id) WHERE deleted_at IS NULL'],
  },
  {
    name: '0004-sign-in',
    statements: [
      'ALTER TABLE users ADD COLUMN password_made INTEGER NOT NULL DEFAULT 0',
      "ALTER TABLE users ADD COLUMN oidc_issuer TEXT NOT NULL DEFAULT ''",
      // Their issuer was never asked. What is known is where their codes were exchanged; the issuer that answers there takes its place.
      "UPDATE users SET oidc_issuer = 'endpoint:' || coalesce((SELECT value FROM options WHERE key = 'oidc.token_endpoint'), '') WHERE oidc_id <> ''",
      'DROP INDEX users_oidc',
      "CREATE UNIQUE INDEX users_oidc ON users (oidc_issuer, oidc_id) WHERE oidc_id <> ''",
    ],
  },
  {
    // What settlements cost beyond a balance lies in an account of its own; balances that went below zero are brought to it.
    name: '0005-overrun',
    statements: [
      'ALTER TABLE accounts ADD COLUMN overrun INTEGER NOT NULL DEFAULT 0',
      'INSERT INTO accounts (id) VALUES (-6)',
      "CREATE INDEX postings_overrun ON postings (at) WHERE kind = 'overrun'",
      `INSERT INTO postings (ref, debit, credit, amount, kind, at)
    SELECT 'overrun:upgrade:' || id, -3, id, min(-balance, 1000000000000000), 'overrun', unixepoch()
    FROM accounts WHERE id > 0 AND balance < 0`,
      `UPDATE accounts SET balance = balance - (SELECT coalesce(sum(amount), 0) FROM postings WHERE debit = -3)
    WHERE id = -3`,
      `UPDATE accounts SET overrun = min(-balance, 1000000000000000), version = version + 1,
      balance = balance + min(-balance, 1000000000000000)
    WHERE id > 0 AND balance < 0`,
    ],
  },
  {
    name: '0006-code-expiry',
    statements: ['ALTER TABLE redemptions ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0'],
  },
  ...sharedFor({
    integer: 'INTEGER',
    text: 'TEXT',
    real: 'REAL',
    serial: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    rowed: ' STRICT',
    rowless: ' STRICT, WITHOUT ROWID',
    position: 'instr',
    follow: followOnSqlite,
    followNew: followNewOnSqlite,
    // One process has a file.
    alsoNamed: () => [],
  }),
  // A build from before does not read the journal beside the file, and must not open it.
  { name: '0017-journal', statements: [] },
  {
    // Rules of columns stand in the table's text alone, so the table is made anew.
    name: limits,
    statements: [
      "ALTER TABLE tokens ADD COLUMN labels TEXT NOT NULL DEFAULT ''",
      'ALTER TABLE tokens ADD COLUMN frozen_at INTEGER NOT NULL DEFAULT 0',
      ...followOnSqlite('tokens', followedOfTokens),
      'ALTER TABLE budgets RENAME TO budgets_before',
      `CREATE TABLE budgets (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  holder TEXT NOT NULL CHECK (${budgetHolders}),
  subject TEXT NOT NULL DEFAULT '',
  period TEXT NOT NULL CHECK (${budgetPeriods}),
  unit TEXT NOT NULL CHECK (unit IN ('money', 'requests', 'tokens')),
  amount INTEGER NOT NULL CHECK (amount >= 0),
  zone TEXT NOT NULL DEFAULT '',
  raise_amount INTEGER NOT NULL DEFAULT 0 CHECK (raise_amount >= 0),
  raise_until INTEGER NOT NULL DEFAULT 0,
  counted INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (holder, subject, period, unit)
) STRICT`,
      `INSERT INTO budgets SELECT ${budgetColumns} FROM budgets_before`,
      // Ids are never given out again: uses of late settlements name them.
      "DELETE FROM sqlite_sequence WHERE name = 'budgets'",
      "UPDATE sqlite_sequence SET name = 'budgets' WHERE name = 'budgets_before'",
      'DROP TABLE budgets_before',
      ...followNewOnSqlite('budgets', 'id', followedOfBudgets),
    ],
  },
].sort(byName);

export const postgresMigrations: readonly Migration[] = [
  first,
  {
    name: '0002-node-messages',
    statements: [
      'CREATE UNLOGGED TABLE node_messages (text text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())',
    ],
  },
  {
    name: '0003-memos',
    statements: [
      `CREATE UNLOGGED TABLE memos (
  purpose text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL DEFAULT '',
  value text COLLATE "C" NOT NULL DEFAULT '',
  count bigint NOT NULL DEFAULT 0,
  until_ms bigint NOT NULL,
  PRIMARY KEY (purpose, key, holder)
)`,
      'CREATE INDEX memos_until ON memos (until_ms)',
    ],
  },
  {
    name: '0004-kept-owners',
    statements: [
      `CREATE TABLE kept_owners (
  number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  owner_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  until bigint NOT NULL
)`,
      'CREATE INDEX kept_owners_until ON kept_owners (until)',
    ],
  },
  {
    name: '0005-code-expiry',
    statements: ['ALTER TABLE redemptions ADD COLUMN expires_at bigint NOT NULL DEFAULT 0'],
  },
  ...sharedFor({
    integer: 'bigint',
    text: 'text COLLATE "C"',
    real: 'double precision',
    serial: 'bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
    rowed: '',
    rowless: '',
    position: 'strpos',
    follow: followOnPostgres,
    followNew: followNewOnPostgres,
    alsoNamed: (name, table) => [`CREATE VIEW ${name} AS SELECT * FROM ${table}`],
  }),
  {
    name: limits,
    statements: [
      `ALTER TABLE tokens ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT ''`,
      'ALTER TABLE tokens ADD COLUMN frozen_at bigint NOT NULL DEFAULT 0',
      ...followOnPostgres('tokens', followedOfTokens),
      'ALTER TABLE budgets DROP CONSTRAINT budgets_holder_check',
      `ALTER TABLE budgets ADD CONSTRAINT budgets_holder_check CHECK (${budgetHolders})`,
      'ALTER TABLE budgets DROP CONSTRAINT budgets_period_check',
      `ALTER TABLE budgets ADD CONSTRAINT budgets_period_check CHECK (${budgetPeriods})`,
    ],
  },
  {
    // What budgets have used is counted by each node for itself, and nodes lease of them.
    name: budgetLeases,
    statements: [
      `CREATE TABLE budget_use_parts (
  budget_id bigint NOT NULL,
  window_at bigint NOT NULL,
  epoch bigint NOT NULL,
  used bigint NOT NULL,
  PRIMARY KEY (budget_id, window_at, epoch)
)`,
      'INSERT INTO budget_use_parts (budget_id, window_at, epoch, used) SELECT budget_id, window_at, 0, used FROM budget_use',
      'DROP TABLE budget_use',
      `CREATE VIEW budget_use AS
  SELECT budget_id, window_at, sum(used)::bigint AS used FROM budget_use_parts GROUP BY budget_id, window_at`,
      'ALTER TABLE leases DROP CONSTRAINT leases_kind_check',
      "ALTER TABLE leases ADD CONSTRAINT leases_kind_check CHECK (kind IN ('account', 'token', 'budget'))",
    ],
  },
].sort(byName);

/** @param schema name of a file's newest migration. */
export const hasSchema = (schema: string): boolean => sqliteMigrations.some(({ name }) => name === schema);

/** Names of the schemas that this build makes. */
export const newestSqlite: string = sqliteMigrations.at(-1)?.name ?? '';
export const newestPostgres: string = postgresMigrations.at(-1)?.name ?? '';
