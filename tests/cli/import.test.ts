import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { writeContexts } from '../../cli/contexts.ts';
import { openDatabase } from '../../db/open.ts';
import { readDump } from '../../db/sql-rows.ts';
import { sharesOf } from '../../server/domain/import/money.ts';
import { createVault, loadMasterKey } from '../../server/domain/secrets/vault.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
let bcrypt: string;
beforeAll(async () => {
  bcrypt = await Bun.password.hash('old-password', { algorithm: 'bcrypt', cost: 4 });
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-import-'));
  runner = createRunner(dir, { OPENAI_KEY: 'sk-canary-litellm' });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const tokenKey = 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v2W3x4';
const codeKey = '0123456789abcdef0123456789abcdef';
const usedCode = 'fedcba9876543210fedcba9876543210';

type Table = readonly [columns: string, rows: readonly (readonly unknown[])[]];
type Tables = Readonly<Record<string, Table>>;

const newApi = (): Tables => ({
  users: [
    'id integer primary key, username text, password text, display_name text, role integer, status integer, email text, access_token text, quota integer, used_quota integer, request_count integer, `group` text, aff_code text, aff_quota integer, aff_history integer, deleted_at datetime, setting text',
    [
      [1, 'root', bcrypt, 'Root', 100, 1, '', 'a'.repeat(32), 900_000, 100_000, 12, 'default', null, 0, 0, null, ''],
      [2, 'ann', bcrypt, "Ann's\nname", 1, 1, 'a@b.c', null, 5000, 3000, 7, 'vip', 'x1y2', 40, 90, null, '{"a":1}'],
      [3, 'gone', bcrypt, '', 1, 1, '', null, -20, 0, 0, 'default', null, -30, 0, '2025-01-02 03:04:05', ''],
    ],
  ],
  tokens: [
    'id integer primary key, user_id integer, key text, status integer, name text, created_time integer, accessed_time integer, expired_time integer, remain_quota integer, unlimited_quota numeric, model_limits_enabled numeric, model_limits text, allow_ips text, used_quota integer, `group` text, deleted_at datetime',
    [
      [4, 2, tokenKey, 1, 'laptop', 1700000000, 0, -1, 700, 0, 1, 'm-1, m-2,', '10.0.0.1', 2500, 'vip', null],
      [5, 9, 'B'.repeat(48), 1, 'orphan', 1700000000, 0, -1, 0, 1, 0, '', null, 0, '', null],
    ],
  ],
  channels: [
    'id integer primary key, type integer, key text, name text, status integer, weight integer, priority integer, created_time integer, base_url text, other text, models text, `group` text, used_quota integer, model_mapping text, tag text',
    [
      [
        6,
        1,
        'sk-canary-upstream',
        'main',
        1,
        2,
        10,
        1700000000,
        'https://up.example/',
        '',
        'm-1,m-2,',
        'default, vip',
        60_000,
        '{"m-1":"x"}',
        't',
      ],
      [7, 9999, 'k', 'strange', 1, 0, 0, 0, '', '', 'm', 'default', 5, 'not json', ''],
    ],
  ],
  redemptions: [
    'id integer primary key, user_id integer, key text, status integer, name text, quota integer, created_time integer, redeemed_time integer, used_user_id integer, deleted_at datetime',
    [
      [1, 1, codeKey, 1, 'open', 500, 1700000000, 0, 0, null],
      [2, 1, usedCode, 3, 'used', 1000, 1700000000, 1700000001, 2, null],
    ],
  ],
  options: [
    'key text primary key, value text',
    [
      ['SystemName', 'Old site'],
      ['QuotaForNewUser', '7'],
      ['Nonsense', '1'],
    ],
  ],
  logs: [
    'id integer primary key, user_id integer, created_at integer, type integer, content text, username text, token_name text, model_name text, quota integer, prompt_tokens integer, completion_tokens integer, use_time integer, is_stream numeric, channel_id integer, token_id integer, `group` text, other text',
    [[1, 2, 1700000000, 2, 'c', 'ann', 'laptop', 'm-1', 3000, 10, 20, 3, 1, 6, 4, 'vip', '{"model_ratio":1}']],
  ],
  top_ups: ['id integer primary key, user_id integer, amount integer', [[1, 2, 3]]],
});

const serviceAccount = '{"project_id":"p","client_email":"e","private_key":"canary-private"}';
const vertexConfig = JSON.stringify({
  region: 'us-central1',
  vertex_ai_project_id: 'p',
  vertex_ai_adc: serviceAccount,
  user_id: 7,
});

/** The ancestor has no limits flag, a subnet, a config and its own type numbers. */
const oneApi = (): Tables => ({
  users: newApi().users as Table,
  tokens: [
    'id integer primary key, user_id integer, key text, status integer, name text, remain_quota bigint, unlimited_quota numeric, used_quota bigint, expired_time bigint, models text, subnet text',
    [[4, 2, tokenKey, 1, 'laptop', 700, 0, 2500, -1, 'm-1,m-2', '10.0.0.0/8']],
  ],
  channels: [
    'id integer primary key, type integer, key text, name text, status integer, models text, `group` text, used_quota bigint, config text',
    [
      [6, 36, 'sk-canary-upstream', 'deep', 1, 'm-1', 'default', 60_000, '{"api_version":"v1"}'],
      [7, 37, 'sk-canary-cloud', 'cloud', 1, 'm-2', 'default', 0, '{"user_id":"account-1"}'],
      [8, 33, '', 'aws', 1, 'm-3', 'default', 0, '{"ak":"AK","sk":"canary-SK","region":"us-east-1"}'],
      [9, 42, 'old|p|{}', 'vertex', 1, 'm-4', 'default', 0, vertexConfig],
    ],
  ],
  logs: [
    'id integer primary key, user_id integer, created_at integer, type integer, content text, quota integer, elapsed_time bigint',
    [[1, 2, 1700000000, 5, 'test', 0, 1500]],
  ],
});

const names = (columns: string): string[] => columns.split(', ').map((column) => column.split(' ')[0] ?? '');

function sqliteFile(tables: Tables): string {
  const file = join(dir, 'old.db');
  const raw = new BetterSqlite(file);
  for (const [table, [columns, rows]] of Object.entries(tables)) {
    raw.exec(`CREATE TABLE ${table} (${columns})`);
    for (const row of rows) raw.prepare(`INSERT INTO ${table} VALUES (${row.map(() => '?').join(',')})`).run(...row);
  }
  raw.close();
  return file;
}

function mysqlFile(tables: Tables): string {
  const value = (one: unknown): string =>
    one === null
      ? 'NULL'
      : typeof one === 'number'
        ? String(one)
        : `'${String(one).replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
  const text = Object.entries(tables).map(([table, [columns, rows]]) => {
    const list = names(columns).map((name) => `  \`${name.replaceAll('`', '')}\` longtext DEFAULT NULL`);
    const tuples = rows.map((row) => `(${row.map(value).join(',')})`);
    return `DROP TABLE IF EXISTS \`${table}\`;\nCREATE TABLE \`${table}\` (\n${list.join(',\n')},\n  PRIMARY KEY (\`id\`)\n) ENGINE=InnoDB;\nINSERT INTO \`${table}\` VALUES ${tuples.join(',')};\n`;
  });
  const file = join(dir, 'mysql.sql');
  writeFileSync(file, text.join('\n'));
  return file;
}

