import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError, formatError } from '../../server/contract/errors.ts';
import {
  address,
  choice,
  decimal,
  domains,
  integer,
  json,
  keyNumbers,
  limitTable,
  lines,
  list,
  nameHeaders,
  type OptionKind,
  ratios,
  ratioTable,
  texts,
  tiers,
  toggle,
} from '../../server/contract/option-kinds.ts';
import { isOptionKey, optionKeys, optionRow } from '../../server/contract/options.ts';
import { contentOf } from '../support/engines.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await createTestGateway();
});
afterEach(() => gateway.close());

const kinds: readonly (readonly [string, OptionKind, readonly string[], readonly string[]])[] = [
  ['switch', toggle, ['true', 'false'], ['', '1', 'TRUE', 'yes']],
  ['integer', integer(0), ['0', '5', '999999999999999'], ['', '-1', '1.5', '1e3', 'x', '9'.repeat(16)]],
  ['decimal', decimal(0.1, 1), ['0.1', '1', '0.85'], ['', '0', '1.01', '-0.5', 'NaN', '1e-1', '.5']],
  ['choice', choice('hour', 'day'), ['hour', 'day'], ['', 'Hour', 'week']],
  [
    'ratios',
    ratios,
    ['{}', '{"a":0,"b":1.5}', '{"a":0.000001,"b":1000000}'],
    // What would silently be nothing, and what no sum could hold.
    [
      '',
      '[]',
      '{"a":1e308}',
      '{"a":1e-300}',
      '{"a":1000001}',
      '{"a":-1}',
      '{"a":"1"}',
      '{"a":null}',
      '{a:1}',
      '{"a":1e999}',
    ],
  ],
  [
    'tiers',
    tiers,
    ['', '{}', '{"m":[{"above":200000,"input":2,"output":1.5}]}'],
    ['[]', '{"m":[{"above":1,"input":1e308}]}', '{"m":[{"above":1,"input":2,"output":1e-300}]}'],
  ],
  [
    'limit table',
    limitTable,
    ['', '{}', '{"vip":{"rpm":5,"tpm":50000000}}'],
    ['[]', '{"vip":1}', '{"vip":{"rpm":-1}}', '{"vip":{"rpm":0.5}}', '{"vip":{"other":1}}'],
  ],
  ['json object', json('object'), ['', '{}', '{"a":[1]}'], ['[]', '1', 'null', '{']],
  ['port', integer(1, 65_535), ['1', '65535'], ['0', '65536']],
  [
    'address',
    address,
    ['', 'https://a.example/b', 'http://localhost:1'],
    ['a.example', 'ftp://a', 'https://', 'javascript:1'],
  ],
  [
    'domains',
    domains,
    ['', 'a.example', 'a.example, b.co.uk'],
    ['a', '@a.example', 'a.example,A.example', 'a..example', '-a.example'],
  ],
  [
    'headers with names',
    nameHeaders,
    ['', '{}', '{"X-Tenant":"project","x-person":"end_user","x-chat":"session"}'],
    [
      '[]',
      '{"x-tenant":"agent"}',
      '{"x tenant":"project"}',
      '{"Authorization":"end_user"}',
      '{"x-user-token":"end_user"}',
    ],
  ],
  ['numbers of keys', keyNumbers, ['', '1', '1\n 22 \n'], ['0', '-1', 'a', '1\n1.5']],
  ['texts', texts, ['', '{}', '{"a":"b"}'], ['[]', '{"a":1}', '{"a":null}', '{']],
  [
    'ratio table',
    ratioTable,
    ['', '{}', '{"vip":{"default":0.8}}'],
    ['[]', '{"vip":1}', '{"vip":{"a":-1}}', '{"vip":{"a":"1"}}'],
  ],
  ['json array', json('array'), ['', '[]', '[{"a":"b"}]'], ['{}', '"x"', '[']],
];

