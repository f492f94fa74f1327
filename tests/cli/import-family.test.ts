/** What comes from a family database acts as it did there, and what cannot is named before anything is written. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite from 'better-sqlite3';
import { Secret, TOTP } from 'otpauth';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../db/open.ts';
import { keysIn } from '../../server/contract/channel-keys.ts';
import { createVault, loadMasterKey } from '../../server/domain/secrets/vault.ts';
import { createRunner, type Runner } from './runner.ts';

type Rows = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

let dir: string;
let runner: Runner;
let bcrypt: string;
let backup: string;
beforeAll(async () => {
  bcrypt = await Bun.password.hash('old-password', { algorithm: 'bcrypt', cost: 4 });
  backup = await Bun.password.hash('AB12-ZX90', { algorithm: 'bcrypt', cost: 4 });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-import-'));
  runner = createRunner(dir);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A SQLite file with these tables; columns are those of all rows together. */
function fileOf(tables: Rows): string {
  const file = join(dir, 'old.db');
  const raw = new BetterSqlite(file);
  for (const [table, rows] of Object.entries(tables)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    raw.exec(`CREATE TABLE ${table} (${columns.map((column) => `\`${column}\``).join(', ')})`);
    for (const row of rows)
      raw
        .prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(',')})`)
        .run(...columns.map((column) => row[column] ?? null));
  }
  raw.close();
  return file;
}

const user = (id: number, username: string, more: object = {}) => ({
  id,
  username,
  password: bcrypt,
  role: id === 1 ? 100 : 1,
  status: 1,
  quota: 1000,
  used_quota: 0,
  group: 'default',
  ...more,
});
const channel = (id: number, more: object = {}) => ({
  id,
  type: 1,
  key: `sk-canary-${id}`,
  name: `c${id}`,
  status: 1,
  models: 'm-1',
  group: 'default',
  ...more,
});
const site = (tables: Rows): Rows => ({
  users: [user(1, 'root')],
  options: [{ key: 'SystemName', value: 'Old site' }],
  ...tables,
});

interface Report {
  readonly counts: Readonly<Record<string, { readonly taken: number; readonly skipped: number }>>;
  readonly notes: readonly string[];
  readonly losses: readonly { readonly what: string; readonly rows: number; readonly quota: number }[];
  readonly prices: { readonly kept: boolean; readonly differences: readonly { readonly model: string }[] };
}
const moveIn = async (tables: Rows, from = 'new-api', ...flags: string[]): Promise<Report> =>
  runner.json(['import', from, fileOf(site(tables)), '--yes', ...flags]);

const login = async (username: string) =>
  JSON.parse(await runner.run(['api', 'POST', '/api/user/login', '-f', `username=${username}&password=old-password`]));
const secondStep = (ticket: string, code: string) =>
  runner.run(['api', 'POST', '/api/user/login/2fa', '-f', `ticket=${encodeURIComponent(ticket)}&code=${code}`]);

const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

test('an account with a second factor is never open by its password alone', async () => {
  const report = await moveIn({
    users: [user(1, 'root'), user(2, 'ann'), user(3, 'ben'), user(4, 'cat')],
    two_fas: [
      { id: 1, user_id: 2, secret, is_enabled: 1, created_at: '2026-01-02 03:04:05' },
      { id: 2, user_id: 3, secret: 'enc:v1:not-readable', is_enabled: 1 },
      { id: 3, user_id: 4, secret, is_enabled: 0 },
    ],
    two_fa_backup_codes: [
      { id: 1, user_id: 2, code_hash: backup, is_used: 0 },
      { id: 2, user_id: 2, code_hash: `${backup}x`, is_used: 1 },
    ],
  });
  expect(report.counts).toMatchObject({
    two_fas: { taken: 1, skipped: 1 },
    two_fa_backup_codes: { taken: 1, skipped: 0 },
  });
  expect(report.notes.join()).toContain('two_fas ben: its secret cannot be read');

  const { require_2fa: requested, ticket } = await login('ann');
  expect(requested).toBe(true);
  await expect(secondStep(ticket, '000000')).rejects.toMatchObject({ code: 'code_wrong' });
  const code = new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30 }).generate();
  expect(await secondStep(ticket, code)).toContain('"username": "ann"');

  const again = await login('ann');
  await expect(secondStep(again.ticket, 'AB12-ZX91')).rejects.toMatchObject({ code: 'code_wrong' });
  expect(await secondStep(again.ticket, 'ab12zx90')).toContain('"username": "ann"');
  const third = await login('ann');
  await expect(secondStep(third.ticket, 'AB12-ZX90')).rejects.toMatchObject({ code: 'code_wrong' });

  await expect(login('ben')).rejects.toMatchObject({ code: 'credentials_wrong' });
  expect(await login('cat')).toMatchObject({ username: 'cat' });
});