function postgresFile(tables: Tables): string {
  const value = (one: unknown): string =>
    one === null ? '\\N' : String(one).replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n');
  const text = Object.entries(tables).map(([table, [columns, rows]]) => {
    const list = names(columns).map((name) => `"${name.replaceAll('`', '')}"`);
    return `COPY public.${table} (${list.join(', ')}) FROM stdin;\n${rows.map((row) => `${row.map(value).join('\t')}\n`).join('')}\\.\n`;
  });
  const file = join(dir, 'postgres.sql');
  writeFileSync(file, text.join('\n\n'));
  return file;
}

const report = {
  counts: {
    users: { taken: 3, skipped: 0 },
    tokens: { taken: 1, skipped: 1 },
    channels: { taken: 1, skipped: 1 },
    redemptions: { taken: 2, skipped: 0 },
    options: { taken: 2, skipped: 1 },
    logs: { taken: 1, skipped: 0 },
  },
  quota: { source: 1_008_040, imported: 1_008_040 },
};

test.each([
  ['a SQLite file', sqliteFile],
  ['a MySQL dump', mysqlFile],
  ['a PostgreSQL dump', postgresFile],
])('new-api from %s: keys, passwords, quota, channels, codes, options and logs', async (_name, write) => {
  const file = write(newApi());
  expect(await runner.json(['import', 'new-api', file, '--dry-run'])).toMatchObject({ dry_run: true, ...report });
  expect(await runner.json(['user', 'list'])).toEqual([]);
  const said = await runner.json(['import', 'new-api', file, '--yes']);
  expect(said).toMatchObject(report);
  expect(JSON.stringify(said)).not.toContain('canary');
  expect(await runner.run(['token', 'show-key', '4', '-q'])).toBe(`sk-${tokenKey}`);
  expect(await runner.json(['token', 'get', 'laptop', '--user', 'ann'])).toMatchObject({
    id: 4,
    user_id: 2,
    remain_quota: 700,
    used_quota: 2500,
    model_limits: 'm-1,m-2',
    allow_ips: '10.0.0.1',
  });
  expect(await runner.json(['user', 'get', '2'])).toMatchObject({
    username: 'ann',
    display_name: "Ann's\nname",
    quota: 5040,
    used_quota: 3000,
    request_count: 7,
    group: 'vip',
  });
  expect(await runner.json(['channel', 'get', 'main'])).toMatchObject({
    base_url: 'https://up.example',
    models: 'm-1,m-2',
    group: 'default,vip',
    used_quota: 60_000,
    priority: 10,
    tag: 't',
  });
  expect(await runner.run(['option', 'get', 'SystemName'])).toBe('Old site');
  expect(await runner.run(['redemption', 'get', '1', '-q'])).toBe(codeKey);
  expect(await runner.json(['redemption', 'get', '2'])).toMatchObject({ status: 3, used_user_id: 2 });
  expect(await runner.json(['logs', 'list'])).toMatchObject([{ model_name: 'm-1', quota: 3000, token_id: 4 }]);
  const state = (await runner.json(['ledger', 'verify'])) as { violations: number }[];
  expect(state.every((book) => book.violations === 0)).toBe(true);
  expect(await runner.json(['setup'])).toMatchObject({ result: 'unchanged' });
  await expect(runner.run(['import', 'new-api', file, '--yes'])).rejects.toMatchObject({ code: 'import_not_empty' });
});

test('only what was asked for is taken', async () => {
  const file = sqliteFile(newApi());
  expect(await runner.json(['import', 'new-api', file, '--only', 'users,channels', '--yes'])).toMatchObject({
    counts: { users: { taken: 3 }, channels: { taken: 1 } },
    quota: report.quota,
  });
  expect(await runner.json(['token', 'list'])).toEqual([]);
  expect(await runner.json(['logs', 'list'])).toEqual([]);
  expect(await runner.run(['option', 'get', 'SystemName'])).toBe('New API');
  await expect(runner.run(['import', 'new-api', file, '--only', 'cats', '--yes'])).rejects.toMatchObject({
    code: 'usage',
  });
});

test('an old password logs in and its hash is of the new kind afterwards', async () => {
  await runner.run(['import', 'new-api', sqliteFile(newApi()), '--yes']);
  const hash = () => {
    const database = openDatabase(join(dir, 'data', 'gateway.db'), { readonly: true });
    const found = database.raw.prepare<string>("SELECT password_hash FROM users WHERE username = 'ann'").pluck().get();
    database.raw.close();
    return found ?? '';
  };
  expect(hash()).toBe(bcrypt);
  const login = (password: string) =>
    runner.run(['api', 'POST', '/api/user/login', '-f', `username=ann&password=${password}`]);
  await expect(login('wrong-password')).rejects.toMatchObject({ code: 'credentials_wrong' });
  expect(await login('old-password')).toContain('"username": "ann"');
  expect(hash()).toMatch(/^\$argon2id\$/);
  expect(await login('old-password')).toContain('"username": "ann"');
});

const keyOf = async (name: string): Promise<string> => {
  const { id } = (await runner.json(['channel', 'get', name])) as { id: number };
  const data = join(dir, 'data');
  const database = openDatabase(join(data, 'gateway.db'), { readonly: true });
  const sealed = database.raw.prepare<string>('SELECT key_sealed FROM channels WHERE id = ?').pluck().get(id);
  database.raw.close();
  return createVault(loadMasterKey(join(data, 'secret.key'), {})).open('channel-key', sealed ?? '');
};

test('one-api: its own type numbers, subnets, configs and log types', async () => {
  expect(await runner.json(['import', 'one-api', sqliteFile(oneApi()), '--yes'])).toMatchObject({
    quota: report.quota,
  });
  const types = (await runner.json(['api', '/api/channel/types'])) as { type: number; slug: string }[];
  expect(await runner.json(['channel', 'get', 'deep'])).toMatchObject({
    type: types.find((one) => one.slug === 'deepseek')?.type,
    other: 'v1',
  });
  expect(await runner.json(['channel', 'get', 'cloud'])).toMatchObject({ other: 'account-1' });
  expect(await runner.json(['channel', 'get', 'vertex'])).toMatchObject({ other: 'us-central1' });
  expect(await keyOf('aws')).toBe('AK|canary-SK|us-east-1');
  expect(await keyOf('vertex')).toBe(serviceAccount);
  expect(await runner.json(['token', 'get', 'laptop', '--user', 'ann'])).toMatchObject({
    model_limits_enabled: true,
    model_limits: 'm-1,m-2',
    allow_ips: '10.0.0.0/8',
  });
  expect(await runner.json(['logs', 'list'])).toMatchObject([{ type: 4, use_time: 2 }]);
});

test.each([
  ['without a list of models', 'general_settings: {store_model_in_db: true}\n'],
  ['whose list is none', 'model_list: {model_name: a}\n'],
  ['that is empty', ''],
])('a LiteLLM file %s says what it lacks, and where else models may be', async (_name, text) => {
  const file = join(dir, 'config.yaml');
  writeFileSync(file, text);
  await expect(runner.run(['import', 'litellm', file, '--yes'])).rejects.toThrow(
    'The import failed: the file has no model_list; models in the database of LiteLLM',
  );
});

test('LiteLLM: one channel per provider and key, names mapped, prices as ratios', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(
    file,
    `model_list:
  - model_name: fast
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/OPENAI_KEY}
    model_info: {input_cost_per_token: 0.000002, output_cost_per_token: 0.000008}
  - model_name: gpt-4o
    litellm_params: {model: gpt-4o, api_key: os.environ/OPENAI_KEY}
  - model_name: lost
    litellm_params: {model: openai/x, api_key: os.environ/NOT_SET}
  - model_name: strange
    litellm_params: {model: nobody/x, api_key: os.environ/OPENAI_KEY}
  - litellm_params: {model: openai/nameless, api_key: os.environ/OPENAI_KEY}
`,
  );
  expect(await runner.json(['import', 'litellm', file, '--yes'])).toMatchObject({
    counts: { models: { taken: 2, skipped: 3 }, channels: { taken: 1, skipped: 0 } },
    notes: [
      'models lost: its key is not known: set NOT_SET',
      'models strange: nobody is not served',
      'models openai/nameless: it has no name',
    ],
  });
  expect(await runner.json(['channel', 'list'])).toMatchObject([
    { name: 'openai', models: 'fast,gpt-4o', model_mapping: '{"fast":"gpt-4o-mini"}' },
  ]);
  expect(await runner.json(['ratios', 'get', 'fast'])).toMatchObject({ ModelRatio: 1, CompletionRatio: 4 });
  expect(readFileSync(join(dir, 'data', 'gateway.db')).includes('canary')).toBe(false);
});