test.each(kinds)('%s takes what it should and says in both languages why not', (_name, kind, good, bad) => {
  for (const text of good) expect([text, kind.check(text)]).toEqual([text, null]);
  for (const text of bad) {
    const complaint = kind.check(text);
    expect([text, complaint?.zh ?? '', complaint?.en ?? '']).toEqual([
      text,
      expect.stringMatching(/\p{Script=Han}/u),
      expect.stringMatching(/^[\x20-\x7e]+$/),
    ]);
  }
});

test('lists forgive space and empty entries', () => {
  expect(list.parse(' a, b ,,c')).toEqual(['a', 'b', 'c']);
  expect(lines.parse('a\r\n\n b \n')).toEqual(['a', 'b']);
});

test('every default passes its own check, every row speaks both languages', () => {
  for (const key of optionKeys) {
    const { kind, fallback, label } = optionRow(key);
    expect([key, kind.check(fallback)]).toEqual([key, null]);
    expect([key, label.zh === '', label.en === '']).toEqual([key, false, false]);
  }
});

test('published fields are named once and never secret', () => {
  const published = optionKeys.filter((key) => optionRow(key).publicAs !== null);
  expect(new Set(published.map((key) => optionRow(key).publicAs)).size).toBe(published.length);
  expect(published.filter((key) => optionRow(key).secret)).toEqual([]);
});

test('payment, sign-in, mail, bot check and proxy secrets are the super administrator’s', () => {
  const sensitive =
    /^(Epay|Pay|Price$|MinTopUp|Topup|SMTP|GitHub|oidc|WeChat|Telegram|LinuxDO|Turnstile|Worker|Password|Register|Email)/;
  expect(optionKeys.filter((key) => sensitive.test(key) && optionRow(key).role < 100)).toEqual([]);
  expect(optionKeys.filter((key) => optionRow(key).secret && optionRow(key).role < 100)).toEqual([]);
});

test.each([
  ['GitHubOAuthEnabled', 'GitHubClientId'],
  ['oidc.enabled', 'oidc.client_id'],
  ['LinuxDOOAuthEnabled', 'LinuxDOClientId'],
  ['WeChatAuthEnabled', 'WeChatServerAddress'],
  ['TelegramOAuthEnabled', 'TelegramBotToken'],
  ['TurnstileCheckEnabled', 'TurnstileSiteKey'],
  ['EmailDomainRestrictionEnabled', 'EmailDomainWhitelist'],
] as const)('%s waits for %s', async (key, needs) => {
  const { options } = gateway.services;
  if (optionRow(needs).fallback !== '') await options.set(needs, '', 100);
  await expect(options.set(key, 'true', 100)).rejects.toMatchObject({ code: 'option_needs', params: { needs } });
  await options.set(key, 'false', 100);
  await options.set(needs, needs === 'EmailDomainWhitelist' ? 'filled.example' : 'https://filled.example', 100);
  await options.set(key, 'true', 100);
  expect(options.get(key)).toBe(true);
});

test('a secret is sealed at rest, never listed, kept by an empty save, forgotten by a reset', async () => {
  const { options } = gateway.services;
  await options.set('SMTPToken', 'canary-secret', 100);
  await options.set('SMTPToken', '', 100);
  expect(options.get('SMTPToken')).toBe('canary-secret');
  expect(options.list().find((row) => row.key === 'SMTPToken')).toEqual({
    key: 'SMTPToken',
    value: '',
    secret: true,
    isSet: true,
  });
  expect(await contentOf(gateway.database)).not.toContain('canary');
  await options.reload();
  expect(options.get('SMTPToken')).toBe('canary-secret');
  await options.reset('SMTPToken', 100, 'root');
  expect(options.get('SMTPToken')).toBe('');
});