test('a second factor comes with its user, whatever else was asked for', async () => {
  await moveIn(
    { users: [user(1, 'root'), user(2, 'ann')], two_fas: [{ id: 1, user_id: 2, secret, is_enabled: 1 }] },
    'new-api',
    '--only',
    'users',
  );
  expect(await login('ann')).toMatchObject({ require_2fa: true });
});

test.each([
  ['one-api', ['rounds every charge up', 'itself counts', 'of February 2025'], 'reads from its cache'],
  ['new-api', ['charges at least 1', 'of August 2026'], 'no cache writes'],
])('what %s charges otherwise by its formula is named, for the models that it serves', async (from, all, ofClaude) => {
  const notes = async (models: string) => {
    rmSync(join(dir, 'data'), { recursive: true, force: true });
    rmSync(join(dir, 'old.db'), { force: true });
    return (await moveIn({ channels: [channel(1, { models })] }, from)).notes.join('\n');
  };
  const [plain, both] = [await notes('gpt-4o'), await notes('gpt-4o,claude-3-haiku-20240307')];
  for (const words of all) expect(plain).toContain(words);
  expect(plain).not.toContain(ofClaude);
  expect(both).toContain(ofClaude);
});

test('tokens that were disabled there are disabled here: by marks that time and quota no longer explain, and by none at all', async () => {
  const now = Math.floor(Date.now() / 1000);
  const token = (id: number, status: number, more: object = {}) => ({
    ...{
      id,
      user_id: 1,
      key: `key-of-token-${id}`,
      name: `t${id}`,
      status,
      expired_time: -1,
      remain_quota: 5,
      ...more,
    },
  });
  await moveIn({
    users: [user(1, 'root'), user(2, 'zero', { status: 0 })],
    channels: [channel(1), channel(2, { status: 0 }), channel(3, { auto_ban: null })],
    tokens: [
      token(1, 1),
      token(2, 3),
      token(3, 4),
      token(4, 3, { expired_time: now - 60 }),
      token(5, 4, { remain_quota: 0 }),
      token(6, 0),
    ],
    redemptions: [{ id: 1, user_id: 1, key: 'c'.repeat(32), status: 0, name: 'n', quota: 5, created_time: 1 }],
  });
  const states = async (...list: string[]) =>
    ((await runner.json([...list])) as { id: number; status: number }[]).map(({ id, status }) => [id, status]).sort();
  expect(await states('token', 'list', '--user', 'root')).toEqual([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 4],
    [6, 2],
  ]);
  expect(await states('user', 'list')).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(await states('channel', 'list')).toEqual([
    [1, 1],
    [2, 2],
    [3, 1],
  ]);
  expect(await states('redemption', 'list')).toEqual([[1, 2]]);
  expect(await runner.json(['channel', 'get', '3'])).toMatchObject({ auto_ban: 0 });
});

test('many rows with the same to be said of them are one line with their number', async () => {
  const redemptions = Array.from({ length: 500 }, (_, at) => ({
    ...{ id: at + 1, user_id: 1, key: String(at).padStart(32, '0'), status: 3, name: 'n', quota: 5 },
  }));
  const { notes, counts } = await moveIn({ redemptions }, 'one-api');
  expect(counts.redemptions).toEqual({ taken: 0, skipped: 500 });
  expect(notes.filter((note) => note.startsWith('redemptions'))).toEqual([
    `redemptions ${Array.from({ length: 20 }, (_, at) => at + 1).join(', ')} and 480 more: used; one-api does not say by whom, and what it gave is in the balances`,
  ]);
});

