/**
 * Every table, described once: new databases, row types, insert lists and `db move` follow from it. A change is made here and
 * as a row in migrations.ts. Times are epoch seconds unless the name says `_ms`; money is integer quota; flags are 0 and 1;
 * JSON is text, so that rows are equal in both engines.
 */
import { type TrafficCounter, trafficCounters } from '../../server/contract/traffic.ts';
import { int, type RowOf, real, rowid, serial, type Table, table, text } from './columns.ts';

const inCredit = 'quota BETWEEN 1 AND 1000000000000000';
const open = "WHERE status NOT IN ('SUCCESS', 'FAILURE')";

/** In the order in which `db move` brings them over. */
/** What is added up of traffic. */
const counters = Object.fromEntries(trafficCounters.map((name) => [name, int.default(0)])) as Record<
  TrafficCounter,
  typeof int
>;

/** Everything in the log but plain successes. @param position what finds a text in another. */
const exceptionalRows = (position: 'instr' | 'strpos'): string =>
  `(type <> 2 OR end_reason NOT IN ('completed', 'imported', '') OR ${position}(other, '"attempts":[') > 0)`;

export const tables = {
  meta: table({ key: text.key, value: text }),

  options: table(
    {
      key: text.key,
      /** Stored text; sealed when the option is a secret. */
      value: text,
      updated_at: int,
    },
    { followed: ['value'] },
  ),

  users: table(
    {
      id: serial,
      username: text.unique,
      display_name: text.default(''),
      /** argon2id or bcrypt (imported) hash. */
      password_hash: text,
      /** 1 = made by the gateway for an account that another service vouches for; its user does not know it. */
      password_made: int.optional(0),
      role: int.default(1),
      status: int.default(1),
      email: text.default(''),
      group_name: text.default('default'),
      github_id: text.default(''),
      oidc_id: text.default(''),
      /** Who vouches for `oidc_id`; `endpoint:<token endpoint>` until that issuer has answered once. */
      oidc_issuer: text.optional(''),
      wechat_id: text.default(''),
      telegram_id: text.default(''),
      linux_do_id: text.default(''),
      access_token_hash: text.nullable.unique,
      aff_code: text.nullable.unique,
      aff_count: int.default(0),
      aff_quota: int.default(0).check('aff_quota >= 0'),
      aff_history_quota: int.default(0),
      inviter_id: int.default(0),
      /** 1 = the gifts of the invitation are given with the first top-up. */
      gift_waits: int.optional(0),
      setting: text.default(''),
      created_at: int,
      deleted_at: int.nullable,
    },
    {
      indexes: [
        'INDEX users_inviter ON users (inviter_id) WHERE inviter_id > 0',
        "INDEX users_email ON users (lower(email)) WHERE email <> ''",
        "UNIQUE INDEX users_github ON users (github_id) WHERE github_id <> ''",
        "UNIQUE INDEX users_oidc ON users (oidc_issuer, oidc_id) WHERE oidc_id <> ''",
        "UNIQUE INDEX users_wechat ON users (wechat_id) WHERE wechat_id <> ''",
        "UNIQUE INDEX users_telegram ON users (telegram_id) WHERE telegram_id <> ''",
        "UNIQUE INDEX users_linux_do ON users (linux_do_id) WHERE linux_do_id <> ''",
      ],
      followed: ['username', 'role', 'status', 'group_name', 'setting', 'deleted_at'],
    },
  ),

  /** Written by the ledger alone. User accounts carry the user's id, system accounts are negative. */
  accounts: table(
    {
      id: int.key,
      balance: int.default(0),
      used_quota: int.default(0),
      request_count: int.default(0),
      /** Counts every movement but settlements; orders balance events against rows read elsewhere. */
      version: int.default(0),
      /** Paid by `overrun` and not paid back yet. */
      overrun: int.optional(0),
      /** All top-ups so far; neither codes nor what was given. */
      paid_in: int.optional(0),
    },
    {
      rows: 'INSERT INTO accounts (id) VALUES (-1), (-2), (-3), (-4), (-5), (-6)',
      postgres: {
        // Sum of the leases on it, and what the nodes that wait for some want.
        columns: { leased: 'bigint NOT NULL DEFAULT 0', wanted: 'bigint NOT NULL DEFAULT 0' },
        constraints: ['CONSTRAINT accounts_leased CHECK (id < 0 OR (leased >= 0 AND balance >= leased))'],
      },
    },
  ),

  tokens: table(
    {
      id: serial,
      user_id: int,
      name: text,
      key_hmac: text.unique,
      /** Sealed key (see server/domain/secrets). */
      key_sealed: text,
      /** `abc…wxyz`, for lists and messages. */
      key_hint: text,
      status: int.default(1),
      created_at: int,
      accessed_at: int.default(0),
      expires_at: int.default(-1),
      unlimited: int.default(0).check('unlimited IN (0, 1)'),
      quota_limit: int.default(0),
      /** Written by the ledger alone. */
      used_quota: int.default(0),
      model_limits_enabled: int.default(0).check('model_limits_enabled IN (0, 1)'),
      model_limits: text.default(''),
      allow_ips: text.default(''),
      group_name: text.default(''),
      /** Quota the token may use per calendar day and month (UTC), requests and tokens per minute, requests at once; 0 = no limit. */
      day_budget: int.optional(0).check('day_budget >= 0'),
      month_budget: int.optional(0).check('month_budget >= 0'),
      rpm_limit: int.optional(0).check('rpm_limit >= 0'),
      tpm_limit: int.optional(0).check('tpm_limit >= 0'),
      concurrency_limit: int.optional(0).check('concurrency_limit >= 0'),
      /** Start of the last day and month with a charge and what was used in it. Written by the ledger alone. */
      day_at: int.optional(0),
      day_used: int.optional(0),
      month_at: int.optional(0),
      month_used: int.optional(0),
      parent_id: int.default(0),
      managed_by: text.default(''),
      deleted_at: int.nullable,
      /** The key before the last rotation and until when it still works; '' and 0 = there is none. */
      old_key_hmac: text.optional(''),
      old_key_hint: text.optional(''),
      old_key_until: int.optional(0),
      /** SHA-256 of the secret of a link that shows the key once, and until when it can be opened; '' and 0 = there is none. */
      link_hash: text.optional(''),
      link_until: int.optional(0),
      /** Where the key was used from last; '' = unknown. */
      last_ip: text.optional(''),
      /** `key` = its user copies it; `agent` = a program that signed in, whose key nobody knows. */
      kind: text.optional('key'),
      /** Comma separated: whose budgets bound it besides. */
      labels: text.optional(''),
      /** When it was disabled because much more was spent with it than usual; below 0 = enabled again at that time; 0 = never. */
      frozen_at: int.optional(0),
      /** Ids of the channels that alone serve it, comma separated, ascending; '' = every channel of its groups. */
      channels: text.optional(''),
    },
    {
      // Pages are counted and skipped in the index alone: deleted tokens are not in it.
      indexes: [
        'INDEX tokens_live ON tokens (user_id, id) WHERE deleted_at IS NULL',
        "UNIQUE INDEX tokens_old_key ON tokens (old_key_hmac) WHERE old_key_hmac <> ''",
        "UNIQUE INDEX tokens_link ON tokens (link_hash) WHERE link_hash <> ''",
      ],
      followed: [
        'name',
        'key_hmac',
        'status',
        'expires_at',
        'unlimited',
        'quota_limit',
        'model_limits_enabled',
        'model_limits',
        'allow_ips',
        'group_name',
        'day_budget',
        'month_budget',
        'rpm_limit',
        'tpm_limit',
        'concurrency_limit',
        'deleted_at',
        'old_key_hmac',
        'old_key_until',
        'labels',
        'channels',
      ],
      postgres: {
        columns: {
          leased: 'bigint NOT NULL DEFAULT 0 CHECK (leased >= 0)',
          // Position in the change feed from which nodes lease this token; 0 = it has no limit or always had one.
          lease_from: 'bigint NOT NULL DEFAULT 0',
        },
        indexes: ['INDEX tokens_leased ON tokens (id) WHERE leased > 0'],
      },
    },
  ),

  channels: table(
    {
      id: serial,
      type: int,
      name: text,
      key_sealed: text,
      key_hint: text.default(''),
      organization: text.default(''),
      test_model: text.default(''),
      status: int.default(1),
      weight: int.default(0).check('weight >= 0'),
      priority: int.default(0),
      created_at: int,
      test_at: int.default(0),
      response_time_ms: int.default(0),
      base_url: text.default(''),
      other: text.default(''),
      balance: real.default(0),
      balance_updated_at: int.default(0),
      /** Comma lists, as on the wire. */
      models: text.default(''),
      group_name: text.default('default'),
      /** Written by the ledger alone. */
      used_quota: int.default(0),
      model_mapping: text.default(''),
      status_code_mapping: text.default(''),
      param_override: text.default(''),
      setting: text.default(''),
      auto_ban: int.default(1),
      other_info: text.default(''),
      tag: text.default(''),
      max_input_tokens: int.default(0),
      managed_by: text.default(''),
      /** Comma list of keys that are switched off, by the name that each has. */
      keys_off: text.optional(''),
    },
    {
      indexes: ["INDEX channels_tag ON channels (tag) WHERE tag <> ''"],
      followed: [
        'type',
        'name',
        'key_sealed',
        'organization',
        'test_model',
        'status',
        'weight',
        'priority',
        'base_url',
        'other',
        'models',
        'group_name',
        'model_mapping',
        'status_code_mapping',
        'param_override',
        'setting',
        'auto_ban',
        'tag',
        'max_input_tokens',
        'keys_off',
      ],
    },
  ),

  /** What the upstream of a channel does not take: members that are left out of requests for one of its models. */
  channel_unsupported: table(
    {
      channel_id: int,
      /** The model as the upstream calls it. */
      model: text,
      /** `openai-chat:temperature`, `openai-responses:reasoning.effort=xhigh`. */
      member: text,
      /** `absent`, or `function` for a type of tools. */
      demand: text,
      /** `hand`, `learnt`, `probe`. */
      source: text,
      /** Refusals that were met. */
      count: int.default(0),
      /** Comma list of the first two users who met it. */
      users: text.default(''),
      first_at: int,
      last_at: int,
      /** 0 = it stays. */
      expires_at: int.default(0),
    },
    {
      key: ['channel_id', 'model', 'member'],
      followed: ['demand', 'source', 'users', 'expires_at'],
      postgres: { alsoNamed: 'channel_facts' },
    },
  ),

  redemptions: table({
    id: serial,
    user_id: int,
    name: text,
    key_hmac: text.unique,
    key_sealed: text,
    status: int.default(1),
    quota: int.check(inCredit),
    created_at: int,
    redeemed_at: int.default(0),
    used_user_id: int.default(0),
    deleted_at: int.nullable,
    /** 0 = never. */
    expires_at: int.optional(0),
  }),

  top_ups: table(
    {
      id: serial,
      user_id: int,
      trade_no: text.unique,
      method: text,
      amount: int,
      quota: int.check(inCredit),
      /** The price, in the smallest unit of `currency`. */
      money: int.check('money >= 0'),
      currency: text,
      status: text.default('pending').check("status IN ('pending', 'expired', 'success')"),
      created_at: int,
      paid_at: int.default(0),
      /** Given back of the price, in its smallest units. */
      refunded: int.optional(0),
    },
    { indexes: ['INDEX top_ups_user ON top_ups (user_id, id)'] },
  ),

  /** Documents about payments: written by the ledger in the transaction of the payment, and never changed. */
  invoices: table(
    {
      id: serial,
      kind: text.check("kind IN ('invoice', 'credit_note')"),
      year: int,
      /** From 1 without a gap, of its kind and year. */
      number: int.check('number > 0'),
      /** `INV-2026-000001`. */
      name: text.unique,
      user_id: int,
      trade_no: text,
      issued_at: int,
      /** JSON of `Invoice`, as it was made. */
      document: text,
      /** Over the hash of the one before and `document`. */
      hash: text,
    },
    {
      constraints: ['UNIQUE (kind, year, number)'],
      indexes: ['INDEX invoices_user ON invoices (user_id, id)', 'INDEX invoices_order ON invoices (trade_no)'],
    },
  ),

  /** What invoices say of their buyers. */
  buyers: table({ user_id: int.key, name: text, address: text, tax_id: text, updated_at: int }),

  /** Addresses that open an invoice or a statement without an account. */
  document_links: table(
    {
      id: serial,
      /** SHA-256 of what the address ends with. */
      secret_hash: text.unique,
      /** Whose document it is; 0 = of no single user. */
      user_id: int,
      kind: text.check("kind IN ('invoice', 'statement')"),
      /** Number of the invoice, or JSON of whose statement and which month. */
      subject: text,
      title: text,
      created_by: int,
      created_at: int,
      expires_at: int,
      /** 0 = it opens. */
      revoked_at: int.default(0),
      opened: int.default(0),
      opened_at: int.default(0),
    },
    { indexes: ['INDEX document_links_user ON document_links (user_id, id)'] },
  ),

  /** Statements that are mailed by the clock. */
  statement_schedules: table({
    id: serial,
    /** Whose mail box and language. */
    user_id: int,
    /** JSON of whose statement it is, and what that is called. */
    scope: text,
    of_kind: text,
    name: text,
    every: text.check("every IN ('month', 'week')"),
    /** '' = the user's own. */
    email: text,
    paused: int.default(0),
    /** Periods that ended before are not sent. */
    since: int,
    created_by: int,
    created_at: int,
  }),

  /** What became of a period's mail; its row is the right to send it. */
  statement_mails: table(
    {
      schedule_id: int,
      period: text,
      state: text.check("state IN ('claimed', 'sent', 'empty', 'failed')"),
      tries: int,
      tried_at: int,
      error: text,
    },
    { key: ['schedule_id', 'period'] },
  ),

  /** Every payment callback as received, so that none is lost and none counts twice. */
  callbacks: table(
    {
      id: serial,
      source: text,
      event_id: text,
      trade_no: text.default(''),
      received_at: int,
      outcome: text.default('new'),
      /** What it says as JSON {paid, money, currency}: enough to work on it later. */
      facts: text.default('{}'),
      /** Beginning of the text as received, for people. */
      body: text,
    },
    { constraints: ['UNIQUE (source, event_id)'] },
  ),

  /** Access tokens with scopes; the one full token of an account lies in its row. */
  access_tokens: table(
    {
      id: serial,
      user_id: int,
      name: text,
      token_hash: text.unique,
      hint: text,
      /** Comma separated. */
      scopes: text,
      created_at: int,
      last_used_at: int.default(0),
      /** -1 = never. */
      expires_at: int.default(-1),
    },
    { indexes: ['INDEX access_tokens_user ON access_tokens (user_id)'] },
  ),

  /** Programs that signed in: each has a token of the kind `agent`, and one refresh token at a time. */
  sign_ins: table(
    {
      id: serial,
      token_id: int.unique,
      client: text,
      /** The machine, as it named itself, and where it asked from. */
      host: text,
      address: text,
      /** SHA-256 of the refresh token, and of the one before ('' = none). */
      refresh_hash: text.unique,
      previous_hash: text.default(''),
      rotated_at: int.default(0),
      created_at: int,
      last_used_at: int.default(0),
    },
    { indexes: ["INDEX sign_ins_previous ON sign_ins (previous_hash) WHERE previous_hash <> ''"] },
  ),

  /** Names that stand for chains of targets: server/contract/virtual-models.ts. */
  virtual_models: table(
    {
      id: serial,
      name: text.unique,
      enabled: int.default(1).check('enabled IN (0, 1)'),
      /** The group that no request leaves; '' = none. */
      boundary: text.default(''),
      description: text.default(''),
      /** JSON array, in order. */
      targets: text,
      created_at: int,
      updated_at: int,
    },
    { followed: ['name', 'enabled', 'boundary', 'targets'] },
  ),

  /** What keys, users, groups and the site may use in a window: server/contract/budgets.ts. */
  budgets: table(
    {
      id: serial,
      holder: text.check("holder IN ('token', 'user', 'group', 'label', 'end_user', 'site')"),
      /** Id of the token or user (of `end_user` the token whose end users they are), name of the group or label; '' = the site. */
      subject: text.default(''),
      period: text.check("period IN ('5h', 'day', 'week', 'month', 'total', 'request')"),
      unit: text.check("unit IN ('money', 'requests', 'tokens')"),
      amount: int.check('amount >= 0'),
      /** IANA name; '' = UTC. */
      zone: text.default(''),
      /** Added to the amount until `raise_until`. */
      raise_amount: int.default(0).check('raise_amount >= 0'),
      raise_until: int.default(0),
      /** 1, or when it was reset last = what was used before is in its use, as far as it counts; 0, or that below 0 = not yet. */
      counted: int.default(0),
      created_at: int,
      updated_at: int,
    },
    {
      constraints: ['UNIQUE (holder, subject, period, unit)'],
      followed: ['holder', 'subject', 'period', 'unit', 'amount', 'zone', 'raise_amount', 'raise_until'],
    },
  ),

  /** What was used of a budget in the window that began at `window_at`. Written by the ledger alone. */
  budget_use: table(
    { budget_id: int, window_at: int, used: int.check('used >= 0') },
    {
      key: ['budget_id', 'window_at'],
      postgres: {
        instead: `CREATE VIEW budget_use AS
  SELECT budget_id, window_at, sum(used)::bigint AS used FROM budget_use_parts GROUP BY budget_id, window_at`,
      },
    },
  ),

  saved_filters: table(
    { id: serial, user_id: int, place: text, name: text, query: text, created_at: int },
    { constraints: ['UNIQUE (user_id, place, name)'] },
  ),

  webhook_secrets: table({ user_id: int.key, secret_sealed: text }),

  sessions: table(
    {
      id_hash: text.key,
      user_id: int,
      created_at: int,
      last_seen_at: int,
      expires_at: int,
      ip: text.default(''),
      user_agent: text.default(''),
    },
    { indexes: ['INDEX sessions_user ON sessions (user_id)'] },
  ),

  second_factors: table({
    user_id: int.key,
    secret_sealed: text,
    /** 0 = begun and not yet confirmed. */
    enabled_at: int.default(0),
    /** 30-second step of the last code that was used: none is taken twice. */
    last_step: int.default(0),
  }),

  recovery_codes: table({ user_id: int, code_hash: text }, { key: ['user_id', 'code_hash'] }),

  passkeys: table(
    {
      id: serial,
      credential_id: text.unique,
      user_id: int,
      name: text,
      /** base64url of the COSE key. */
      public_key: text,
      counter: int.default(0),
      transports: text.default(''),
      created_at: int,
      last_used_at: int.default(0),
    },
    { indexes: ['INDEX passkeys_user ON passkeys (user_id)'] },
  ),

  /** When a user was notified last of something that repeats. */
  alerts: table({ user_id: int, kind: text, sent_at: int }, { key: ['user_id', 'kind'] }),

  /** Append-only, each row's hash covers the one before. */
  audit: table({
    id: rowid,
    at: int,
    actor_id: int,
    actor: text,
    ip: text.default(''),
    action: text,
    target: text.default(''),
    detail: text.default(''),
    previous_hash: text,
    hash: text,
    /** JSON text of what was changed, before and after; '' = nothing is kept. */
    changes: text.default(''),
  }),

  /** Price maps before each change, newest last. */
  price_versions: table({
    id: serial,
    at: int,
    actor: text,
    reason: text,
    /** JSON object option key -> stored text. */
    options: text,
  }),

  drawing_tasks: table(
    {
      id: serial,
      code: int.default(0),
      user_id: int,
      token_id: int.default(0),
      action: text,
      mj_id: text,
      prompt: text.default(''),
      prompt_en: text.default(''),
      description: text.default(''),
      state: text.default(''),
      submit_ms: int.default(0),
      start_ms: int.default(0),
      finish_ms: int.default(0),
      image_url: text.default(''),
      status: text.default(''),
      progress: text.default(''),
      fail_reason: text.default(''),
      channel_id: int.default(0),
      quota: int.default(0),
      buttons: text.default(''),
      properties: text.default(''),
      request_id: text.default(''),
    },
    {
      indexes: [
        'INDEX drawing_tasks_user ON drawing_tasks (user_id, id)',
        'INDEX drawing_tasks_mj ON drawing_tasks (mj_id)',
        `INDEX drawing_tasks_open ON drawing_tasks (id) ${open}`,
      ],
    },
  ),

  tasks: table(
    {
      id: serial,
      created_at: int,
      updated_at: int,
      task_id: text,
      platform: text,
      user_id: int,
      token_id: int.default(0),
      channel_id: int.default(0),
      quota: int.default(0),
      action: text.default(''),
      status: text.default(''),
      fail_reason: text.default(''),
      submit_at: int.default(0),
      start_at: int.default(0),
      finish_at: int.default(0),
      progress: text.default(''),
      properties: text.default(''),
      data: text.default(''),
      request_id: text.default(''),
    },
    {
      indexes: [
        'INDEX tasks_user ON tasks (user_id, id)',
        'INDEX tasks_task ON tasks (task_id)',
        `INDEX tasks_open ON tasks (id) ${open}`,
      ],
    },
  ),

  /** Hourly usage per user and model; written by the ledger with each settlement. */
  usage_hours: table(
    {
      hour_at: int,
      user_id: int,
      username: text,
      model_name: text,
      channel_id: int,
      count: int,
      tokens: int,
      quota: int,
    },
    {
      key: ['hour_at', 'user_id', 'model_name', 'channel_id'],
      postgres: {
        instead: `CREATE VIEW usage_hours AS
  SELECT hour_at, user_id, min(username) AS username, model_name, channel_id,
    sum(count)::bigint AS count, sum(tokens)::bigint AS tokens, sum(quota)::bigint AS quota
  FROM usage_hour_parts GROUP BY hour_at, user_id, model_name, channel_id`,
      },
    },
  ),

  /** Traffic in windows of five minutes, hours and days. Nodes add into the same row. */
  traffic: table(
    {
      /** Seconds of the window. */
      span: int,
      /** `all`, `channel`, `model`, `route` (channel and model), `token`, `use` (key and model), `save` (a channel that failed and the one that served), `other` (a channel, and the models that were sent and answered). */
      kind: text,
      /** At which the window begins. */
      at: int,
      /** The channel or the key; 0 = neither. */
      subject_id: int,
      /** Owner of the key. */
      user_id: int,
      /** The model, or the number of the channel that served. */
      part: text,
      /** 1 = the channel answered at least once. */
      answered: int.default(0),
      /** Failures of the channel since it answered last, and when they began. */
      streak: int.default(0),
      streak_at: int.default(0),
      /** Last failure, and what the upstream said of it. */
      failed_at: int.default(0),
      words: text.default(''),
      ...counters,
    },
    {
      key: ['span', 'kind', 'at', 'subject_id', 'user_id', 'part'],
      indexes: [
        "INDEX traffic_subject ON traffic (span, kind, subject_id, at) WHERE part <> ''",
        "INDEX traffic_part ON traffic (span, kind, part, at) WHERE part <> ''",
        'INDEX traffic_user ON traffic (span, kind, user_id, at) WHERE user_id <> 0',
      ],
    },
  ),

  /** Open requests long enough to survive a crash. Written by the ledger alone. */
  holds: table(
    {
      ref: text.key,
      user_id: int,
      token_id: int,
      channel_id: int,
      estimate: int.check('estimate >= 0'),
      observed: int.check('observed >= 0'),
      epoch: int,
      at: int,
      /** LogEntry as JSON. */
      log: text,
    },
    { postgres: { indexes: ['INDEX holds_epoch ON holds (epoch)'] } },
  ),

  /** Append-only. Written by the ledger alone. */
  postings: table(
    {
      id: rowid,
      ref: text.unique,
      debit: int,
      credit: int,
      amount: int.check('amount BETWEEN 1 AND 1000000000000000'),
      kind: text,
      token_id: int.default(0),
      channel_id: int.default(0),
      at: int,
    },
    {
      constraints: ['CHECK (debit <> credit)'],
      indexes: ["INDEX postings_overrun ON postings (at) WHERE kind = 'overrun'"],
    },
  ),

  /** What users' clients call themselves, their conversations and people: the log keeps numbers. Written by the ledger alone. */
  names: table(
    {
      user_id: int,
      /** `nameNumber` of user, kind and text. */
      id: int,
      kind: text,
      text,
      /** On which it was new: days since 1970, UTC. */
      day: int,
    },
    {
      key: ['user_id', 'id'],
      indexes: ['INDEX names_text ON names (kind, text)', 'INDEX names_day ON names (user_id, day)'],
    },
  ),

  /** Charged rows of the log added up by hours and days (UTC), in the transaction that writes them; they stay when rows are cleared. */
  log_sums: table(
    {
      /** Seconds: 3600 or 86400. */
      span: int,
      at: int,
      user_id: int,
      /** `ownToken` = the site's own traffic. */
      token_id: int,
      group_name: text,
      model_name: text,
      channel_id: int,
      /** Epoch of the node, whose rows no other node touches; 0 = a single machine. */
      writer: int,
      /** As the last row had them. */
      username: text,
      token_name: text,
      requests: int,
      /** Requests among them that ended without their whole answer. */
      errors: int,
      prompt_tokens: int,
      completion_tokens: int,
      cached_tokens: int,
      quota: int,
      /** Quota without the group's ratio. */
      list: real,
    },
    { key: ['span', 'at', 'user_id', 'token_id', 'group_name', 'model_name', 'channel_id', 'writer'] },
  ),

  /** The same by the names that clients give: agents and end users by hours and days, the rest by days. */
  name_sums: table(
    {
      span: int,
      kind: text,
      at: int,
      user_id: int,
      /** Id of a row of `names`. */
      name_id: int,
      writer: int,
      requests: int,
      prompt_tokens: int,
      completion_tokens: int,
      cached_tokens: int,
      quota: int,
    },
    { key: ['span', 'kind', 'at', 'user_id', 'name_id', 'writer'] },
  ),

  /** Usage and event rows; those with a request id are written by the ledger, each column from the LogEntry's field of its name. */
  logs: table(
    {
      id: rowid,
      request_id: text.nullable.unique,
      created_at: int,
      type: int,
      user_id: int,
      username: text.default(''),
      token_id: int.default(0),
      token_name: text.default(''),
      channel_id: int.default(0),
      group_name: text.default(''),
      model_name: text.default(''),
      is_stream: int.default(0),
      use_time: int.default(0),
      prompt_tokens: int.default(0),
      completion_tokens: int.default(0),
      quota: int.default(0),
      content: text.default(''),
      other: text.default(''),
      usage_source: text.default('none'),
      end_reason: text.default(''),
      /** Numbers of `names` for the same user; 0 = none. */
      agent_id: int.optional(0),
      session_id: int.optional(0),
      project_id: int.optional(0),
      end_user_id: int.optional(0),
      subagent_id: int.optional(0),
      prompt_id: int.optional(0),
    },
    {
      indexes: [
        'INDEX logs_created ON logs (created_at)',
        'INDEX logs_user ON logs (user_id, created_at)',
        'INDEX logs_token ON logs (token_name, created_at)',
        'INDEX logs_channel ON logs (channel_id, created_at)',
        'INDEX logs_model ON logs (model_name, created_at)',
        'INDEX logs_group ON logs (group_name, created_at)',
        'INDEX logs_event ON logs (type, created_at) WHERE type <> 2',
        `INDEX logs_exceptional ON logs (created_at) WHERE ${exceptionalRows('instr')}`,
        'INDEX logs_session ON logs (session_id, user_id, created_at, type, quota, prompt_tokens, completion_tokens) WHERE session_id <> 0',
      ],
      postgres: {
        months: 'created_at',
        indexes: [
          'INDEX logs_request ON logs (request_id) WHERE request_id IS NOT NULL',
          'INDEX logs_created ON logs (created_at, id)',
          // A user's rows of one model, token or type are counted without reading the rows themselves.
          'INDEX logs_user ON logs (user_id, created_at, id) INCLUDE (type, model_name, token_name)',
          'INDEX logs_token ON logs (token_name, created_at, id)',
          'INDEX logs_channel ON logs (channel_id, created_at, id)',
          'INDEX logs_model ON logs (model_name, created_at, id)',
          'INDEX logs_group ON logs (group_name, created_at, id)',
          'INDEX logs_event ON logs (type, created_at, id) WHERE type <> 2',
          `INDEX logs_exceptional ON logs (created_at, id) WHERE ${exceptionalRows('strpos')}`,
          'INDEX logs_session ON logs (session_id, user_id, created_at, id) INCLUDE (type, quota, prompt_tokens, completion_tokens) WHERE session_id <> 0',
        ],
      },
    },
  ),

  /** The change feed, written by triggers in the transaction of the change itself. */
  changes: table(
    { seq: serial, entity: text, entity_id: text },
    {
      left: 'changes for followers who run: there are none while a site is moved, and a node reads everything at its start',
      postgres: {
        columns: { xact: 'xid8 NOT NULL DEFAULT pg_current_xact_id()' },
        indexes: ['INDEX changes_xact ON changes (xact)'],
      },
    },
  ),
} as const satisfies Readonly<Record<string, Table>>;