test('LiteLLM: a row has the key and address of the credential that it names, and its own first', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(
    file,
    `model_list:
  - {model_name: a, litellm_params: {model: deepseek/deepseek-chat, litellm_credential_name: mine}}
  - {model_name: b, litellm_params: {model: openai/gpt-4o, litellm_credential_name: mine, api_key: sk-own}}
  - {model_name: c, litellm_params: {model: openai/gpt-4o, litellm_credential_name: lost}}
credential_list:
  - {credential_name: mine, credential_values: {api_key: os.environ/OPENAI_KEY}}
`,
  );
  expect(await runner.json(['import', 'litellm', file, '--yes'])).toMatchObject({
    counts: { models: { taken: 2, skipped: 1 }, channels: { taken: 2, skipped: 0 } },
    notes: expect.arrayContaining(['models c: its credential lost is not in the file (credential_list)']),
    losses: [],
  });
});

test('LiteLLM: servers without keys, AWS keys, aliases, weights, mapped prices; the rest is named', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(
    file,
    `model_list:
  - {model_name: llama, litellm_params: {model: ollama/llama3, api_base: 'http://127.0.0.1:11434', rpm: 10}}
  - {model_name: claude, litellm_params: {model: bedrock/anthropic.claude-3-haiku-20240307-v1:0, aws_access_key_id: AK, aws_secret_access_key: SK, aws_region_name: us-east-1}}
  - {model_name: role, litellm_params: {model: bedrock/anthropic.claude-3-haiku-20240307-v1:0, aws_region_name: us-east-1}}
  - {model_name: '*', litellm_params: {model: openai/*, api_key: os.environ/OPENAI_KEY}}
  - {model_name: gem, litellm_params: {model: gemini/gemini-2.5-flash, api_key: k, weight: 3, order: 2, timeout: 5}}
router_settings:
  model_group_alias: {jewel: gem, ghost: nobody}
  fallbacks: [{gem: [llama]}]
litellm_settings: {drop_params: true}
general_settings: {master_key: sk-1234}
`,
  );
  const report = (await runner.json(['import', 'litellm', file, '--yes'])) as {
    counts: object;
    notes: string[];
    losses: { what: string; rows: number }[];
  };
  expect(report.counts).toMatchObject({
    models: { taken: 3, skipped: 2 },
    aliases: { taken: 1, skipped: 1 },
    channels: { taken: 3, skipped: 0 },
  });
  expect(report.losses.map(({ what }) => what)).toEqual([
    'litellm_params.rpm',
    'litellm_params.timeout',
    'router_settings.fallbacks',
    'litellm_settings.drop_params',
    'general_settings.master_key',
  ]);
  expect(report.notes).toEqual([
    'models role: its AWS keys or region are not known: roles of machines are not read here',
    'models *: a wildcard: list the models one by one (`gateway channel add --fetch` gets the list)',
    'aliases ghost: there is no model nobody',
    'models llama: it has no price, and is refused until it has one (gateway ratios set)',
    'models claude: has the price of anthropic.claude-3-haiku-20240307-v1:0',
    'models gem: has the price of gemini-2.5-flash',
    'models jewel: has the price of gemini-2.5-flash',
  ]);
  const channels = (await runner.json(['channel', 'list'])) as { name: string }[];
  expect(channels.toSorted((a, b) => a.name.localeCompare(b.name))).toMatchObject([
    { name: 'bedrock-2', models: 'claude' },
    { name: 'gemini-3', models: 'gem,jewel', weight: 3, priority: -2 },
    { name: 'ollama-1', models: 'llama', model_mapping: '{"llama":"llama3"}' },
  ]);
  expect(await runner.json(['ratios', 'get', 'jewel'])).toMatchObject({ ModelRatio: 0.15 });
  expect(await runner.json(['ratios', 'get', 'claude'])).toMatchObject({ ModelRatio: 0.125, CompletionRatio: 5 });
});

