/** A site that is written as a file and made from it again elsewhere is the same site. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-round-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Repeatable: a failure names its seed. */
function randomOf(seed: number) {
  let state = seed * 2_654_435_761 + 1;
  const next = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 1 | state) + 0x6d2b79f5) >>> 0;
    return (state ^ (state >>> 13)) >>> 0;
  };
  const below = (limit: number): number => next() % limit;
  return {
    below,
    maybe: <T>(value: T): T | undefined => (below(2) === 0 ? value : undefined),
    one: <T>(values: readonly T[]): T => values[below(values.length)] as T,
  };
}

const defined = (value: object) => Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));

/** Something of everything that a file can say. */
function randomSite(seed: number) {
  const { below, maybe, one } = randomOf(seed);
  const names = ['ann', 'ben', '小明', 'x y', 'dora-1'].slice(0, 1 + below(5));
  return {
    version: 1,
    options: defined({
      SystemName: maybe(`Site ${seed}`),
      RetryTimes: maybe(String(below(5))),
      TelegramOAuthEnabled: maybe('true'),
      TelegramBotName: 'bot',
      TelegramBotToken: '1:canary-bot',
      Chats: maybe('[{"a":"https://chat.example/{key}"}]'),
    }),
    groups: { vip: 0.5, [`g${seed}`]: 1 + below(3) },
    ratios: defined({
      ModelRatio: { [`own-${seed}`]: 1.5, 'gpt-4o': one([2, null]) },
      ModelPrice: maybe({ picture: 0.04 }),
    }),
    users: [
      { username: 'root', role: 'root', password: 'canary-root-pw' },
      ...names.map((username, at) =>
        defined({
          username,
          password: maybe(`canary-pw-${at}`),
          display_name: maybe(one(['', 'Somebody'])),
          group: maybe('vip'),
          role: maybe(one(['admin', 'user'])),
          status: maybe('disabled'),
          quota: maybe(one([1000, '2.5usd'])),
        }),
      ),
    ],
    channels: Array.from({ length: 1 + below(4) }, (_, at) =>
      defined({
        name: one(['main', `c${at}`, '通道']),
        type: one(['practice', 'openai']),
        key: `sk-canary-channel-${at}`,
        models: ['practice-small', `own-${seed}`].slice(below(2)),
        status: maybe('disabled'),
        group: maybe(['default', 'vip']),
        base_url: maybe('http://127.0.0.1:9'),
        priority: maybe(below(9)),
        weight: maybe(below(9)),
        tag: maybe('t'),
        model_mapping: maybe({ [`own-${seed}`]: 'practice-small' }),
        param_override: maybe({ temperature: 0 }),
        setting: maybe({ proxy: 'http://127.0.0.1:8' }),
        auto_ban: maybe(0),
        max_input_tokens: maybe(1000),
      }),
    ),
    tokens: Array.from({ length: 1 + below(5) }, (_, at) =>
      defined({
        name: one(['ci', `t${at}`, '令牌']),
        owner: one(['root', ...names]),
        key: `sk-canarytoken${seed}${at}${'0'.repeat(30)}`,
        status: maybe('disabled'),
        quota: one(['unlimited', 500, '1usd']),
        expires: maybe(one(['never', 2_000_000_000, '2033-05-18'])),
        models: maybe(['practice-small']),
        allow_ips: maybe(['10.0.0.0/8', '192.0.2.1']),
        group: maybe('vip'),
        rpm_limit: maybe(60),
        tpm_limit: maybe(1000),
        concurrency_limit: maybe(2),
        day_budget: maybe('1usd'),
        month_budget: maybe(5_000_000),
      }),
    ),
    schedules: [
      defined({
        user: 'root',
        label: maybe('team'),
        every: maybe(one(['month', 'week'])),
        to: maybe(one(names)),
        email: maybe('books@acme.example'),
        status: maybe('disabled'),
      }),
      ...(below(2) === 0 ? [defined({ tag: 't', to: maybe(one(names)) })] : []),
      ...(below(2) === 0 ? [defined({ project: 'p', user: maybe(one(names)), every: 'week' })] : []),
    ],
  };
}