test('settings of later versions act under the names that they have here, and others are named with their consequence', async () => {
  const options = [
    { key: 'group_ratio_setting.group_ratio', value: '{"default":1,"gold":1.5}' },
    { key: 'GroupRatio', value: '{"default":1,"gold":3}' },
    { key: 'general_setting.quota_display_type', value: 'TOKENS' },
    { key: 'billing_setting.billing_mode', value: '{"gpt-4o":"tiered_expr"}' },
    { key: 'ModelRequestRateLimitGroup', value: '{"gold":[10,5]}' },
    { key: 'nothing.of_ours', value: '1' },
  ];
  const report = await moveIn({ options, channels: [channel(1, { models: 'gpt-4o,gpt-4o-mini' })] });
  const stored = async (key: string) => ((await runner.json(['option', 'get', key])) as { value: string }).value;
  expect(JSON.parse(await stored('GroupRatio'))).toEqual({ default: 1, gold: 1.5 });
  expect(await stored('DisplayInCurrencyEnabled')).toBe('false');
  expect(report.notes.filter((note) => note.startsWith('options '))).toEqual([
    'options billing_setting.billing_mode: models billed by an expression are billed by their ratios here: set their prices before serving',
    'options ModelRequestRateLimitGroup: limits of requests by group stay behind: set GroupLimits',
    'options nothing.of_ours: there is no such option here',
  ]);
  expect(report.prices.differences).toMatchObject([{ model: 'gpt-4o', there: null }]);
});

test('automatic groups come along: their order, whose default they are, and the keys that use them', async () => {
  const options = [
    { key: 'GroupRatio', value: '{"default":1,"gold":2}' },
    { key: 'UserUsableGroups', value: '{"default":"d","gold":"g"}' },
    { key: 'AutoGroups', value: '["gold","default"]' },
    { key: 'DefaultUseAutoGroup', value: 'true' },
  ];
  const token = { id: 1, user_id: 1, key: '1'.repeat(48), status: 1, name: 'auto', expired_time: -1, group: 'auto' };
  const report = await moveIn({
    ...{ options, users: [user(1, 'root')], tokens: [token] },
    channels: [channel(1, { models: 'gpt-4o', group: 'default,gold' })],
  });
  const stored = async (key: string) => ((await runner.json(['option', 'get', key])) as { value: string }).value;
  expect(JSON.parse(await stored('AutoGroups'))).toEqual(['gold', 'default']);
  expect(await stored('DefaultUseAutoGroup')).toBe('true');
  expect(report.notes.filter((note) => /auto/i.test(note))).toEqual([]);
  expect(await runner.json(['route', 'explain', 'gpt-4o', '--token', 'auto'])).toMatchObject({
    group: 'gold',
    groups: ['gold', 'default'],
  });
});

test('settings that are kept and do nothing here are named, unless they say what everybody has', async () => {
  const options = [
    { key: 'StreamCacheQueueLength', value: '10' },
    { key: 'FileUploadPermission', value: '0' },
    { key: 'DataExportInterval', value: '30' },
  ];
  const { notes } = await moveIn({ options });
  expect(notes.filter((note) => note.startsWith('options '))).toEqual([
    'options StreamCacheQueueLength: Kept for imported settings; this gateway does not use it.',
    'options DataExportInterval: Kept for other clients; the figures here are always current.',
  ]);
});

test('passkeys come where the site keeps its name, and are named where it does not', async () => {
  const tables: Rows = {
    users: [user(1, 'root'), user(2, 'ann')],
    options: [{ key: 'ServerAddress', value: 'https://ai.example.com' }],
    passkey_credentials: [
      {
        id: 1,
        user_id: 2,
        credential_id: Buffer.from([251, 255, 1]).toString('base64'),
        public_key: Buffer.from([250, 254, 2]).toString('base64'),
        sign_count: 7,
        transports: '["internal","hybrid"]',
      },
    ],
  };
  const report = await moveIn(tables);
  expect(report.counts.passkey_credentials).toEqual({ taken: 1, skipped: 0 });
  expect(report.notes.join()).toContain('ai.example.com');
  const database = openDatabase(join(dir, 'data', 'gateway.db'), { readonly: true });
  expect(
    database.raw.prepare('SELECT user_id, credential_id, public_key, counter, transports FROM passkeys').all(),
  ).toEqual([{ user_id: 2, credential_id: '-_8B', public_key: '-v4C', counter: 7, transports: 'internal,hybrid' }]);
  database.raw.close();

  rmSync(join(dir, 'data'), { recursive: true });
  rmSync(join(dir, 'old.db'));
  const elsewhere = await moveIn({
    ...tables,
    options: [...(tables.options ?? []), { key: 'passkey.rp_id', value: 'old.example.com' }],
  });
  expect(elsewhere.counts.passkey_credentials).toEqual({ taken: 0, skipped: 1 });
});

