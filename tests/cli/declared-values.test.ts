/** Declarative files: a reference that leads nowhere lifts no limit, and what only looks like one is no secret. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { topics } from '../../cli/commands/help/topics.ts';
import { commands } from '../../cli/commands/index.ts';
import { provisionDocument } from '../../server/contract/provision.ts';
import { describeChanges } from '../../server/domain/provisioning/compare.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'declared-values-'));
  runner = createRunner(dir);
  await runner.run(['setup', '--username', 'root'], { GATEWAY_ADMIN_PASSWORD: 'password1' });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const fileOf = (text: string): string => {
  const file = join(dir, 'site.yaml');
  writeFileSync(file, `version: 1\n${text}\n`);
  return file;
};
const dryRun = (text: string, env: Readonly<Record<string, string>> = {}) =>
  runner.run(['apply', '-f', fileOf(text), '--dry-run'], env);
const refusal = async (text: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const failed = await dryRun(text, env).then(
    () => 'accepted',
    (error: { readonly params?: { readonly detail?: string; readonly detail_en?: string } }) =>
      error.params?.detail_en ?? error.params?.detail ?? String(error),
  );
  return failed;
};
const channel = (fields: string) => `channels: [{name: a, type: practice, key: k, ${fields}}]`;

const braced = (name: string): string => `$\{${name}}`;
const lookAlikes = [
  ...[braced('OA_KEY'), '$OA_KEY', 'os.environ/OA_KEY', '{{ OA_KEY }}', '$(cat key)', '%OA_KEY%'],
  ` ${braced('A')} `,
];
const practice = { name: 'a', type: 'practice' };
const places: readonly ((text: string) => object)[] = [
  (key) => ({ channels: [{ ...practice, key }] }),
  (address) => ({ channels: [{ ...practice, base_url: address }] }),
  (password) => ({ users: [{ username: 'ann', password }] }),
  (key) => ({ tokens: [{ name: 't', key }] }),
  (address) => ({ tokens: [{ name: 't', allow_ips: [address] }] }),
  (code) => ({ codes: [{ name: 'c', quota: 5, code }] }),
  (secret) => ({ options: { SMTPToken: secret } }),
];
test('a value that looks like a reference is refused wherever it stands, and other values are not', async () => {
  const issueOf = (document: object) =>
    provisionDocument.safeParse({ version: 1, ...document }).error?.issues[0]?.message;
  for (const make of places) {
    for (const text of lookAlikes) expect(issueOf(make(text)), JSON.stringify(make(text))).toContain('{env: NAME}');
    for (const text of ['sk-$ecret', 'a$B', '10.0.0.1', '100%']) expect(issueOf(make(text))).toBeUndefined();
  }
  expect(await refusal(`channels: [{name: a, type: practice, key: "${braced('OA_KEY')}"}]`)).toMatch(
    /site\.yaml:2:\d+ channels\.0\.key: .*\{env: NAME\}/,
  );
});

test('the server refuses what looks like a reference too', async () => {
  const { createProvisioning } = await import('../../server/domain/provisioning/service.ts');
  const provisioning = createProvisioning({} as Parameters<typeof createProvisioning>[0]);
  const document = { version: 1, channels: [{ name: 'a', type: 'practice', key: braced('OA_KEY') }] };
  await expect(
    provisioning.apply({ document, dryRun: false, prune: false, actor: '', keyOwner: 'owner' }),
  ).rejects.toThrow('channels.0.key: is a reference');
});

test.each([
  'tokens: [{name: t, allow_ips: {env: NONE}}]',
  'tokens: [{name: t, allow_ips: [10.0.0.1, {env: NONE}]}]',
  'tokens: [{name: t, models: {env: NONE}}]',
  'tokens: [{name: t, owner: {env: NONE}}]',
  'tokens: [{name: t, quota: {env: NONE}}]',
  'tokens: [{name: t, rpm_limit: {env: NONE}}]',
  'codes: [{name: c, quota: 5, code: {env: NONE}}]',
  'users: [{username: ann, group: {env: NONE}}]',
  channel('base_url: {env: NONE}'),
  channel('base_url: {file: /nowhere/address}'),
  'label: {env: NONE}',
])('a variable that is unset or empty lifts no limit: %s', async (text) => {
  const place = /site\.yaml:2:\d+ /;
  const environments: readonly Readonly<Record<string, string>>[] = [{}, { NONE: '' }, { NONE: ' ' }];
  for (const env of environments) expect(await refusal(text, env)).toMatch(place);
});

test.each([
  "tokens: [{name: t, allow_ips: ''}]",
  'tokens: [{name: t, allow_ips: []}]',
  "tokens: [{name: t, allow_ips: ['']}]",
  "tokens: [{name: t, models: ''}]",
  'tokens: [{name: t, models: []}]',
  "tokens: [{name: t, day_budget: ''}]",
  'tokens: [{name: t, rpm_limit: -1}]',
  "tokens: [{name: t, expires: ''}]",
  'tokens: [{name: t, allow_ips: 203.0.113.300}]',
  channel("base_url: ''"),
  "users: [{username: ann, group: ''}]",
  "codes: [{name: c, quota: 5, code: ''}]",
])('a value that came out empty, or that no key can have, is refused: %s', async (text) => {
  expect(await refusal(text)).not.toBe('accepted');
});

test('a word lifts a limit of a key, and goes back to the address of the maker', async () => {
  const limits = 'models: [m], allow_ips: [10.0.0.1], rpm_limit: 5, day_budget: 5usd, quota: 5usd';
  const lifted = 'models: unlimited, allow_ips: unlimited, rpm_limit: unlimited, day_budget: unlimited';
  const at = (address: string) => `channels: [{name: a, type: practice, key: k, models: [m], base_url: ${address}}]`;
  await runner.run(['apply', '-f', fileOf(`tokens: [{name: limited, ${limits}}]\n${at('http://127.0.0.1:1')}`)]);
  await runner.run(['apply', '-f', fileOf(`tokens: [{name: limited, ${lifted}}]\n${at('default')}`)]);
  expect(await runner.json(['token', 'get', 'limited'])).toMatchObject({
    ...{ model_limits_enabled: false, model_limits: '', allow_ips: '', rpm_limit: 0, day_budget: 0 },
  });
  expect(await runner.json(['channel', 'get', 'a'])).toMatchObject({ base_url: '' });
});

test('a secret whose variable is unset is left as it is stored, and a line says so', async () => {
  await runner.run(['apply', '-f', fileOf('channels: [{name: kept, type: practice, key: k1, models: [m]}]')]);
  const text =
    'channels: [{name: kept, type: practice, key: {env: KEPT}, models: [m]}]\noptions: {SMTPToken: {env: KEPT}}';
  expect(await dryRun(text)).toContain('0 changes');
  expect(runner.said()).toMatch(/site\.yaml:2:\d+ channels\.0\.key: \{env: KEPT\} is not set, or empty/);
  expect(runner.said()).toMatch(/site\.yaml:3:\d+ options\.SMTPToken: \{env: KEPT\}/);
  expect(await dryRun(text, { KEPT: 'k2' })).toContain('key: changed');
});

test('a changed map names what changed in it, and long texts are shown from where they differ', () => {
  const prices = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`model-with-a-long-name-${at}`, at + 1]));
  const before = JSON.stringify(prices);
  const after = JSON.stringify({ ...prices, 'model-with-a-long-name-30': 99, fresh: 2 });
  expect(describeChanges({ value: after }, { value: before })).toEqual([
    'value model-with-a-long-name-30: 31 -> 99',
    'value fresh:  -> 2',
  ]);
  const [line] = describeChanges({ notice: `${'x'.repeat(100)}new` }, { notice: `${'x'.repeat(100)}old` });
  expect(line).toBe('notice: …old -> …new');
});

test('every topic of help is printed by its name, and no command has that name', async () => {
  const names = new Set(commands.map(({ name }) => name.split(' ')[0]));
  for (const { name, en } of topics) {
    expect(names.has(name), name).toBe(false);
    expect(await runner.run(['help', name])).toBe(en.trimEnd());
  }
});

test.each([
  ['a password that is too short', '{username: ben, password: short}', 'user ben: the password needs'],
  [
    'a name that shows nothing',
    '{username: "\\u200b", password: password1}',
    'the username must not contain invisible',
  ],
])('of many users the one is named that has %s', async (_what, user, words) => {
  const users = `users: [{username: ann, password: password1}, ${user}, {username: cat, password: password2}]`;
  await expect(dryRun(users)).rejects.toMatchObject({
    code: 'input_invalid',
    params: { en: expect.stringContaining(words) },
  });
});