/** Variables of an exported file, each with a value of its own. */
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/"env":\s*"(\w+)"/g)].map(([, name = ''], at) => [
      name,
      name.includes('_USER_') ? `canary-pw-${at}` : `sk-canary0000000000000000000000000000000000${at}`,
    ]),
  );

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('random site %i: export, apply elsewhere, export: equal', async (seed) => {
  const one = createRunner(join(dir, 'one'));
  const other = createRunner(join(dir, 'other'));
  const file = join(dir, 'site.json');
  writeFileSync(file, JSON.stringify(randomSite(seed)));
  await one.run(['apply', '-f', file]);
  const first = await one.run(['export', '--balances', '--json']);
  expect(first).not.toContain('canary');
  writeFileSync(file, first);
  expect(await one.run(['diff', '-f', file])).toContain('0 changes');
  const secrets = variablesOf(first);
  await other.run(['apply', '-f', file], secrets);
  expect(await other.run(['export', '--balances', '--json'])).toBe(first);
  expect(await other.run(['apply', '-f', file], secrets)).toContain('0 changes');
});

const site = (text: string): string => {
  const file = join(dir, 'site.yaml');
  writeFileSync(file, `version: 1\n${text}`);
  return file;
};
const rootLine = '{username: root, role: root, password: root-password}';
const applied = async (runner: Runner, text: string) =>
  (await runner.json(['apply', '-f', site(text)])) as {
    changes: { kind: string; name: string; notes?: { en: string }[] }[];
  };

test.each([
  ['codes: [{name: gift, quota: "$5", expires: 2w}]', 2_500_000],
  ['codes: [{name: gift, quota: "1,000"}]', 1000],
])('amounts are read as in the console and in flags: %s', async (text, quota) => {
  const runner = createRunner(dir);
  await applied(runner, `users: [${rootLine}]\n${text}`);
  expect(await runner.json(['redemption', 'list'])).toMatchObject([{ name: 'gift', quota }]);
});

test.each([
  ['codes: [{name: gift, quota: 0.0000004usd}]', 'the nearest amount is'],
  ['codes: [{name: gift, quota: "1.000,5"}]', 'can be read in two ways'],
  ['codes: [{name: gift, quota: 5eur}]', 'not in "eur"'],
  ['codes: [{name: gift, quota: 5, expires: 2033-02-30}]', 'write never, 1h, 30d or a date'],
  ['codes: [{name: gift, quota: 5, expires: "5"}]', 'write never, 1h, 30d or a date'],
  ['tokens: [{name: ci, quota: -5usd}]', 'must not be negative'],
])('what means no amount and no moment is refused with the reason, and nothing is stored: %s', async (text, reason) => {
  const runner = createRunner(dir);
  await applied(runner, `users: [${rootLine}]`);
  await expect(runner.run(['apply', '-f', site(`label: new\n${text}`)])).rejects.toThrow(reason);
  expect(await runner.json(['redemption', 'list'])).toEqual([]);
  expect(await runner.json(['token', 'list'])).toEqual([]);
});

test('a user without a password is there, says so, and logs in with none', async () => {
  const runner = createRunner(dir);
  const { changes } = await applied(runner, `users: [${rootLine}, {username: ann, quota: 5usd}]`);
  expect(changes.find(({ name }) => name === 'ann')?.notes?.[0]?.en).toContain('gateway user passwd ann');
  expect(await runner.json(['user', 'get', 'ann'])).toMatchObject({ status: 1, quota: 2_500_000 });
  const login = (password: string) =>
    runner.run(['api', 'POST', '/api/user/login', '-f', `username=ann&password=${password}`]);
  for (const password of ['', 'undefined', 'null', 'password1']) await expect(login(password)).rejects.toThrow();
  await runner.run(['user', 'passwd', 'ann'], { GATEWAY_USER_PASSWORD: 'password1' });
  expect(await login('password1')).toContain('"username": "ann"');
  // The balance was what ann began with; later runs leave it alone.
  await runner.run(['user', 'quota', 'add', 'ann', '--yes', '1usd']);
  expect((await applied(runner, 'users: [{username: ann, quota: 5usd}]')).changes).toEqual([]);
  expect(await runner.json(['user', 'get', 'ann'])).toMatchObject({ quota: 3_000_000 });
});