test('LiteLLM: a name costs what the models behind it cost, and no less where others serve it already', async () => {
  const file = join(dir, 'config.yaml');
  const claude = 'bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0, aws_region_name: us-east-2, api_key: k';
  writeFileSync(
    file,
    `model_list:
  - {model_name: gpt-4, litellm_params: {model: ${claude}}}
  - {model_name: gpt-4o, litellm_params: {model: ${claude}}}
  - {model_name: gpt-4.1, litellm_params: {model: openai/gpt-4.1, api_key: k}}
  - {model_name: gpt-4o-mini, litellm_params: {model: azure/dep-1, api_key: k, api_base: 'https://a.openai.azure.com'}}
  - {model_name: gpt-3.5-turbo, litellm_params: {model: azure/dep-2, api_key: k, api_base: 'https://a.openai.azure.com'}}
router_settings:
  model_group_alias: {o1: gpt-3.5-turbo, hidden: {model: gpt-4.1, hidden: true}, nothing: null, several: [gpt-4, gpt-4o]}
`,
  );
  const prices = async (...more: readonly string[]) => {
    const names = ['gpt-4', 'gpt-4o', 'gpt-4.1', 'gpt-4o-mini', 'o1', ...more];
    const found = await Promise.all(names.map((name) => runner.json(['ratios', 'get', name])));
    return (found as { ModelRatio: number }[]).map(({ ModelRatio }) => ModelRatio);
  };
  const listed = await prices();
  const here = join(dir, 'here.yaml');
  writeFileSync(here, 'model_list:\n  - {model_name: gpt-4, litellm_params: {model: openai/gpt-4, api_key: k}}\n');
  await runner.run(['import', 'litellm', here, '--yes']);
  const { notes } = (await runner.json(['import', 'litellm', file, '--yes'])) as { notes: string[] };
  expect(notes).toEqual([
    'aliases nothing: it is no name of one model',
    'aliases several: it is no name of one model',
    'models gpt-4: other channels serve it here, and it costs what it costs here',
    'models gpt-4o: has the price of us.anthropic.claude-sonnet-4-20250514-v1:0',
    'models o1: has the price of gpt-3.5-turbo',
    'models hidden: has the price of gpt-4.1',
  ]);
  expect(listed).toEqual([15, 1.25, 1, 0.075, 7.5]);
  expect(await prices('hidden')).toEqual([15, 1.5, 1, 0.075, 0.25, 1]);
});