test('expired codes stay unusable, and others expire when they would have', async () => {
  const now = Math.floor(Date.now() / 1000);
  const code = (id: number, expired_time: number) => ({
    id,
    user_id: 1,
    key: String(id).repeat(32),
    status: 1,
    name: `n${id}`,
    quota: 12_345,
    created_time: 1_700_000_000,
    expired_time,
  });
  const report = await moveIn({ redemptions: [code(1, now - 20), code(2, now + 3600), code(3, 0)] });
  expect(report.counts.redemptions).toEqual({ taken: 3, skipped: 0 });
  expect(report.notes).toContain('redemptions 1: expired, and disabled here');
  expect(await runner.json(['redemption', 'list'])).toMatchObject([
    { id: 3, status: 1, expired_time: 0 },
    { id: 2, status: 1, expired_time: now + 3600 },
    { id: 1, status: 2, expired_time: now - 20 },
  ]);
});

test('used codes keep when they were used, also those that were deleted or have expired since; tokens when they last were', async () => {
  const code = (id: number, more: object) => ({
    ...{ id, user_id: 1, key: String(id).repeat(32), status: 3, name: `n${id}`, quota: 10, used_user_id: 1 },
    ...{ created_time: 1_700_000_000, redeemed_time: 1_700_000_500, expired_time: 0, deleted_at: null, ...more },
  });
  const report = await moveIn({
    users: [user(1, 'root', { used_quota: 500 })],
    redemptions: [
      code(1, {}),
      code(2, { deleted_at: '2024-05-06 07:08:09' }),
      code(3, { expired_time: 1_700_000_900 }),
    ],
    tokens: [
      {
        id: 7,
        user_id: 1,
        key: 'abcdefgh12345678',
        name: 't',
        status: 1,
        used_quota: 500,
        accessed_time: 1_700_000_777,
        expired_time: -1,
        remain_quota: 9,
      },
    ],
  });
  expect(report.counts.redemptions).toEqual({ taken: 3, skipped: 0 });
  expect(await runner.json(['redemption', 'list'])).toMatchObject([
    { id: 3, status: 3, redeemed_time: 1_700_000_500, used_user_id: 1 },
    { id: 1, status: 3, redeemed_time: 1_700_000_500, used_user_id: 1 },
  ]);
  expect(await runner.json(['token', 'list', '--user', 'root'])).toMatchObject([
    { id: 7, accessed_time: 1_700_000_777 },
  ]);
  expect(await runner.run(['ledger', 'verify'])).toMatch(/I7\tok\t3/);
});

test('a used code of one-api is left out with the reason', async () => {
  const code = { id: 1, user_id: 1, key: 'a'.repeat(32), status: 3, name: 'n', quota: 5, redeemed_time: 1_700_000_000 };
  const report = await moveIn({ redemptions: [code] }, 'one-api');
  expect(report.notes).toContain(
    'redemptions 1: used; one-api does not say by whom, and what it gave is in the balances',
  );
});