test('options are stored in a spelling that every reader can parse', async () => {
  const { options } = gateway.services;
  await options.set('claude.model_headers_settings', '', 100);
  await options.set('Chats', ' ', 100);
  await options.set('RetryTimes', ' 3 ', 100);
  await options.set('ServerAddress', ' https://gw.example/ ', 100);
  expect([
    options.text('claude.model_headers_settings'),
    options.text('Chats'),
    options.text('RetryTimes'),
    options.text('ServerAddress'),
  ]).toEqual(['{}', '[]', '3', 'https://gw.example']);
});

test('price maps keep what was there before', async () => {
  const { options } = gateway.services;
  const versions = () => gateway.rows('SELECT reason, actor, options FROM price_versions ORDER BY id');
  await options.set('ModelRatio', '{"m":1}', 10, 'one');
  await options.set('ModelRatio', '{"m":1}', 10, 'one');
  await options.set('ModelRatio', '{"m":2}', 10, 'two');
  await options.reset('ModelRatio', 10, 'three');
  await options.set('RetryTimes', '1', 10, 'four');
  expect(await versions()).toEqual([
    { reason: 'set', actor: 'one', options: '{"ModelRatio":null}' },
    { reason: 'set', actor: 'two', options: '{"ModelRatio":"{\\"m\\":1}"}' },
    { reason: 'reset', actor: 'three', options: '{"ModelRatio":"{\\"m\\":2}"}' },
  ]);
  expect(options.text('ModelRatio')).toBe(optionRow('ModelRatio').fallback);
});

test('the list names every key, also those that are not set', () => {
  expect(
    gateway.services.options
      .list()
      .map((row) => row.key)
      .sort(),
  ).toEqual([...optionKeys].sort());
  expect(isOptionKey('__proto__')).toBe(false);
});

test('rows that depend on others name them', () => {
  for (const key of optionKeys) {
    const { needs, dependsOn, confirm, kind } = optionRow(key);
    for (const other of [needs, dependsOn]) if (other !== null) expect([key, isOptionKey(other)]).toEqual([key, true]);
    if (dependsOn !== null && isOptionKey(dependsOn)) expect(optionRow(dependsOn).kind.name).toBe('switch');
    if (confirm !== null) expect([key, kind.check(confirm.value)]).toEqual([key, null]);
  }
});

test('the reason is given in the language of the caller', async () => {
  const error = await gateway.services.options.set('RetryTimes', 'many', 100).catch((thrown: unknown) => thrown);
  if (!(error instanceof AppError)) throw error;
  expect(formatError(error.code, error.params, 'zh')).toBe('配置项 RetryTimes 的值无效：必须是不小于 0 的整数');
  expect(formatError(error.code, error.params, 'en')).toBe(
    'Option RetryTimes has an invalid value: must be a whole number of at least 0',
  );
});

test('every option is explained in both languages, in other words than its label', () => {
  for (const key of optionKeys) {
    const [{ zh, en }, { label }] = [optionRow(key).help, optionRow(key)];
    expect([key, /\p{Script=Han}/u.test(zh), /\p{Script=Han}/u.test(en)]).toEqual([key, true, false]);
    expect([key, /[.。]$/.test(zh), /\.$/.test(en), en.length <= 120]).toEqual([key, true, true, true]);
    expect([zh, en]).not.toContain(label.zh);
    expect(en.replace(/\.$/, '')).not.toBe(label.en);
  }
});

test.each([
  ['{"gpt-4.1":{"service_tier:priority":1.75},"gpt-5*":{"region:*":1.1}}', true],
  ['', true],
  ['{"gpt-4.1":{"tier:priority":2}}', false],
  ['{"gpt-4.1":{"service_tier:":2}}', false],
  ['{"gpt-4.1":{"service_tier:priority":-1}}', false],
  ['{"gpt-4.1":2}', false],
  ['[]', false],
])('price factors are checked: %s', (text, good) => {
  const { kind } = optionRow('TierRatio');
  expect(kind.check(text) === null).toBe(good);
});