test('LiteLLM: several channels are numbered from 1', async () => {
  const file = join(dir, 'config.yaml');
  const row = (name: string, key: string) =>
    `  - {model_name: ${name}, litellm_params: {model: openai/${name}, api_key: ${key}}}\n`;
  writeFileSync(file, `model_list:\n${row('a', 'sk-one')}${row('b', 'sk-two')}${row('c', 'sk-one')}`);
  await runner.run(['import', 'litellm', file, '--yes']);
  const channels = (await runner.json(['channel', 'list'])) as { name: string; models: string }[];
  expect(channels.map(({ name, models }) => [name, models]).sort()).toEqual([
    ['openai-1', 'a,c'],
    ['openai-2', 'b'],
  ]);
});

test('LiteLLM: every member acts or is named, what is free stays free, and files that are included are read', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(
    file,
    `include: [more.yaml]
environment_variables: {OPENAI_KEY: sk-canary-of-the-file}
# PyYAML takes the last of two.
general_settings: {}
general_settings: {}
model_list:
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_key: os.environ/OPENAI_KEY, api_base: 'http://127.0.0.1:9/v1'}
    model_info: {input_cost_per_token: 0, output_cost_per_token: 0, access_groups: [beta], mode: chat, id: x, input_cost_per_second: 1}
  - model_name: deployed
    litellm_params: {model: azure/dep-1, api_key: k, api_base: 'https://a.openai.azure.com'}
    model_info: {base_model: azure/gpt-4o-mini}
    mystery: 1
  - model_name: long
    litellm_params: {model: openai/long, api_key: k}
    model_info: {input_cost_per_token: 1.0e-06, output_cost_per_token: 2.0e-06, input_cost_per_token_above_200k_tokens: 2.0e-06, cache_creation_input_token_cost: 1.5e-06}
  - model_name: half
    litellm_params: {model: openai/half, api_key: k, output_cost_per_token: 2.0e-06}
  - model_name: both
    litellm_params: {model: openai/one, api_key: k, input_cost_per_token: 1.0e-06}
  - model_name: both
    litellm_params: {model: openai/two, api_key: k, input_cost_per_token: 4.0e-06}
`,
  );
  writeFileSync(
    join(dir, 'more.yaml'),
    `shared: &shared {api_key: sk-shared, api_base: 'https://open.bigmodel.cn/api/paas/v4'}
model_list:
  - model_name: merged
    litellm_params: {<<: *shared, model: openai/glm-4}
`,
  );
  const report = (await runner.json(['import', 'litellm', file, '--yes'])) as {
    notes: string[];
    losses: { what: string }[];
  };
  expect(report.losses.map(({ what }) => what)).toEqual([
    'model_info.access_groups',
    'model_info.mode',
    'model_info.id',
    'model_info.input_cost_per_second',
    'model_list.mystery',
    'shared',
  ]);
  expect(report.notes).toEqual([
    'models deployed: has the price of azure/gpt-4o-mini',
    'models half: its price cannot be written as ratios (free or unknown input with paid output, calls and tokens mixed, or a free row beside one without a price), and is refused until it has one (gateway ratios set)',
    'models both: its rows cost differently; a name has one price here, and gets the dearest',
    'models merged: has the price of glm-4',
  ]);
  expect(await runner.json(['ratios', 'get', 'gpt-4o'])).toMatchObject({ ModelRatio: 0 });
  expect(await runner.json(['ratios', 'get', 'deployed'])).toMatchObject({ ModelRatio: 0.075 });
  expect(await runner.json(['ratios', 'get', 'both'])).toMatchObject({ ModelRatio: 2 });
  expect(await runner.json(['ratios', 'get', 'long'])).toMatchObject({
    ...{ ModelRatio: 0.5, CompletionRatio: 2, CreateCacheRatio: 1.5 },
    ContextTiers: [{ above: 200_000, input: 2, output: 1, cache_write: 1 }],
  });
  const channels = (await runner.json(['channel', 'list'])) as { name: string; type: number; base_url: string }[];
  expect(channels.map(({ type, base_url }) => [type, base_url]).toSorted()).toEqual([
    [1, ''],
    [1, ''],
    [1, 'http://127.0.0.1:9'],
    [3, 'https://a.openai.azure.com'],
    [8, 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
  ]);
});