test('of keys and codes that are there twice, blanks aside, the first comes along and the others are named', async () => {
  const token = (id: number, key: string) => ({ id, user_id: 1, key, name: `t${id}`, status: 1, expired_time: -1 });
  const code = (id: number, key: string) => ({ id, user_id: 1, key, status: 1, name: 'n', quota: 5, created_time: 1 });
  const { counts, notes } = await moveIn({
    tokens: [token(1, 'k'.repeat(48)), token(2, ` ${'k'.repeat(48)}`), token(3, 'l'.repeat(48))],
    redemptions: [code(1, 'c'.repeat(32)), code(2, `${'c'.repeat(32)} `), code(3, 'd'.repeat(32))],
  });
  expect(counts.tokens).toEqual({ taken: 2, skipped: 1 });
  expect(counts.redemptions).toEqual({ taken: 2, skipped: 1 });
  expect(notes).toContain('tokens t2: the same as an earlier one');
  expect(notes).toContain('redemptions 2: the same as an earlier one');
});

test('keys keep their states, types their numbers, settings their meaning', async () => {
  const account = (name: string) => ({ type: 'service_account', project_id: name, private_key: 'a\nb' });
  const report = await moveIn({
    channels: [
      channel(1, {
        key: 'k1\nk2\nk3',
        channel_info: JSON.stringify({ is_multi_key: true, multi_key_mode: 'random', multi_key_status_list: { 1: 2 } }),
        setting: '{"pass_through_body_enabled":true,"proxy":"http://p:1"}',
      }),
      channel(2, {
        type: 41,
        key: JSON.stringify([account('a'), account('b')], null, 2),
        channel_info: JSON.stringify({ is_multi_key: true, multi_key_mode: 'turn', multi_key_status_list: null }),
      }),
      channel(3, {
        ...{ type: 49, name: 'coze', header_override: '{"X":"y"}', remark: 'mine' },
        param_override: '{"operations":[{"mode":"pass_headers","value":["Originator"],"keep_origin":true}]}',
      }),
      channel(4, { type: 101, name: 'strange' }),
      channel(5, { key: 'd1\nd2', channel_info: '{"is_multi_key":true,"multi_key_status_list":{"0":3,"1":2}}' }),
    ],
  });
  expect(report.losses).toMatchObject([{ what: 'channels.remark', rows: 1 }]);
  expect(report.notes).toContain('channels strange: type 101 is not served');
  const vault = createVault(loadMasterKey(join(dir, 'data', 'secret.key'), {}));
  const database = openDatabase(join(dir, 'data', 'gateway.db'), { readonly: true });
  const rows = database.raw
    .prepare<{ name: string; key_sealed: string; setting: string; status: number; type: number }>(
      'SELECT name, key_sealed, setting, status, type FROM channels ORDER BY id',
    )
    .all();
  database.raw.close();
  const found = rows.map(({ name, key_sealed, setting, status }) => ({
    name,
    keys: keysIn(vault.open('channel-key', key_sealed)).map((key) =>
      key.startsWith('{') ? (JSON.parse(key) as { project_id: string }).project_id : key,
    ),
    setting: setting === '' ? {} : JSON.parse(setting),
    status,
  }));
  expect(found).toEqual([
    {
      name: 'c1',
      keys: ['k1', 'k3'],
      setting: { key_mode: 'random', pass_through: true, proxy: 'http://p:1' },
      status: 1,
    },
    { name: 'c2', keys: ['a', 'b'], setting: { key_mode: 'turn' }, status: 1 },
    {
      ...{ name: 'coze', keys: ['sk-canary-3'], status: 1 },
      setting: { header_override: { X: 'y', originator: [{ mode: 'copy', from: 'originator' }] } },
    },
    { name: 'c5', keys: ['d1', 'd2'], setting: { key_mode: 'turn' }, status: 2 },
    {
      name: 'c1_disabled',
      keys: ['k2'],
      setting: { key_mode: 'random', pass_through: true, proxy: 'http://p:1' },
      status: 2,
    },
  ]);
  expect(rows[2]?.type).toBe(110);
});

test('groups under which requests would be refused are named', async () => {
  const token = (id: number, group: string) => ({
    id,
    user_id: 1,
    key: String(id).repeat(48),
    status: 1,
    name: `t${id}`,
    expired_time: -1,
    unlimited_quota: 1,
    group,
  });
  const report = await moveIn({
    users: [user(1, 'root'), user(2, 'ann', { group: 'gold' })],
    tokens: [token(1, 'auto'), token(2, 'auto'), token(3, 'nowhere'), token(4, '')],
    channels: [channel(1)],
  });
  expect(report.notes.filter((note) => !note.startsWith('options:'))).toEqual([
    'tokens: 1 of group nowhere, which is not usable here: they get 403 until they have another',
    'users: 1 of group gold, which no channel serves: their requests are refused',
  ]);
});

