import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { apply } from '../../cli/commands/provisioning/provisioning.ts';
import { openDatabase } from '../../db/open.ts';
import { atTerminal } from './at-terminal.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
let file: string;

const site = `
version: 1
label: site
options:
  SystemName: Test
  SMTPToken: {env: MAIL_SECRET}
groups: {vip: 0.5}
ratios:
  ModelRatio: {own-model: 2}
users:
  - {username: ann, password: {env: ANN_PASSWORD}, group: vip}
channels:
  - name: main
    type: practice
    key: {env: CHANNEL_KEY}
    models: [own-model, practice-small]
    model_mapping: {own-model: practice-small}
  - {name: main, type: practice, key: {env: CHANNEL_KEY}, models: [other], priority: 5}
tokens:
  - {name: ci, owner: ann, key: {env: CI_KEY}, quota: unlimited}
`;
const secrets = {
  MAIL_SECRET: 'canary-mail',
  ANN_PASSWORD: 'canary-password',
  CHANNEL_KEY: 'sk-canary-channel',
  CI_KEY: 'sk-canarytoken000000000000000000000000000000000000',
};

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-provision-'));
  runner = createRunner(dir, secrets);
  await runner.run(['setup', '--username', 'root'], { GATEWAY_ADMIN_PASSWORD: 'password1' });
  file = join(dir, 'site.yaml');
  writeFileSync(file, site);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const changes = (counts: Readonly<Record<string, number>>) => ({
  created: 0,
  updated: 0,
  deleted: 0,
  ...counts,
});

test('everything is made once; a second time says 0 changes and writes nothing', async () => {
  expect(await runner.json(['apply', '-f', file, '--dry-run'])).toMatchObject(changes({ created: 4, updated: 4 }));
  expect(await runner.json(['channel', 'list'])).toEqual([]);
  const first = await runner.run(['apply', '-f', file]);
  expect(first).toContain('+ channel main');
  expect(first).not.toContain('canary');
  const rows = () => {
    const database = openDatabase(join(dir, 'data', 'gateway.db'), { readonly: true });
    const dump = ['users', 'channels', 'tokens', 'options', 'price_versions', 'changes'].map((table) =>
      database.raw.prepare(`SELECT * FROM ${table}`).all(),
    );
    database.raw.close();
    return dump;
  };
  const before = rows();
  expect(await runner.run(['apply', '-f', file])).toContain('0 changes');
  expect(rows()).toEqual(before);
  expect(await runner.run(['diff', '-f', file])).toContain('0 changes');
  expect(await runner.json(['token', 'get', 'ci', '--user', 'ann'])).toMatchObject({
    unlimited_quota: true,
    key: 'sk-cana…0000',
  });
  expect(JSON.parse(await runner.run(['option', 'get', 'GroupRatio']))).toMatchObject({ vip: 0.5, default: 1 });
});

test('applying an exported file changes nothing', async () => {
  await runner.run(['apply', '-f', file]);
  await runner.run(['token', 'disable', 'ci', '--user', 'ann']);
  const exported = await runner.run(['export']);
  expect(exported).not.toContain('canary');
  expect(exported).toMatch(/name: ci\b[^-]*status: disabled/);
  writeFileSync(file, exported);
  expect(await runner.run(['apply', '-f', file])).toContain('0 changes');
});

test('a failure in the middle leaves nothing behind', async () => {
  writeFileSync(file, site.replace('name: ci, owner: ann', 'name: ci, owner: nobody'));
  await expect(runner.run(['apply', '-f', file])).rejects.toMatchObject({ code: 'not_found' });
  expect(await runner.json(['channel', 'list'])).toEqual([]);
  expect(await runner.run(['option', 'get', 'SystemName'])).toBe('New API');
});

test('differences have an exit code, a changed field is named, a secret is not', async () => {
  await runner.run(['apply', '-f', file]);
  writeFileSync(file, site.replace('priority: 5', 'priority: 6'));
  const other = { CHANNEL_KEY: 'sk-canary-next' };
  await expect(runner.run(['diff', '-f', file], other)).rejects.toMatchObject({ code: 'differences' });
  const said = await runner.run(['apply', '-f', file], other);
  expect(said).toContain('priority: 5 -> 6');
  expect(said).toContain('key: changed');
  expect(said).not.toContain('canary');
});

test('pruning removes what the same file made and nothing else', async () => {
  await runner.run(['apply', '-f', file]);
  await runner.run(['channel', 'add', '--name', 'by-hand', '--type', 'practice'], { GATEWAY_CHANNEL_KEY: 'k' });
  writeFileSync(file, 'version: 1\nlabel: site\n');
  await expect(runner.run(['apply', '-f', file, '--prune'])).rejects.toMatchObject({ code: 'input_needed' });
  expect(await runner.json(['apply', '-f', file, '--prune', '--yes'])).toMatchObject(changes({ deleted: 3 }));
  expect(await runner.json(['channel', 'list'])).toMatchObject([{ name: 'by-hand' }]);
});

test.each([
  ['version: 1\nchannels:\n  - {name: 3, type: openai}\n', /site\.yaml:3:\d+ channels\.0\.name/],
  ['version: 1\nchanels: []\n', /chanels/],
  ['version: [1\n', /site\.yaml:\d+:\d+/],
  ['version: 2\n', /site\.yaml:1:\d+ version/],
])('a mistake is shown where it is: %j', async (text, place) => {
  writeFileSync(file, text);
  await expect(runner.run(['apply', '-f', file])).rejects.toMatchObject({
    code: 'document_invalid',
    params: { detail: expect.stringMatching(place) },
  });
});