test('LiteLLM: a file that is included and is not there imports nothing', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(file, 'include: [gone.yaml]\nmodel_list: []\n');
  await expect(runner.run(['import', 'litellm', file, '--yes'])).rejects.toMatchObject({ code: 'not_found' });
});

test('a folder that is named wins over the source’s own DATABASE_URL and over the last login', async () => {
  const file = join(dir, 'config.yaml');
  writeFileSync(file, 'model_list: [{model_name: a, litellm_params: {model: openai/a, api_key: k}}]\n');
  const env = { DATABASE_URL: 'https://litellm.example/db', GATEWAY_URL: 'https://other.example' };
  await runner.run(['import', 'litellm', file, '--yes'], env);
  writeContexts(
    { HOME: dir },
    { current: 'far', contexts: { far: { url: 'http://127.0.0.1:9', token: 't', user: 1 } } },
  );
  expect(await runner.json(['channel', 'list'])).toMatchObject([{ models: 'a' }]);
  await expect(runner.run(['channel', 'list', '--context', 'far'])).rejects.toMatchObject({ code: expect.anything() });
  await expect(
    runner.run(['import', 'litellm', file, '--yes', '--database', 'https://litellm.example/db']),
  ).rejects.toMatchObject({ code: 'database_address' });
});

test('a file of neither kind is refused and nothing is written', async () => {
  const file = join(dir, 'notes.txt');
  writeFileSync(file, 'hello');
  await expect(runner.run(['import', 'new-api', file, '--yes'])).rejects.toMatchObject({ code: 'import_failed' });
  await expect(runner.run(['import', 'litellm', file, '--yes'])).rejects.toMatchObject({
    code: 'import_failed',
    params: { detail_en: expect.stringContaining('model_list') },
  });
});

