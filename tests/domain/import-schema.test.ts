/** Every column of the family's tables acts after a move, or its loss is named. */
import { describe, expect, test } from 'vitest';
import type { SourceRow } from '../../db/import-source.ts';
import { withHeaderRules } from '../../server/domain/import/header-operations.ts';
import { familyTables, losses } from '../../server/domain/import/schema.ts';

type Schema = Readonly<Record<string, string>>;

/** Columns as the products' own migrations make them. */
const oneApi: Schema = {
  users:
    'id username password display_name role status email github_id wechat_id lark_id oidc_id access_token quota used_quota request_count group aff_code inviter_id',
  tokens:
    'id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota used_quota models subnet',
  channels:
    'id type key status name weight created_time test_time response_time base_url other balance balance_updated_time models group used_quota model_mapping priority config system_prompt',
  redemptions: 'id user_id key status name quota created_time redeemed_time',
  options: 'key value',
  abilities: 'group model channel_id enabled priority',
  logs: 'id user_id created_at type content username token_name model_name quota prompt_tokens completion_tokens channel_id request_id elapsed_time is_stream system_prompt_reset',
};

const newApi2025: Schema = {
  users:
    'id username password display_name role status email github_id oidc_id wechat_id telegram_id access_token quota used_quota request_count group aff_code aff_count aff_quota aff_history inviter_id deleted_at linux_do_id setting',
  tokens:
    'id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota model_limits_enabled model_limits allow_ips used_quota group deleted_at',
  channels:
    'id type key open_ai_organization test_model status name weight created_time test_time response_time base_url other balance balance_updated_time models group used_quota model_mapping status_code_mapping priority auto_ban other_info tag setting param_override max_input_tokens',
  redemptions: 'id user_id key status name quota created_time redeemed_time used_user_id deleted_at expired_time',
  options: 'key value',
  abilities: 'group model channel_id enabled priority weight tag',
  logs: 'id user_id created_at type content username token_name model_name quota prompt_tokens completion_tokens use_time is_stream channel_id channel_name token_id group other',
  midjourneys:
    'id code user_id action mj_id prompt prompt_en description state submit_time start_time finish_time image_url status progress fail_reason channel_id quota buttons properties',
  top_ups: 'id user_id amount money trade_no create_time status',
  quota_data: 'id user_id username model_name created_at token_used count quota',
  tasks:
    'id created_at updated_at task_id platform user_id channel_id quota action status fail_reason submit_time start_time finish_time progress properties data',
  setups: 'id version initialized_at',
};

const newApiApril2026: Schema = {
  ...newApi2025,
  users: `${newApi2025.users} discord_id remark stripe_customer created_at last_login_at`,
  tokens: `${newApi2025.tokens} cross_group_retry`,
  channels: `${newApi2025.channels} header_override remark channel_info settings`,
  logs: `${newApi2025.logs} ip request_id`,
  top_ups: 'id user_id amount money trade_no payment_method create_time complete_time status',
  two_fas: 'id user_id secret is_enabled failed_attempts locked_until last_used_at created_at updated_at deleted_at',
  two_fa_backup_codes: 'id user_id code_hash is_used used_at created_at deleted_at',
  passkey_credentials:
    'id user_id credential_id public_key attestation_type aaguid sign_count clone_warning user_present user_verified backup_eligible backup_state transports attachment last_used_at created_at updated_at deleted_at',
  checkins: 'id user_id checkin_date quota_awarded created_at',
  subscription_plans: 'id title price_amount currency duration_unit duration_value enabled total_amount',
  subscription_orders: 'id user_id plan_id money trade_no payment_method status create_time complete_time',
  user_subscriptions: 'id user_id plan_id amount_total amount_used start_time end_time status source created_at',
  subscription_pre_consume_records: 'id request_id user_id user_subscription_id pre_consumed status created_at',
  custom_oauth_providers: 'id name slug client_id client_secret authorization_endpoint',
  user_oauth_bindings: 'id user_id provider_id provider_user_id created_at',
  models: 'id model_name description vendor_id',
  vendors: 'id name icon',
  prefill_groups: 'id name type items',
};

const newApiAugust2026: Schema = {
  ...newApiApril2026,
  users: `${newApiApril2026.users} auth_version`,
  logs: `${newApiApril2026.logs} upstream_request_id`,
  user_sessions: 'sid user_id version status refresh_hash login_method expires_at',
  auth_flows: 'id kind payload expires_at',
  external_identity_claims: 'id provider subject user_id created_at',
  perf_metrics: 'id model_name latency created_at',
  system_instances: 'id name',
  system_tasks: 'id name',
  system_task_locks: 'id name',
  casbin_rule: 'id ptype v0 v1 v2',
  authz_roles: 'id name',
};