test('a script that runs again changes nothing, says so, and leaves no row in the audit trail', async () => {
  await runner.run(['apply', '-f', file]);
  await runner.run(['channel', 'add', '--name', 'own', '--type', 'openai', '--models', 'm'], {
    GATEWAY_CHANNEL_KEY: 'sk-canary-own',
  });
  const commands: readonly (readonly [readonly string[], Record<string, string>?])[] = [
    [['option', 'set', 'RetryTimes=4']],
    [['ratios', 'set', 'ModelRatio', 'own-model=3']],
    [
      ['channel', 'add', '--name', 'own', '--type', 'openai', '--models', 'm', '--if-exists', 'update'],
      { GATEWAY_CHANNEL_KEY: 'sk-canary-own' },
    ],
    [['user', 'upsert', '--username', 'ann', '--group', 'vip'], { GATEWAY_USER_PASSWORD: 'canary-password' }],
  ];
  const night = async () => {
    const results: unknown[] = [];
    for (const [args, env] of commands)
      results.push((JSON.parse(await runner.run([...args, '--json'], env)) as { result: string }).result);
    return results;
  };
  await night();
  const trail = async () => ((await runner.json(['audit', 'list'])) as unknown[]).length;
  const before = await trail();
  expect(await night()).toEqual(['unchanged', 'unchanged', 'unchanged', 'unchanged']);
  expect(await trail()).toBe(before);
});

test('a rotated key may go on for a while, is ended by hand, and a link to a key is made and withdrawn', async () => {
  await runner.run(['apply', '-f', file]);
  const token = async () =>
    (await runner.json(['token', 'get', 'ci', '--user', 'ann'])) as { old_key_until: number; link_until: number };
  const soon = Date.now() / 1000 + 23 * 3600;
  await runner.run(['token', 'rotate', 'ci', '--user', 'ann', '--yes', '--grace', '1d']);
  expect((await token()).old_key_until).toBeGreaterThan(soon);
  await runner.run(['token', 'retire', 'ci', '--user', 'ann']);
  expect((await token()).old_key_until).toBe(0);
  const link = await runner.run(['token', 'share', 'ci', '--user', 'ann', '-q']);
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/key#[\w-]{32}$/);
  expect((await token()).link_until).toBeGreaterThan(soon);
  await runner.run(['token', 'share', 'ci', '--user', 'ann', '--withdraw']);
  expect((await token()).link_until).toBe(0);
  await expect(runner.run(['token', 'rotate', 'ci', '--user', 'ann', '--yes', '--grace', '90s'])).rejects.toThrow(
    '--grace',
  );
});

test('a statement is printed, as JSON and as CSV, and checked', async () => {
  await runner.run(['apply', '-f', file]);
  const month = ['--month', '2026-02'];
  expect(await runner.json(['statement', '--user', 'ann', ...month])).toMatchObject({
    ...{ of: 'user', name: 'ann', month: '2026-02', lines: [], total: { requests: 0, quota: 0 } },
  });
  expect(await runner.json(['statement', '--user', 'ann', '--token', 'ci'])).toMatchObject({ of: 'token', name: 'ci' });
  expect(await runner.json(['statement', '--tag', 'blue'])).toMatchObject({ of: 'tag', name: 'blue' });
  expect(await runner.run(['statement', '--csv', ...month, '--lang', 'en'])).toMatch(
    /^Date,Model,.*\r?\nTotal,,0,0,0,0\.000000/,
  );
  await runner.run(['statement', '--check']);
  await expect(runner.run(['statement', '--month', 'May'])).rejects.toThrow('month');
});

test('keys that the operator makes, renews and prints leave a row in the audit trail', async () => {
  await runner.run(['apply', '-f', file]);
  await runner.run(['token', 'create', '--name', 'laptop']);
  await runner.run(['token', 'show-key', 'ci', '--user', 'ann']);
  await runner.run(['token', 'rotate', 'ci', '--user', 'ann', '--yes']);
  const { id } = (await runner.json(['token', 'get', 'ci', '--user', 'ann'])) as { id: number };
  const rows = (await runner.json(['audit', 'list'])) as { action: string; target: string; detail: string }[];
  expect(rows.slice(0, 3).map(({ action, target }) => [action, target])).toEqual([
    ['token.rotate', String(id)],
    ['token.key', String(id)],
    ['token.create', 'laptop'],
  ]);
  expect(JSON.stringify(rows)).not.toContain('canary');
});

test('a person is asked in words before anything goes, and not where nothing goes or is only looked at', async () => {
  const gone = [
    { action: 'delete', kind: 'channel', name: 'main', fields: [] },
    { action: 'update', kind: 'option', name: 'SystemName', fields: ['SystemName'] },
    { action: 'delete', kind: 'token', name: 'ci', fields: [] },
  ];
  const asked = async (planned: readonly object[], language: 'zh' | 'en', dryRun = false) => {
    const answers = { 'provision.diff': planned, 'provision.apply': planned };
    const flags = { file, prune: true, dryRun };
    const { questions, calls } = await atTerminal(apply, { answers, flags, language });
    return [questions, calls.map(([id]) => id)];
  };
  const both = ['provision.diff', 'provision.apply'];
  expect(await asked(gone, 'zh')).toEqual([['删除 channel main、token ci？'], both]);
  expect(await asked(gone, 'en')).toEqual([['Delete channel main, token ci?'], both]);
  expect(await asked(gone.slice(1, 2), 'en')).toEqual([[], both]);
  expect(await asked(gone, 'en', true)).toEqual([[], ['provision.diff']]);
});