test('a file that was left in the middle of a write says what to do, and is not touched', async () => {
  const live = join(dir, 'live.db');
  const file = join(dir, 'copy.db');
  const raw = new BetterSqlite(live);
  raw.pragma('journal_mode = DELETE');
  raw.exec('CREATE TABLE users (id, username)');
  raw.pragma('cache_size = 5');
  raw.exec('BEGIN');
  for (let id = 0; id < 2000; id++) raw.prepare('INSERT INTO users VALUES (?, ?)').run(id, 'x'.repeat(200));
  for (const end of ['', '-journal']) copyFileSync(`${live}${end}`, `${file}${end}`);
  raw.exec('ROLLBACK');
  raw.close();
  const before = readFileSync(file);
  await expect(runner.run(['import', 'new-api', file, '--yes'])).rejects.toMatchObject({
    code: 'import_failed',
    message: expect.stringContaining('in the middle of a write'),
  });
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('dumps: inserts with columns, E strings, doubled quotes, several statements', () => {
  const rows = readDump(
    `INSERT INTO public.users (id, "group", note) VALUES (1, 'it''s; (a), b', E'x\\ny'), (2, NULL, 'back\\slash');\nINSERT INTO users (id) VALUES (3);\n`,
  ).get('users');
  expect(rows).toEqual([
    { id: 1, group: "it's; (a), b", note: 'x\ny' },
    { id: 2, group: null, note: 'back\\slash' },
    { id: 3 },
  ]);
});

test('spent quota is split so that every counter is a sum', () => {
  const users = [
    { userId: 1, username: 'a', balance: 0, used: 10, tokens: [{ id: 1, used: 4 }] },
    { userId: 2, username: 'b', balance: 0, used: 5, tokens: [{ id: 2, used: 9 }] },
  ];
  const shares = sharesOf(users, [{ id: 7, used: 6 }]);
  const sum = (pick: (share: (typeof shares)[number]) => boolean) =>
    shares.filter(pick).reduce((total, share) => total + share.amount, 0);
  expect([sum((s) => s.userId === 1), sum((s) => s.userId === 2)]).toEqual([10, 5]);
  expect([sum((s) => s.tokenId === 1), sum((s) => s.tokenId === 2), sum((s) => s.channelId === 7)]).toEqual([4, 5, 6]);
  expect(shares.every((share) => share.amount > 0)).toBe(true);
});