test('a site made from a file alone is set up', async () => {
  const runner = createRunner(dir);
  await applied(runner, `users: [${rootLine}]`);
  expect(await runner.json(['api', '/api/setup'])).toMatchObject({ status: true });
});

test('a new channel without a key is refused by its name', async () => {
  const runner = createRunner(dir);
  const text = `users: [${rootLine}]\nchannels: [{name: main, type: openai, key: {env: NOT_SET}, models: [m]}]`;
  await expect(applied(runner, text)).rejects.toMatchObject({
    code: 'provision_key_missing',
    params: { name: 'main' },
  });
  expect(await runner.json(['user', 'list'])).toEqual([]);
});

test('codes are made once, by their number or by themselves, and end when the file says', async () => {
  const runner = createRunner(dir);
  const text = `users: [${rootLine}]
codes:
  - {name: spring, quota: 2usd, count: 3, expires: 30d}
  - {name: gift, quota: 500, code: GIFT-0123456789}
`;
  await applied(runner, text);
  const list = async () =>
    (await runner.json(['redemption', 'list'])) as { name: string; quota: number; key: string; expired_time: number }[];
  const codes = await list();
  expect(codes.map(({ name, quota }) => [name, quota]).sort()).toEqual([
    ['gift', 500],
    ['spring', 1_000_000],
    ['spring', 1_000_000],
    ['spring', 1_000_000],
  ]);
  expect(codes.find(({ name }) => name === 'gift')).toMatchObject({ key: 'GIFT-0123456789', expired_time: 0 });
  const inDays = ((codes.find(({ name }) => name === 'spring')?.expired_time ?? 0) - Date.now() / 1000) / 86_400;
  expect(inDays).toBeCloseTo(30, 1);
  expect((await applied(runner, text)).changes).toEqual([]);
  expect(await list()).toEqual(codes);
  expect((await applied(runner, text.replace('quota: 500', 'quota: 600'))).changes).toMatchObject([{ name: 'gift' }]);
});

test('a span counts from when the token was made, so that a later run moves nothing', async () => {
  const runner = createRunner(dir);
  const text = `users: [${rootLine}]\ntokens: [{name: ci, quota: 5usd, day_budget: 1usd, expires: 30d}]`;
  await applied(runner, text);
  const token = await runner.json(['token', 'get', 'ci']);
  expect(token).toMatchObject({ remain_quota: 2_500_000, day_budget: 500_000 });
  expect((await applied(runner, text)).changes).toEqual([]);
  expect(await runner.json(['token', 'get', 'ci'])).toEqual(token);
  expect((await applied(runner, text.replace('30d', 'never'))).changes).toMatchObject([{ name: 'ci' }]);
  expect(await runner.json(['token', 'get', 'ci'])).toMatchObject({ expired_time: -1 });
});