test.each([
  // 1234 and 567 tokens of gpt-4o in one-api: 2.5 × (1234 + 4 × 567).
  ['one-api', 'gpt-4o', { ModelRatio: 2.5, CompletionRatio: 4 }],
  ['new-api', 'gpt-3.5-turbo', { ModelRatio: 0.25, CompletionRatio: 2 }],
] as const)('%s: %s costs what it cost there, its built-in price', async (from, model, price) => {
  const report = await moveIn({ channels: [channel(1, { models: model })] }, from);
  expect(report.prices).toMatchObject({ kept: true, differences: [{ model }] });
  expect(await runner.json(['ratios', 'get', model])).toMatchObject(price);
});

test('with --new-prices models cost what they cost here, and the list still stands', async () => {
  const report = await moveIn({ channels: [channel(1, { models: 'gpt-4o,gpt-4o-mini' })] }, 'one-api', '--new-prices');
  expect(report.prices).toMatchObject({ kept: false, differences: [{ model: 'gpt-4o' }] });
  expect(await runner.json(['ratios', 'get', 'gpt-4o'])).toMatchObject({ ModelRatio: 1.25 });
});

test('a price that the operator of the source has set wins over the built-in one', async () => {
  const report = await moveIn(
    {
      channels: [channel(1, { models: 'gpt-4o', model_mapping: '{"gpt-4o":"x"}' })],
      options: [{ key: 'ModelRatio', value: '{"gpt-4o":3}' }],
    },
    'new-api',
  );
  expect(report.prices.differences).toEqual([]);
  expect(await runner.json(['ratios', 'get', 'gpt-4o'])).toMatchObject({ ModelRatio: 3 });
});

test('one-api charges by the name that a model is mapped to', async () => {
  await moveIn({ channels: [channel(1, { models: 'cheap', model_mapping: '{"cheap":"gpt-4o"}' })] }, 'one-api');
  expect(await runner.json(['ratios', 'get', 'cheap'])).toMatchObject({ ModelRatio: 2.5, CompletionRatio: 4 });
});

test('what is lost is counted, with the quota that goes with it', async () => {
  const report = await moveIn({
    user_subscriptions: [
      { id: 1, user_id: 1, amount_total: 50_000_000, amount_used: 1000, status: 'active', end_time: 4_000_000_000 },
    ],
    user_oauth_bindings: [{ id: 1, user_id: 1, provider_id: 1, provider_user_id: 'x' }],
    checkins: [{ id: 1, user_id: 1 }],
    surprises: [{ id: 1 }],
  });
  expect(report.losses.map(({ what, rows, quota }) => [what, rows, quota])).toEqual([
    ['user_subscriptions', 1, 49_999_000],
    ['user_oauth_bindings', 1, 0],
    ['checkins', 1, 0],
    ['surprises', 1, 0],
  ]);
});

test('a group that came with a plan ends with it, and those whose earlier group is unknown are named', async () => {
  const plan = (id: number, user_id: number, upgrade_group: string, prev_user_group: string, status = 'active') => ({
    ...{ id, user_id, upgrade_group, prev_user_group, status, end_time: 4_000_000_000, amount_total: 0 },
  });
  const report = await moveIn({
    users: [
      user(1, 'root'),
      user(2, 'ann', { group: 'vip' }),
      user(3, 'bob', { group: 'svip' }),
      user(4, 'cid', { group: 'vip' }),
      user(5, 'dan', { group: 'vip' }),
      user(6, 'eve', { group: 'vip' }),
      user(7, 'fay', { group: 'vip' }),
    ],
    user_subscriptions: [
      plan(1, 2, 'vip', 'default'),
      // One after the other.
      plan(2, 3, 'vip', 'default'),
      plan(3, 3, 'svip', 'vip'),
      // Renewed: only the first says what was before.
      plan(4, 4, 'vip', 'default', 'expired'),
      plan(5, 4, 'vip', ''),
      // What ended has been taken back there: this is an administrator's choice.
      plan(6, 5, 'vip', 'default', 'expired'),
      plan(7, 6, 'svip', 'default'),
      plan(8, 7, 'vip', ''),
    ],
  });
  const users = (await runner.json(['user', 'list'])) as { username: string; group: string }[];
  expect(Object.fromEntries(users.map(({ username, group }) => [username, group]))).toEqual({
    ...{ root: 'default', ann: 'default', bob: 'default', cid: 'default', dan: 'vip', eve: 'vip', fay: 'vip' },
  });
  const back = (name: string, group: string) =>
    `users ${name}: the group ${group} came with a plan, and plans end here: back to default`;
  expect(report.notes.filter((note) => note.includes('plan'))).toEqual([
    ...[back('ann', 'vip'), back('cid', 'vip'), back('bob', 'svip')],
    expect.stringContaining('users fay: the group vip came with a plan that ends here, and the source does not say'),
  ]);
});