export type Schema = { [Name in keyof typeof tables]: RowOf<(typeof tables)[Name]> };
export type UsersTable = Schema['users'];
export type TokensTable = Schema['tokens'];
export type ChannelsTable = Schema['channels'];
export type ChannelUnsupportedTable = Schema['channel_unsupported'];
export type RedemptionsTable = Schema['redemptions'];
export type TopUpsTable = Schema['top_ups'];
export type CallbacksTable = Schema['callbacks'];
export type AccessTokensTable = Schema['access_tokens'];
export type SignInsTable = Schema['sign_ins'];
export type VirtualModelsTable = Schema['virtual_models'];
export type BudgetsTable = Schema['budgets'];
export type SavedFiltersTable = Schema['saved_filters'];
export type SessionsTable = Schema['sessions'];
export type SecondFactorsTable = Schema['second_factors'];
export type RecoveryCodesTable = Schema['recovery_codes'];
export type PasskeysTable = Schema['passkeys'];
export type AuditTable = Schema['audit'];
export type PriceVersionsTable = Schema['price_versions'];
export type DrawingTasksTable = Schema['drawing_tasks'];
export type TasksTable = Schema['tasks'];
export type UsageHoursTable = Schema['usage_hours'];
export type TrafficTable = Schema['traffic'];
export type LogsTable = Schema['logs'];
export type NamesTable = Schema['names'];