test('statements by mail are planned once, changed where the file says otherwise, and written as they were', async () => {
  const runner = createRunner(dir);
  const text = `users: [${rootLine}, {username: ann, password: ann-password}, {username: ben, password: ben-password}]
tokens: [{name: ci, owner: ann, quota: unlimited}]
`;
  const plans = `schedules:
  - {user: ann}
  - {token: ci, owner: ann, every: week, to: ben, email: books@acme.example}
  - {label: team-a, status: disabled}
`;
  await applied(runner, text + plans);
  expect(await runner.json(['schedule', 'list', '--all'])).toMatchObject([
    { of: 'user', name: 'ann', username: 'ann', every: 'month', email: '', paused: false },
    { of: 'token', name: 'ci', username: 'ben', every: 'week', email: 'books@acme.example', paused: false },
    { of: 'label', name: 'team-a', username: 'root', every: 'month', email: '', paused: true },
  ]);
  expect(await runner.run(['diff', '-f', site(text + plans)])).toContain('0 changes');
  expect(JSON.parse(await runner.run(['export', '--json'])).schedules).toEqual([
    { user: 'ann' },
    { token: 'ci', owner: 'ann', every: 'week', to: 'ben', email: 'books@acme.example' },
    { label: 'team-a', status: 'disabled' },
  ]);
  const { changes } = await applied(
    runner,
    'schedules: [{user: ann, email: ann@acme.example}, {label: team-a, status: enabled}, {user: ann, every: week}]',
  );
  expect(changes).toMatchObject([
    { action: 'update', kind: 'schedule', name: 'user ann month' },
    { action: 'update', kind: 'schedule', name: 'label team-a month' },
    { action: 'create', kind: 'schedule', name: 'user ann week' },
  ]);
  expect(await runner.json(['schedule', 'list', '--all'])).toMatchObject([
    { email: 'ann@acme.example' },
    {},
    { paused: false },
    { name: 'ann', every: 'week' },
  ]);
});

test('the same statement to two addresses of one user stays two mails, however often the file is applied', async () => {
  const runner = createRunner(dir);
  const users = `users: [${rootLine}, {username: ann, password: ann-password}]\n`;
  const plans = 'schedules: [{user: ann, email: a@acme.example}, {user: ann, email: b@acme.example}]';
  await applied(runner, users + plans);
  const emails = async () =>
    ((await runner.json(['schedule', 'list', '--all'])) as { email: string }[]).map(({ email }) => email);
  expect((await applied(runner, plans)).changes).toEqual([]);
  expect(await emails()).toEqual(['a@acme.example', 'b@acme.example']);
  // In another order, and with one that changes: the other keeps its address.
  const moved = 'schedules: [{user: ann, email: c@acme.example}, {user: ann, email: a@acme.example}]';
  expect((await applied(runner, moved)).changes).toMatchObject([{ action: 'update', name: 'user ann month' }]);
  expect(await emails()).toEqual(['a@acme.example', 'c@acme.example']);
});

test.each([
  ['{every: month}', 'user | token | tag | label | project'],
  ['{tag: a, label: b}', 'user | token | tag | label | project'],
  ['{user: root, tag: a}', 'user | token | tag | label | project'],
  ['{user: nobody}', 'nobody'],
  ['{token: missing}', 'token missing'],
  ['{user: root, to: nobody}', 'nobody'],
  ['{user: root, email: nowhere}', 'mail'],
  ['{user: root, every: day}', 'every'],
])(
  'a statement by mail of nobody, to nobody or to nowhere is refused, and nothing is planned: %s',
  async (row, reason) => {
    const runner = createRunner(dir);
    await applied(runner, `users: [${rootLine}]`);
    await expect(runner.run(['apply', '-f', site(`schedules: [{tag: fine}, ${row}]`)])).rejects.toThrow(reason);
    expect(await runner.json(['schedule', 'list', '--all'])).toEqual([]);
  },
);

test('links are not in a file: export says so, and apply names the command that makes one', async () => {
  const runner = createRunner(dir);
  await applied(runner, `users: [${rootLine}]`);
  await runner.run(['export']);
  expect(runner.said()).not.toContain('links');
  await runner.run(['link', 'create', '--month', '2026-10', '--user', 'root']);
  expect(await runner.run(['export', '--json'])).not.toContain('link');
  expect(runner.said()).toContain('links to documents (1) are not in the file');
  await expect(runner.run(['apply', '-f', site('links: [{user: root}]')])).rejects.toThrow('gateway link create');
});