test('users with notices by an unknown way get them by mail, and can save settings; secrets of webhooks are sealed', async () => {
  const setting = (value: object) => ({ setting: JSON.stringify(value) });
  const report = await moveIn({
    users: [
      user(1, 'root'),
      user(2, 'bark', setting({ notify_type: 'bark', bark_url: 'https://b.example' })),
      user(3, 'plain', setting({ notify_type: 'webhook', webhook_url: 'http://h.example' })),
      user(4, 'none', setting({ notify_type: 'webhook' })),
      user(5, 'empty', setting({ notify_type: '', language: 'en' })),
      user(
        6,
        'hook',
        setting({ notify_type: 'webhook', webhook_url: 'https://h.example', webhook_secret: 'canary-hook' }),
      ),
      user(7, 'mail', setting({ notify_type: 'email' })),
    ],
  });
  const raw = new BetterSqlite(join(dir, 'data', 'gateway.db'));
  const rows = raw.prepare('SELECT username, setting FROM users').all() as { username: string; setting: string }[];
  expect(raw.prepare('SELECT user_id FROM webhook_secrets').all()).toEqual([{ user_id: 6 }]);
  raw.close();
  // Before any server has started on it.
  expect(JSON.stringify(rows)).not.toContain('canary-hook');
  const types = rows.map((row) => [row.username, JSON.parse(row.setting || '{}').notify_type]);
  expect(Object.fromEntries(types)).toEqual({
    ...{
      root: undefined,
      bark: 'email',
      plain: 'email',
      none: 'email',
      empty: 'email',
      hook: 'webhook',
      mail: 'email',
    },
  });
  expect(report.notes.filter((note) => note.includes('by mail')).map((note) => note.split(':')[0])).toEqual([
    ...['users bark', 'users plain', 'users none', 'users empty'],
  ]);
});

test('a user without a password at the source is not taken for one who has one', async () => {
  await moveIn({ users: [user(1, 'root'), user(2, 'code', { password: '' }), user(3, 'pass')] });
  const raw = new BetterSqlite(join(dir, 'data', 'gateway.db'));
  const rows = raw.prepare('SELECT username, password_made FROM users ORDER BY id').all();
  raw.close();
  expect(rows).toEqual([
    { username: 'root', password_made: 0 },
    { username: 'code', password_made: 1 },
    { username: 'pass', password_made: 0 },
  ]);
});

test('an import writes nothing before its plan is confirmed', async () => {
  const file = fileOf(site({ checkins: [{ id: 1, user_id: 1 }] }));
  await expect(runner.run(['import', 'new-api', file])).rejects.toMatchObject({ code: 'input_needed' });
  expect(await runner.json(['user', 'list'])).toEqual([]);
});

test('the report speaks the language of its reader', async () => {
  const chinese = createRunner(dir, {}, [], 'zh');
  const file = fileOf(site({ checkins: [{ id: 1, user_id: 1 }], channels: [channel(1, { type: 50 })] }));
  const text = await chinese.run(['import', 'new-api', file, '--dry-run']);
  expect(text).toContain('checkins（1 行）：此处没有签到');
  expect(text).toContain('channels c1: 不支持类型 50');
});