const versions = { oneApi, newApi2025, newApiApril2026, newApiAugust2026 };

const sourceOf = (tables: Readonly<Record<string, readonly SourceRow[]>>) => ({
  tables: () => Object.keys(tables),
  rows: (table: string) => tables[table] ?? [],
});

/** A row with something in every column. */
const filled = (columns: string): SourceRow =>
  Object.fromEntries(columns.split(' ').map((column) => [column, `x-${column}`]));

describe.each(Object.entries(versions))('%s', (_version, schema) => {
  test.each(Object.entries(schema))('%s: each column imported, or is named by its count', (table, columns) => {
    const row = familyTables.find((one) => one.table === table);
    expect(row, `${table} is known`).toBeDefined();
    const found = losses(sourceOf({ [table]: [filled(columns), filled(columns)] }), 1);
    expect(found.filter(({ en }) => en.startsWith('unknown'))).toEqual([]);
    if (row === undefined || 'derived' in row) return expect(found).toEqual([]);
    if ('left' in row) return expect(found).toMatchObject([{ what: table, rows: 2 }]);
    const imported = new Set([...row.imported.split(' '), ...Object.keys(row.members ?? {})]);
    const lost = columns.split(' ').filter((column) => !imported.has(column));
    expect(found.map(({ what, rows }) => [what, rows]).sort()).toEqual(
      lost.map((column) => [`${table}.${column}`, 2]).sort(),
    );
    for (const { zh, en } of found) expect([zh, en].every((text) => text.length > 3)).toBe(true);
  });
});

test('an empty table is not named', () => {
  const row = {
    discord_id: '',
    remark: null,
    stripe_customer: undefined,
    last_login_at: 0,
    aff_history: '0',
    setting: '{"gotify_priority":0,"record_ip_log":false,"sidebar_modules":""}',
  };
  expect(losses(sourceOf({ users: [row], channels: [{ settings: '{}', header_override: 'null' }] }), 1)).toEqual([]);
});

test('unknown columns and tables are named by the rows that have something in them', () => {
  const found = losses(
    sourceOf({
      users: [
        { id: 1, wallet_v9: 5 },
        { id: 2, wallet_v9: 0 },
      ],
      wallets: [{ id: 1 }, { id: 2 }],
    }),
    1,
  );
  expect(found).toMatchObject([
    { what: 'users.wallet_v9', rows: 1, en: expect.stringContaining('unknown column') },
    { what: 'wallets', rows: 2, en: expect.stringContaining('unknown table') },
  ]);
});

test('members of JSON columns are named one by one', () => {
  const channel = {
    setting: '{"system_prompt":"be kind","proxy":"http://p","brand_new":1}',
    param_override: '{"operations":[{"mode":"delete","path":"seed"},{"mode":"new"}],"temperature":0}',
    settings: '{"azure_responses_version":"preview","vertex_key_type":"json"}',
    config:
      '{"region":"us","sk":"s","ak":"a","user_id":"u","api_version":"v","library_id":"l","plugin":"p","vertex_ai_project_id":"p","vertex_ai_adc":"{}","strange":"x"}',
  };
  const found = losses(sourceOf({ channels: [channel] }), 1);
  expect(found.map(({ what }) => what).sort()).toEqual([
    'channels.config.strange',
    'channels.config.user_id',
    'channels.config.vertex_ai_project_id',
    'channels.param_override.operations',
    'channels.setting.brand_new',
    'channels.settings.azure_responses_version',
  ]);
});

test('rules and headers that act here are no loss, others are named', () => {
  const param_override = '{"operations":[{"mode":"delete","path":"seed"}],"temperature":0}';
  const header_override = '{"X-A":"{api_key}","re:^x-":""}';
  expect(losses(sourceOf({ channels: [{ param_override, header_override }] }), 1)).toEqual([]);
  expect(losses(sourceOf({ channels: [{ header_override: '{"Host":"a"}' }] }), 1)).toMatchObject([
    { what: 'channels.header_override', rows: 1 },
  ]);
});

const passes = { mode: 'pass_headers', value: ['Originator', 'Session_id'], keep_origin: true };
const gold = { conditions: [{ path: 'metadata.tier', mode: 'full', value: 'gold' }], logic: 'AND' };
const setting = (name: string, more: object = {}) => ({ mode: 'set_header', path: name, value: 'v', ...more });
test.each<[string, readonly object[], object, object, object]>([
  [
    'pass',
    [passes],
    {},
    {},
    { originator: [{ mode: 'copy', from: 'originator' }], session_id: [{ mode: 'copy', from: 'session_id' }] },
  ],
  [
    'are set under conditions, behind those of the channel and after rules on the body',
    [{ mode: 'delete', path: 'seed' }, setting('X-A', gold), setting('X-A', { value: 7 }), setting('x-empty')],
    { 'x-a': 'own', 'X-B': '{api_key}', 're:^x-': '', 'X-Empty': '' },
    { operations: [{ mode: 'delete', path: 'seed' }] },
    {
      ...{ 'X-B': '{api_key}', 're:^x-': '' },
      'x-a': [
        { mode: 'set', value: 'own' },
        { mode: 'set', value: 'v', ...gold },
        { mode: 'set', value: '7' },
      ],
      'x-empty': [{ mode: 'set', value: 'v' }],
    },
  ],
  [
    'are copied and moved, and what none set is removed',
    [
      { mode: 'copy_header', from: 'X-One', to: 'X-Two' },
      { mode: 'move_header', from: 'X-Three', to: 'X-Four', ...gold },
      { mode: 'delete_header', path: 'X-None' },
      setting('X-Five', { value: '{client_header:X-Six}' }),
    ],
    {},
    {},
    {
      'x-two': [{ mode: 'copy', from: 'x-one' }],
      'x-four': [{ mode: 'copy', from: 'x-three', ...gold }],
      'x-five': [{ mode: 'copy', from: 'X-Six' }],
    },
  ],
])('operations by which headers %s become rules for headers', (_what, operations, header_override, body, headers) => {
  const row = { param_override: JSON.stringify({ operations }), header_override: JSON.stringify(header_override) };
  const moved = withHeaderRules(row);
  expect(JSON.parse(String(moved.param_override) || '{}')).toEqual(body);
  expect(JSON.parse(String(moved.header_override))).toEqual(headers);
  expect(losses(sourceOf({ channels: [row] }), 1)).toEqual([]);
});

test.each<[string, readonly object[], object?]>([
  ['keeps what the channel set', [setting('X-A', { keep_origin: true })], { 'X-A': 'own' }],
  ['keeps what another set', [setting('X-A'), setting('x-a', { keep_origin: true })]],
  ['copies what the channel set', [{ mode: 'copy_header', from: 'X-A', to: 'X-B' }], { 'x-a': 'own' }],
  ['takes away what another set', [setting('X-A'), { mode: 'delete_header', path: 'X-A' }]],
  ['has a condition on a body that changes later', [setting('X-A', gold), { mode: 'delete', path: 'metadata' }]],
  ['has a condition that nobody reads here', [setting('X-A', { conditions: { is_retry: true } })]],
  ['sets words of a list', [setting('anthropic-beta', { value: { a: null } })]],
  ['sets a header of the connection', [setting('Host')]],
  ["passes the client's credential", [{ mode: 'pass_headers', value: 'Authorization' }]],
  ['stands beside a rule that cannot be read', [setting('X-A'), { mode: 'new' }]],
  ['has no name', [setting(' ')]],
])('an operation on a header that %s stays as it is, and is named', (_what, operations, header_override = {}) => {
  const row = { param_override: JSON.stringify({ operations }), header_override: JSON.stringify(header_override) };
  expect(withHeaderRules(row)).toBe(row);
  expect(losses(sourceOf({ channels: [row] }), 1)).toMatchObject([{ what: 'channels.param_override.operations' }]);
});

test('operations of a channel that passed bodies through changed no header, and are imported as they are', () => {
  const row = {
    param_override: JSON.stringify({ operations: [passes] }),
    setting: '{"pass_through_body_enabled":true}',
  };
  expect(withHeaderRules(row)).toBe(row);
});

test('the account of a channel of Cloudflare comes along, the fixed user of one of Coze is named', () => {
  const config = '{"user_id":"u"}';
  const found = losses(
    sourceOf({
      channels: [
        { type: 37, config },
        { type: 34, config },
      ],
    }),
    1,
  );
  expect(found).toMatchObject([{ what: 'channels.config.user_id', rows: 1 }]);
});

test('remaining days of bought plans are summed up', () => {
  const plan = { user_id: 2, amount_total: 50_000_000, amount_used: 1000, status: 'active', end_time: 2000 };
  const [found] = losses(sourceOf({ user_subscriptions: [plan, { ...plan, end_time: 500 }] }), 1000);
  expect(found).toMatchObject({ rows: 2, quota: 49_999_000 });
});
